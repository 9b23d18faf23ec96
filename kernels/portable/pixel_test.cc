#include <gtest/gtest.h>

#include <numeric>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

std::vector<double> iota(size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

// Four channels of 1 x 2 interleave; the figures are PyTorch's.
TEST(PixelShuffle, EqualsPyTorch) {
  const Array x = f32({4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  const Array y = f32({1, 2, 4});
  ASSERT_EQ(run(pixel_shuffle_out, {x, 2, y}), Error::kOk);
  EXPECT_EQ(y.values(), (std::vector<double>{0, 10, 1, 11, 20, 30, 21, 31}));
}

TEST(PixelShuffle, MatchesItsDefinitionInEveryDtypeAndOrder) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kF16, DType::kU8}) {
    for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{}, std::vector<uint8_t>{0, 2, 3, 1}}) {
      const Array x(dtype, {2, 18, 2, 1}, iota(72), order);
      const Array y(dtype, {2, 2, 6, 3}, {}, order);
      ASSERT_EQ(run_with(pixel_shuffle_out, {x, 3, y}, 2).error, Error::kOk);
      EXPECT_TRUE(y.intact());
      const std::vector<double> found = y.values();
      for (size_t n = 0; n < 2; ++n) {
        for (size_t c = 0; c < 2; ++c) {
          for (size_t r = 0; r < 6; ++r) {
            for (size_t s = 0; s < 3; ++s) {
              const size_t channel = c * 9 + r % 3 * 3 + s % 3;
              EXPECT_EQ(found[((n * 2 + c) * 6 + r) * 3 + s], static_cast<double>((n * 18 + channel) * 2 + r / 3));
            }
          }
        }
      }
      const Array back(dtype, {2, 18, 2, 1}, {}, order);
      ASSERT_EQ(run(pixel_unshuffle_out, {y, 3, back}), Error::kOk);
      EXPECT_EQ(back.values(), iota(72));
    }
  }
}

TEST(PixelShuffle, AcceptsManyLeadingDimensions) {
  const Array x = f32({2, 3, 2, 4, 1, 1}, iota(48));
  const Array y = f32({2, 3, 2, 1, 2, 2});
  ASSERT_EQ(run(pixel_shuffle_out, {x, 2, y}), Error::kOk);
  EXPECT_EQ(y.values(), iota(48));
}

// The numbers come from a file, which may say anything.
TEST(PixelShuffle, RefusesImpossibleNumbers) {
  const Array x = f32({4, 2, 2}, iota(16));
  for (const int64_t bad :
       {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{1} << 16, int64_t{1} << 32, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(run(pixel_shuffle_out, {x, bad, f32({1, 4, 4})}), Error::kOk) << bad;
    EXPECT_NE(run(pixel_unshuffle_out, {x, bad, f32({16, 1, 1})}), Error::kOk) << bad;
  }
  EXPECT_NE(run(pixel_shuffle_out, {x, 2, f32({1, 4, 3})}), Error::kOk);
  EXPECT_NE(run(pixel_shuffle_out, {x, 2, i64({1, 4, 4})}), Error::kOk);
  EXPECT_NE(run(pixel_shuffle_out, {f32({4, 2}), 1, f32({4, 2})}), Error::kOk);
  EXPECT_EQ(run(pixel_shuffle_out, {f32({4, 0, 2}), 2, f32({1, 0, 4})}), Error::kOk);
}

}  // namespace
}  // namespace berth::portable
