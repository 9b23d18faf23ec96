#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(UnfoldCopy, GivesSlicesThatOverlap) {
  for (const Order& order : orders(2)) {
    const Array self(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, order);
    const Array apart = f32({3, 2, 2});
    ASSERT_EQ(run(unfold_copy_out, {self, 1, 2, 2, apart}), Error::kOk);
    EXPECT_EQ(apart.values(), (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    const Array overlapping = f32({2, 4, 2});
    ASSERT_EQ(run(unfold_copy_out, {self, -2, 2, 1, overlapping}), Error::kOk);
    EXPECT_EQ(overlapping.values(), (Values{0, 4, 1, 5, 2, 6, 3, 7, 4, 8, 5, 9, 6, 10, 7, 11}));
  }
}

TEST(UnfoldCopy, OfOneElementOrOfNone) {
  const Array one = f32({1});
  ASSERT_EQ(run(unfold_copy_out, {f32({}, {3}), 0, 1, 1, one}), Error::kOk);
  EXPECT_EQ(one.values(), Values{3});
  EXPECT_EQ(run(unfold_copy_out, {f32({3}), 0, 0, 1, f32({4, 0})}), Error::kOk);
  EXPECT_EQ(run(unfold_copy_out, {f32({3}), 0, 3, INT64_MAX, f32({1, 3})}), Error::kOk);
}

TEST(UnfoldCopy, RefusesWhatDoesNotFit) {
  const Array self = f32({3, 4});
  EXPECT_EQ(run(unfold_copy_out, {self, 2, 2, 2, f32({3, 2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(unfold_copy_out, {self, 1, 5, 1, f32({3, 0, 5})}), Error::kInvalidArgument);
  EXPECT_EQ(run(unfold_copy_out, {self, 1, -1, 1, f32({3, 6, 0})}), Error::kInvalidArgument);
  EXPECT_EQ(run(unfold_copy_out, {self, 1, 2, 0, f32({3, 2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(unfold_copy_out, {self, 1, 2, 2, f32({3, 2, 3})}), Error::kInvalidArgument);
}

TEST(AsStridedCopy, ReadsTheMemory) {
  const Array self = f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Array out = f32({2, 3});
  ASSERT_EQ(run(as_strided_copy_out, {self, Ints{2, 3}, Ints{5, 1}, 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, 6, 7, 8}));
  const Array again = f32({2, 2});
  ASSERT_EQ(run(as_strided_copy_out, {self, Ints{2, 2}, Ints{0, 3}, nullptr, again}), Error::kOk);
  EXPECT_EQ(again.values(), (Values{0, 3, 0, 3}));
  const Array scalar = f32({});
  ASSERT_EQ(run(as_strided_copy_out, {self, Ints{}, Ints{}, 11, scalar}), Error::kOk);
  EXPECT_EQ(scalar.values(), Values{11});
  EXPECT_EQ(run(as_strided_copy_out, {self, Ints{0, 9}, Ints{99, 99}, 5, f32({0, 9})}), Error::kOk);
}

TEST(AsStridedCopy, RefusesToReachOutside) {
  const Array self = f32({3, 4});
  const Array out = f32({2, 3});
  const auto strided = [&](const Ints& strides, int64_t offset) {
    return run(as_strided_copy_out, {self, Ints{2, 3}, strides, offset, out});
  };
  EXPECT_EQ(strided({5, 1}, 4), Error::kOk);
  EXPECT_EQ(strided({5, 1}, 5), Error::kInvalidArgument);
  EXPECT_EQ(strided({10, 1}, 0), Error::kInvalidArgument);
  EXPECT_EQ(strided({1, 1}, -1), Error::kInvalidArgument);
  EXPECT_EQ(strided({-1, 1}, 5), Error::kInvalidArgument);
  EXPECT_EQ(strided({INT64_MAX, INT64_MAX}, 1), Error::kInvalidArgument);
  EXPECT_EQ(strided({1, 1}, INT64_MAX), Error::kInvalidArgument);
  EXPECT_EQ(strided({1}, 0), Error::kInvalidArgument);
}

TEST(Empty, GetsItsSizes) {
  const Array bounded(DType::kF32, {4, 5}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(empty_out, {Ints{2, 3}, nullptr, bounded}), Error::kOk);
  EXPECT_EQ(bounded.sizes(), (Shape{2, 3}));
  ASSERT_EQ(run(empty_dim_order_out, {Ints{5, 4}, Ints{0, 1}, bounded}), Error::kOk);
  EXPECT_EQ(bounded.sizes(), (Shape{5, 4}));
  EXPECT_EQ(run(empty_out, {Ints{-1, 3}, nullptr, bounded}), Error::kInvalidArgument);
  EXPECT_EQ(run(empty_out, {Ints{5, 5}, nullptr, bounded}), Error::kInvalidArgument);
}

TEST(ToCopy, LiftFreshCopyAndConversions) {
  const Array out = i32({3});
  ASSERT_EQ(run(to_copy_out, {f32({3}, {1.75, -2.5, 0}), false, nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, -2, 0}));
  const Array same = f32({2});
  ASSERT_EQ(run(lift_fresh_copy_out, {f32({2}, {1, NAN}), same}), Error::kOk);
  EXPECT_EQ(same.values()[0], 1);
  EXPECT_EQ(run(lift_fresh_copy_out, {f32({2}), i32({2})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
