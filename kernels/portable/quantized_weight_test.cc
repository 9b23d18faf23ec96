#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What torch.ao's and ExecuTorch's definitions give: rows 2, 0, 1 and 2 of a weight of three.
const Values kBytes = {183, 3, 23, 131, 95, 2, 54, 221, 166, 146, 111, 199};
const Values kScales = {.5, .1, 2, 1, .25, .3};
const Values kRowScales = {.5, 2, .25};
const Values kZeros = {1, 0, .5, -2, 3, 1};
const Values kRows = {2, 0, 1, 2};

Array bytes() { return Array(DType::kU8, {3, 4}, kBytes); }

void expect_embedding(Kernel kernel, std::vector<Arg> args, const Array& out, const Values& want) {
  args.emplace_back(out);
  const Outcome outcome = run_with(kernel, std::move(args), 2);
  ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
  expect_near(out, want, out.tensor().dtype() == DType::kF16 ? 1e-2 : 1e-5);
}

TEST(QuantizedEmbedding, MatchesPyTorchForBytes) {
  const Array index = i64({2, 2}, kRows);
  const Array weight(DType::kI8, {3, 4}, {-73, 3, 23, -125, 95, 2, 54, -35, -90, -110, 111, -57});
  expect_embedding(embedding_byte_out, {weight, f32({3, 2}, kScales), f32({3, 2}, kZeros), -128, 127, index},
                   f32({2, 2, 4}),
                   {-23.25, -28.25, 33, -17.4, -37, 1, 2.3, -12.5, 189, 3, 56, -33, -23.25, -28.25, 33, -17.4});
  expect_embedding(embedding_byte_out, {bytes(), f32({3}, kRowScales), nullptr, 0, 255, index}, f32({2, 2, 4}),
                   {41.5, 36.5, 27.75, 49.75, 91.5, 1.5, 11.5, 65.5, 190, 4, 108, 442, 41.5, 36.5, 27.75, 49.75});
}

TEST(QuantizedEmbedding, MatchesPyTorchForHalfBytes) {
  const Array index = i32({2, 2}, kRows);
  expect_embedding(embedding_4bit_out, {bytes(), f32({3, 2}, kScales), f32({3, 2}, kZeros), -8, 7, index},
                   f32({2, 2, 8}),
                   {-0.25, -1.25, -0.5, -2.25, -0.9, 1.8, 0.9, -0.6, 1,     -1,    -4.5, -3,    -0.7, -0.1, 0,   -0.5,
                    -7,    13,    -17,  -13,   -3,   0,   7,   7,    -0.25, -1.25, -0.5, -2.25, -0.9, 1.8,  0.9, -0.6});
  expect_embedding(embedding_4bit_dtype_out, {bytes(), f32({3, 1}, kRowScales), nullptr, -8, 7, index, nullptr},
                   f32({2, 2, 8}),
                   {0.5, -0.5, 0.25, -1.5, -0.5, 1.75, 1,  -0.25, 1.5, -0.5, -4,   -2.5, -3.5, -0.5, 0, -2.5,
                    -6,  14,   -16,  -12,  -10,  -4,   10, 10,    0.5, -0.5, 0.25, -1.5, -0.5, 1.75, 1, -0.25});
}

TEST(QuantizedEmbedding, MatchesPyTorchForQuarterBytes) {
  const Array index = i64({2, 2}, kRows);
  expect_embedding(embedding_2bit_out, {bytes(), f32({3, 2}, kScales), f32({3, 2}, kZeros), -2, 1, index},
                   f32({2, 2, 16}),
                   {-0.75, -1, -0.75, -0.75, -0.75, -1.25, -1,   -0.75, 0,   0,    -0.3, -0.6, 0,   -0.6, -0.9, 0,
                    0,     -1, 0,     -0.5,  0,     -1.5,  -1.5, -1.5,  0.1, -0.1, -0.1, -0.2, 0.1, -0.2, -0.2, 0,
                    1,     1,  -3,    -3,    -1,    -5,    -5,   -5,    2,   1,    3,    0,    1,   3,    1,    3,
                    -0.75, -1, -0.75, -0.75, -0.75, -1.25, -1,   -0.75, 0,   0,    -0.3, -0.6, 0,   -0.6, -0.9, 0});
  expect_embedding(embedding_2bit_dtype_out, {bytes(), f32({3}, kRowScales), nullptr, -2, 1, index, 5},
                   Array(DType::kF16, {2, 2, 16}),
                   {0,   -0.25, 0,   0,  0,   -0.5, -0.25, 0,  0.25, 0.25, 0,    -0.25, 0.25, -0.25, -0.5, 0.25,
                    0.5, -0.5,  0.5, 0,  0.5, -1,   -1,    -1, 0.5,  -0.5, -0.5, -1,    0.5,  -1,    -1,   0,
                    2,   2,     -2,  -2, 0,   -4,   -4,    -4, 0,    -2,   2,    -4,    -2,   2,     -2,   2,
                    0,   -0.25, 0,   0,  0,   -0.5, -0.25, 0,  0.25, 0.25, 0,    -0.25, 0.25, -0.25, -0.5, 0.25});
}

TEST(QuantizedEmbedding, RefusesWhatDoesNotFit) {
  const Array scales = f32({3}, kRowScales);
  const Array out = f32({1, 4});
  const auto embed = [&](const Array& weight, const Array& scale, const Arg& zeros, int64_t low, const Array& index) {
    return run(embedding_byte_out, {weight, scale, zeros, low, 255, index, out});
  };
  EXPECT_EQ(embed(bytes(), scales, nullptr, 0, i64({1}, {2})), Error::kOk);
  EXPECT_EQ(embed(bytes(), scales, nullptr, 0, i64({1}, {3})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), scales, nullptr, 0, i64({1}, {-1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), scales, nullptr, 0, f32({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), scales, nullptr, -300, i64({1}, {2})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), f32({2}), nullptr, 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), f32({3, 3}), nullptr, 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), f32({3, 0}), nullptr, 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(bytes(), scales, f32({3, 2}), 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(i32({3, 4}), scales, nullptr, 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(embed(Array(DType::kU8, {3, 5}), scales, nullptr, 0, i64({1}, {1})), Error::kInvalidArgument);
  EXPECT_EQ(run(embedding_4bit_out, {Array(DType::kI8, {3, 4}), scales, nullptr, -8, 7, i64({1}, {1}), f32({1, 8})}),
            Error::kInvalidArgument);
}

TEST(MixedMm, MatchesExecuTorchWithAScaleForEachRow) {
  const Array out = f32({2, 4});
  const Array weight(DType::kI8, {3, 4}, {30, -37, 31, -35, 6, 123, -121, -93, -50, 125, 9, -121});
  ASSERT_EQ(run_with(mixed_mm_out,
                     {f32({2, 3}, {4, -0.125, 1, -0.25, 2.5, 4.25}), weight, f32({3}, {.5, .1, 2}), nullptr, out}, 2)
                .error,
            Error::kOk);
  expect_near(out, {-40.075, 174.4625, 81.5125, -310.8375, -427.25, 1097.875, 42.375, -1047.375}, 1e-3);
}

TEST(MixedMm, MatchesExecuTorchWithGroupsInARow) {
  const Array x = f32({3, 4}, {-2.75, -1, -1.625, -4.75, -5, -4.125, -3.875, -1, 4.375, -5, -2.625, -2.875});
  const Array weight(DType::kI8, {2, 4}, {89, 90, 103, -74, 31, -26, -114, -124});
  const Array out = f32({3, 2});
  ASSERT_EQ(run(mixed_linear_out, {x, weight, f32({2}, {.5, .1}), nullptr, nullptr, out}), Error::kOk);
  expect_near(out, {-75.3125, 71.5, -570.6875, 51.8, -59.125, 92.1375}, 1e-3);
  ASSERT_EQ(run(mixed_linear_out, {x, weight, f32({2, 2}, {.5, .1, 2, 1}), nullptr, 6, out}), Error::kOk);
  expect_near(out, {-148.9625, 655.75, -440.6375, 470.25, -36.075, 1187}, 1e-3);
}

TEST(MixedMm, SubtractsZeroPoints) {
  const Array weight(DType::kI8, {2, 2}, {3, 4, 5, 6});
  const Array out = f32({1, 2});
  ASSERT_EQ(run(mixed_mm_out, {f32({1, 2}, {1, 10}), weight, f32({2}, {2, 1}), f32({2}, {1, 5}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 16}));
  ASSERT_EQ(run(mixed_linear_out, {f32({1, 2}, {1, 10}), weight, f32({2}, {2, 1}), f32({2}, {1, 5}), nullptr, out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{64, 10}));
}

TEST(MixedMm, RefusesWhatDoesNotFit) {
  const Array x = f32({2, 3});
  const Array weight(DType::kI8, {3, 4});
  EXPECT_EQ(run(mixed_mm_out, {x, weight, f32({4}), nullptr, f32({2, 4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_mm_out, {x, weight, f32({3, 2}), nullptr, f32({2, 4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_mm_out, {f32({2, 4}), weight, f32({3}), nullptr, f32({2, 4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_mm_out, {x, weight, f32({3}), nullptr, f32({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_mm_out, {x, f32({3, 4}), f32({3}), nullptr, f32({2, 4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_linear_out, {x, weight, f32({3}), nullptr, nullptr, f32({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(mixed_linear_out, {f32({2, 4}), weight, f32({3}), nullptr, 7, f32({2, 3})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
