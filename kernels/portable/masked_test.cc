#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// An output that takes as many elements as are found.
Array bounded(int32_t most, DType dtype = DType::kF32) { return Array(dtype, {most}, {}, {}, ShapeDynamism::kBounded); }

TEST(MaskedSelect, TakesElementsInLogicalOrder) {
  for (const Order& order : orders(2)) {
    const Array self(DType::kF32, {2, 3}, numbered({2, 3}), order);
    const Array mask(DType::kBool, {2, 3}, {1, 0, 1, 0, 1, 1}, orders(2)[1]);
    const Array out = bounded(6);
    ASSERT_EQ(run(masked_select_out, {self, mask, out}), Error::kOk);
    EXPECT_EQ(out.sizes(), Shape{4});
    EXPECT_EQ(out.values(), (Values{1, 3, 5, 6}));
    EXPECT_TRUE(out.intact());
  }
}

TEST(MaskedSelect, BroadcastsBothWays) {
  const Array out = bounded(6);
  ASSERT_EQ(run(masked_select_out, {f32({2, 1}, {1, 2}), boolean({3}, {1, 0, 1}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 1, 2, 2}));
  ASSERT_EQ(run(masked_select_out, {f32({3}, {1, 2, 3}), boolean({2, 1}, {0, 1}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3}));
  ASSERT_EQ(run(masked_select_out, {f32({}, {7}), boolean({}, {1}), out}), Error::kOk);
  EXPECT_EQ(out.values(), Values{7});
}

TEST(MaskedSelect, MovesEveryElementSize) {
  for (const DType dtype : {DType::kI8, DType::kF16, DType::kF64, DType::kBool}) {
    const Array out = bounded(3, dtype);
    ASSERT_EQ(run(masked_select_out, {Array(dtype, {3}, {1, 0, 1}), boolean({3}, {0, 1, 1}), out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{0, 1}));
  }
  const Array pairs = bounded(2, DType::kComplex128);
  ASSERT_EQ(run(masked_select_out, {Array(DType::kComplex128, {2}), boolean({2}, {1, 0}), pairs}), Error::kOk);
  EXPECT_EQ(pairs.sizes(), Shape{1});
}

TEST(MaskedSelect, OfNothing) {
  const Array out = bounded(6);
  ASSERT_EQ(run(masked_select_out, {f32({2, 3}), boolean({2, 3}, Values(6, 0)), out}), Error::kOk);
  EXPECT_EQ(out.sizes(), Shape{0});
  ASSERT_EQ(run(masked_select_out, {f32({0, 3}), boolean({1}, {1}), out}), Error::kOk);
  EXPECT_EQ(out.sizes(), Shape{0});
}

TEST(MaskedSelect, RefusesWhatDoesNotFit) {
  const Array self = f32({2, 3});
  const Array all = boolean({2, 3}, Values(6, 1));
  EXPECT_EQ(run(masked_select_out, {self, all, bounded(5)}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_select_out, {self, all, bounded(6, DType::kF64)}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_select_out, {self, i64({2, 3}), bounded(6)}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_select_out, {self, boolean({2}), bounded(6)}), Error::kInvalidArgument);
}

TEST(MaskedSelect, RefusesEndlessWork) {
  EXPECT_EQ(run(masked_select_out, {f32({100000, 1}), boolean({100000}), bounded(4)}), Error::kOutOfResources);
}

TEST(MaskedScatter, PutsElementsInLogicalOrder) {
  for (const Order& order : orders(2)) {
    const Array self(DType::kF32, {2, 3}, numbered({2, 3}), order);
    const Array source(DType::kF32, {2, 2}, {10, 20, 30, 40}, orders(2)[1]);
    const Array out(DType::kF32, {2, 3}, {}, order);
    ASSERT_EQ(run(masked_scatter_out, {self, boolean({2, 3}, {1, 0, 1, 0, 0, 1}), source, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{10, 2, 20, 4, 5, 30}));
  }
}

TEST(MaskedScatter, BroadcastsBothWays) {
  const Array out = i64({2, 3});
  ASSERT_EQ(run(masked_scatter_out, {i64({2, 1}, {1, 2}), boolean({3}, {0, 1, 0}), i64({2}, {8, 9}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 8, 1, 2, 9, 2}));
}

TEST(MaskedScatter, RefusesWhatDoesNotFit) {
  const Array self = f32({3});
  const Array mask = boolean({3}, {1, 1, 0});
  EXPECT_EQ(run(masked_scatter_out, {self, mask, f32({1}), self}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_scatter_out, {self, mask, i64({2}), self}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_scatter_out, {self, f32({3}), f32({2}), self}), Error::kInvalidArgument);
  EXPECT_EQ(run(masked_scatter_out, {self, boolean({2}), f32({2}), self}), Error::kInvalidArgument);
}

TEST(IndexPutInPlace, WritesSelf) {
  const Array self = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array index = i64({2}, {2, -3});
  ASSERT_EQ(run(index_put_self, {self, Arg::list({nullptr, index}), f32({2}, {7, 8}), false}), Error::kOk);
  EXPECT_EQ(self.values(), (Values{8, 2, 7, 8, 5, 7}));
  ASSERT_EQ(run(index_put_self, {self, Arg::list({i64({3}, {1, 1, 1})}), f32({}, {10}), true}), Error::kOk);
  EXPECT_EQ(self.values(), (Values{8, 2, 7, 38, 35, 37}));
  ASSERT_EQ(run(index_put_self, {self, Arg::list({boolean({2, 3}, {1, 0, 0, 0, 0, 1})}), f32({1}, {0}), false}, 4096),
            Error::kOk);
  EXPECT_EQ(self.values(), (Values{0, 2, 7, 38, 35, 0}));
  EXPECT_EQ(run(index_put_self, {self, Arg::list({i64({1}, {2})}), f32({}, {10}), false}), Error::kInvalidArgument);
  EXPECT_TRUE(self.intact());
}

TEST(RepeatInterleave, RepeatsEachIndexAsOftenAsItSays) {
  for (const DType dtype : {DType::kI64, DType::kI32}) {
    const Array out = bounded(8, dtype);
    ASSERT_EQ(run(repeat_interleave_Tensor_out, {Array(dtype, {4}, {2, 0, 1, 3}), nullptr, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{0, 0, 2, 3, 3, 3}));
  }
  const Array out = i64({0});
  EXPECT_EQ(run(repeat_interleave_Tensor_out, {i64({0}), 0, out}), Error::kOk);
}

TEST(RepeatInterleave, RefusesWhatDoesNotFit) {
  const Array out = bounded(8, DType::kI64);
  const auto repeat = [&](const Array& repeats, const Arg& size) {
    return run(repeat_interleave_Tensor_out, {repeats, size, out});
  };
  EXPECT_EQ(repeat(i64({2}, {3, -1}), nullptr), Error::kInvalidArgument);
  EXPECT_EQ(repeat(i64({2}, {3, 1}), 5), Error::kInvalidArgument);
  EXPECT_EQ(repeat(i64({2}, {8, 1}), nullptr), Error::kInvalidArgument);
  EXPECT_EQ(repeat(i32({2}, {1, 1}), nullptr), Error::kInvalidArgument);
  EXPECT_EQ(repeat(i64({1, 2}, {1, 1}), nullptr), Error::kInvalidArgument);
  const Array huge = i64({3});
  huge.set_integers({INT64_MAX, INT64_MAX, 2});
  EXPECT_EQ(repeat(huge, nullptr), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
