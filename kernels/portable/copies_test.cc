// Copies of whole tensors, conversions of dtype, changes of dimension order.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

Values cast(const Values& in, DType from, DType to) {
  const auto count = static_cast<int32_t>(in.size());
  const Array x(from, {count}, in);
  const Array y(to, {count});
  EXPECT_EQ(run(to_dim_order_copy_out, {x, false, nullptr, y}), Error::kOk);
  EXPECT_TRUE(y.intact());
  return y.values();
}

TEST(Cast, FloatsToIntegersTruncateAndNeverTrap) {
  const Values in = {3e9, -3e9, kNaN, 300, -1, -1.5};
  EXPECT_EQ(cast(in, DType::kF32, DType::kI32), (Values{-2147483648.0, -2147483648.0, -2147483648.0, 300, -1, -1}));
  EXPECT_EQ(cast(in, DType::kF32, DType::kU8), (Values{0, 0, 0, 44, 255, 255}));
  EXPECT_EQ(cast(in, DType::kF64, DType::kI8), (Values{0, 0, 0, 44, -1, -1}));
  EXPECT_EQ(cast({3e9, -3e19, 1e19}, DType::kF32, DType::kI64),
            (Values{3e9, -9223372036854775808.0, -9223372036854775808.0}));
  EXPECT_EQ(cast({1e19}, DType::kF64, DType::kU64), (Values{1e19}));
}

TEST(Cast, IntegersWrapAndAnyNonzeroIsTrue) {
  EXPECT_EQ(cast({300, -1}, DType::kI32, DType::kU8), (Values{44, 255}));
  EXPECT_EQ(cast({65537}, DType::kI64, DType::kU16), (Values{1}));
  EXPECT_EQ(cast({0.5, kNaN, 0}, DType::kF32, DType::kBool), (Values{1, 1, 0}));
  EXPECT_EQ(cast({256, 0}, DType::kI32, DType::kBool), (Values{1, 0}));
  EXPECT_EQ(cast({1, 0}, DType::kBool, DType::kF16), (Values{1, 0}));
}

TEST(Cast, ShortFloatsRoundHalfToEven) {
  EXPECT_EQ(cast({2049, 2051, 65519, 65520, 6e-8, 1e-8}, DType::kF32, DType::kF16),
            (Values{2048, 2052, 65504, HUGE_VAL, 5.9604644775390625e-8, 0}));
  EXPECT_EQ(cast({257, 259, 1.0}, DType::kF32, DType::kBF16), (Values{256, 260, 1}));
  EXPECT_EQ(cast({0.333251953125}, DType::kF16, DType::kF64), (Values{0.333251953125}));
}

TEST(Cast, LongRowsOfEveryPair) {
  const DType dtypes[] = {DType::kU8,  DType::kI8,   DType::kI16,  DType::kI32, DType::kI64, DType::kF16, DType::kF32,
                          DType::kF64, DType::kBF16, DType::kBool, DType::kU16, DType::kU32, DType::kU64};
  Values in(1001);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i % 120);
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      const Values out = cast(in, from, to);
      for (size_t i = 0; i < in.size(); ++i) {
        const bool truth = from == DType::kBool || to == DType::kBool;
        const double expected = truth ? (in[i] != 0 ? 1 : 0) : in[i];
        ASSERT_EQ(out[i], expected) << to_string(from) << " to " << to_string(to) << ", element " << i;
      }
    }
  }
}

// Longer than the pieces that conversions go in, and from and to every kind of type.
TEST(Cast, NarrowElementsOfEveryPair) {
  const DType narrow[] = {DType::kF8E4M3, DType::kF8E5M2, DType::kF8E4M3Fnuz, DType::kF8E5M2Fnuz, DType::kF8E8M0,
                          DType::kF4E2M1, DType::kI4,     DType::kU4,         DType::kI2,         DType::kU2};
  const DType others[] = {DType::kU8,  DType::kI8,   DType::kI16,  DType::kI32, DType::kI64, DType::kF16, DType::kF32,
                          DType::kF64, DType::kBF16, DType::kBool, DType::kU16, DType::kU32, DType::kU64};
  Values in(1001, 1);
  for (const DType a : narrow) {
    for (const DType b : others) {
      EXPECT_EQ(cast(in, a, b), in) << to_string(a) << " to " << to_string(b);
      EXPECT_EQ(cast(in, b, a), in) << to_string(b) << " to " << to_string(a);
    }
    for (const DType b : narrow) EXPECT_EQ(cast(in, a, b), in) << to_string(a) << " to " << to_string(b);
  }
  EXPECT_EQ(cast({-3, 0.5, 6, -8, 9}, DType::kF32, DType::kF4E2M1), (Values{-3, 0.5, 6, -6, 6}));
  EXPECT_EQ(cast({-2.5, 9, 7, 18}, DType::kF32, DType::kI4), (Values{-2, -7, 7, 2}));
  EXPECT_EQ(cast({-3, 0.5, 6, 1.5}, DType::kF4E2M1, DType::kI4), (Values{-3, 0, 6, 1}));
  EXPECT_EQ(cast({0.5, 0, -2}, DType::kF8E5M2, DType::kBool), (Values{1, 0, 1}));
}

TEST(ToDimOrder, ChangesWithAndWithoutACast) {
  Values in(2 * 5 * 6 * 7);
  std::iota(in.begin(), in.end(), 0);
  const Array nchw = f32({2, 5, 6, 7}, in);
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kF64}) {
    const Array nhwc(dtype, {2, 5, 6, 7}, {}, {0, 2, 3, 1});
    ASSERT_EQ(run_with(to_dim_order_copy_out, {nchw, false, std::vector<int64_t>{0, 2, 3, 1}, nhwc}, 2).error,
              Error::kOk);
    EXPECT_EQ(nhwc.values(), in);
    const Array back = f32({2, 5, 6, 7});
    ASSERT_EQ(run(to_dim_order_copy_out, {nhwc, false, nullptr, back}), Error::kOk);
    EXPECT_EQ(back.values(), in);
  }
}

TEST(Clone, KeepsItsBytes) {
  const Array x = i64({3}, {1, -2, 3});
  const Array y = i64({3});
  ASSERT_EQ(run(clone_out, {x, nullptr, y}), Error::kOk);
  EXPECT_EQ(y.values(), x.values());
  ASSERT_EQ(run(clone_dim_order_out, {x, false, nullptr, x}), Error::kOk);
  EXPECT_EQ(x.values(), (Values{1, -2, 3}));
  EXPECT_EQ(run(clone_out, {x, nullptr, f32({3})}), Error::kInvalidArgument);
  ASSERT_EQ(run(alias_copy_out, {x, y}), Error::kOk);
  ASSERT_EQ(run(detach_copy_out, {x, y}), Error::kOk);
  const Array complex(DType::kComplex64, {2});
  EXPECT_EQ(run(clone_out, {complex, nullptr, Array(DType::kComplex64, {2})}), Error::kOk);
}

TEST(CopyInto, BroadcastsAndConvertsTheSource) {
  const Array self = f32({2, 3}, Values(6, 9));
  ASSERT_EQ(run(copy_self, {self, i64({3}, {1, 2, 3}), false, self}), Error::kOk);
  EXPECT_EQ(self.values(), (Values{1, 2, 3, 1, 2, 3}));
  const Array out = f32({2, 3});
  ASSERT_EQ(run(copy_out, {self, f32({2, 1}, {4, 5}), false, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(run(copy_self, {f32({3}), f32({2, 3}), false}), Error::kInvalidArgument);
  EXPECT_EQ(run(copy_self, {f32({3}), f32({2}), false}), Error::kInvalidArgument);
  EXPECT_EQ(run(copy_self, {f32({1}), f32({3}), false}), Error::kInvalidArgument);
}

TEST(BitCast, BytesAreReadAsAnotherType) {
  const Array out(DType::kI32, {2});
  ASSERT_EQ(run(bit_cast_out, {f32({2}, {1, -2}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0x3f800000, -1073741824.0}));
  EXPECT_EQ(run(bit_cast_out, {f32({2}, {1, -2}), i64({2})}), Error::kInvalidArgument);
}

TEST(Refuse, SaysThatTheBranchDoesNotFit) {
  const auto outcome = run_with(refuse_out, {std::vector<int64_t>{2}, "node: why", f32({2})}, 1);
  EXPECT_EQ(outcome.error, Error::kInvalidArgument);
  EXPECT_NE(outcome.message.find("cannot run with the sizes"), std::string::npos);
}

}  // namespace
}  // namespace berth::portable
