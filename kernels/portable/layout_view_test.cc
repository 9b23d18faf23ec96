#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

void check_view(const Shape& from, const Ints& size, const Shape& to) {
  for (const Order& self_order : orders(from.size())) {
    for (const Order& out_order : orders(to.size())) {
      for (const int threads : {1, 3}) {
        const Array self(DType::kI32, from, numbered(from), self_order);
        const Array out(DType::kI32, to, {}, out_order);
        ASSERT_EQ(run_with(view_copy_out, {self, size, out}, threads).error, Error::kOk);
        EXPECT_EQ(out.values(), numbered(to));
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST(View, KeepsTheLogicalOrderWhateverTheOrderInMemory) {
  check_view({2, 3, 4, 5}, {2, 60}, {2, 60});
  check_view({2, 60}, {2, 3, 4, 5}, {2, 3, 4, 5});
  check_view({6, 4}, {2, 12}, {2, 12});
  check_view({1, 8, 3, 3}, {1, 2, 4, -1}, {1, 2, 4, 9});
  check_view({4, 1, 6}, {-1}, {24});
  check_view({1}, {1, 1, 1}, {1, 1, 1});
}

TEST(View, KeepsTheLogicalOrderWithoutCommonFactors) {
  check_view({2, 3, 5}, {5, 3, 2}, {5, 3, 2});
  check_view({3, 4, 7}, {7, 12}, {7, 12});
}

TEST(View, WorksFromAndToRankZero) {
  const Array out = f32({});
  ASSERT_EQ(run(view_copy_out, {f32({1, 1}, {5}), Ints{}, out}), Error::kOk);
  EXPECT_EQ(out.values(), Values{5});
  const Array back = f32({1});
  ASSERT_EQ(run(view_copy_out, {f32({}, {5}), Ints{-1}, back}), Error::kOk);
  EXPECT_EQ(back.values(), Values{5});
}

TEST(View, AcceptsEmptyTensors) {
  EXPECT_EQ(run(view_copy_out, {f32({0, 3}), Ints{-1, 3}, f32({0, 3})}), Error::kOk);
  EXPECT_EQ(run(view_copy_out, {f32({0, 3}), Ints{5, 0}, f32({5, 0})}), Error::kOk);
}

TEST(View, AcceptsAnOutputInTheSameBytes) {
  const Array self = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array out = f32({6});
  out.tensor().set_data(self.tensor().raw());
  ASSERT_EQ(run(view_copy_out, {self, Ints{6}, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, 4, 5, 6}));
}

TEST(View, RefusesSizesThatDoNotAddUp) {
  const Array self = f32({2, 3});
  for (const Ints& size : {Ints{5}, Ints{-1, -1}, Ints{4, -1}, Ints{0, -1}, Ints{-2, -3}, Ints{}, Ints{INT64_MAX, 2},
                           Ints{1LL << 32, 1LL << 32, 6}, Ints{65536, 65536, 65536, 65536, 6}, Ints{-1, INT64_MIN}}) {
    EXPECT_EQ(run(view_copy_out, {self, size, f32({6})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(view_copy_out, {f32({0, 3}), Ints{0, -1}, f32({0, 3})}), Error::kInvalidArgument);
}

TEST(View, RefusesAnInferredSizeInTheSeventeenthDimension) {
  Ints size(17, 1);
  size[16] = -1;
  EXPECT_EQ(run(view_copy_out, {f32({6}), size, f32({6})}), Error::kInvalidArgument);
}

TEST(Squeeze, DropsOnlyDimensionsOfSizeOne) {
  const Array self = f32({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  const Array a = f32({3, 1, 2});
  ASSERT_EQ(run(squeeze_copy_dim_out, {self, 0, a}), Error::kOk);
  EXPECT_EQ(a.values(), (Values{1, 2, 3, 4, 5, 6}));
  const Array b = f32({1, 3, 2});
  ASSERT_EQ(run(squeeze_copy_dim_out, {self, -2, b}), Error::kOk);
  const Array c = f32({1, 3, 1, 2});
  ASSERT_EQ(run(squeeze_copy_dim_out, {self, 1, c}), Error::kOk);
  const Array d = f32({3, 2});
  ASSERT_EQ(run(squeeze_copy_dims_out, {self, Ints{0, 1, -2}, d}), Error::kOk);
  EXPECT_EQ(d.values(), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run(squeeze_copy_dim_out, {self, 4, a}), Error::kInvalidArgument);
  EXPECT_EQ(run(squeeze_copy_dims_out, {self, Ints{0, -4}, d}), Error::kInvalidArgument);
  const Array scalar = f32({});
  ASSERT_EQ(run(squeeze_copy_dim_out, {f32({}, {3}), 0, scalar}), Error::kOk);
  EXPECT_EQ(scalar.values(), Values{3});
}

TEST(Unsqueeze, AddsADimensionOfSizeOne) {
  const Array self(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0});
  const Array a = f32({1, 2, 3});
  ASSERT_EQ(run(unsqueeze_copy_out, {self, 0, a}), Error::kOk);
  EXPECT_EQ(a.values(), (Values{1, 2, 3, 4, 5, 6}));
  const Array b = f32({2, 3, 1});
  ASSERT_EQ(run(unsqueeze_copy_out, {self, -1, b}), Error::kOk);
  EXPECT_EQ(b.values(), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run(unsqueeze_copy_out, {self, 3, b}), Error::kInvalidArgument);
  EXPECT_EQ(run(unsqueeze_copy_out, {self, -4, b}), Error::kInvalidArgument);
  EXPECT_EQ(run(unsqueeze_copy_out, {f32(Shape(16, 1)), 0, f32(Shape(16, 1))}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
