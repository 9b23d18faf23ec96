#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Permute, KeepsEveryElementInAnyDimensionOrder) {
  const Shape shape{2, 3, 5, 4};
  std::vector<int64_t> dims{0, 1, 2, 3};
  do {
    Shape result;
    for (const int64_t d : dims) result.push_back(shape[d]);
    const Values expected = filled(result, [&](const Ints& at) {
      Ints from(4);
      for (size_t d = 0; d < 4; ++d) from[dims[d]] = at[d];
      return numbered(shape)[flat(shape, from)];
    });
    for (const Order& self_order : orders(4)) {
      for (const Order& out_order : orders(4)) {
        const Array self(DType::kF32, shape, numbered(shape), self_order);
        const Array out(DType::kF32, result, {}, out_order);
        ASSERT_EQ(run(permute_copy_out, {self, dims, out}), Error::kOk);
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.intact());
      }
    }
  } while (std::next_permutation(dims.begin(), dims.end()));
}

TEST(Permute, KeepsEveryElementOfEveryDType) {
  for (int number = 0; number <= kMaxDTypeNumber; ++number) {
    if (!is_valid_dtype(number)) continue;
    const DType dtype = static_cast<DType>(number);
    const Array self(dtype, {2, 3});
    const Array out(dtype, {3, 2});
    const size_t bytes = element_size(dtype);
    auto* from = self.tensor().data<uint8_t>();
    for (size_t i = 0; i < 6 * bytes; ++i) from[i] = static_cast<uint8_t>(i + 1);
    ASSERT_EQ(run(permute_copy_out, {self, Ints{1, 0}, out}), Error::kOk);
    const auto* to = out.tensor().data<uint8_t>();
    for (size_t r = 0; r < 2; ++r) {
      for (size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(std::memcmp(to + (c * 2 + r) * bytes, from + (r * 3 + c) * bytes, bytes), 0) << to_string(dtype);
      }
    }
  }
}

TEST(Permute, AcceptsNegativeDimensions) {
  const Array out = f32({3, 2});
  ASSERT_EQ(run(permute_copy_out, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), Ints{-1, -2}, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Permute, AcceptsRankZeroAndRankSixteen) {
  const Array scalar = f32({});
  ASSERT_EQ(run(permute_copy_out, {f32({}, {7}), Ints{}, scalar}), Error::kOk);
  EXPECT_EQ(scalar.values(), Values{7});
  Shape shape(16, 1);
  shape[3] = 2;
  shape[12] = 3;
  Ints dims(16);
  std::iota(dims.rbegin(), dims.rend(), 0);
  const Array out(DType::kI16, Shape(shape.rbegin(), shape.rend()));
  ASSERT_EQ(run(permute_copy_out, {Array(DType::kI16, shape, {1, 2, 3, 4, 5, 6}), dims, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Permute, RefusesWhatIsNotAPermutation) {
  const Array self = f32({2, 3});
  for (const Ints& dims : {Ints{0}, Ints{0, 0}, Ints{0, 2}, Ints{0, -3}, Ints{0, 1, 2}, Ints{0, INT64_MIN}}) {
    EXPECT_EQ(run(permute_copy_out, {self, dims, f32({2, 3})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(permute_copy_out, {self, Ints(33, 0), f32({2, 3})}), Error::kInvalidArgument);
}

TEST(Permute, RefusesAnOutputOfOtherSizesOrDType) {
  const Array self = f32({2, 3});
  EXPECT_EQ(run(permute_copy_out, {self, Ints{1, 0}, f32({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(permute_copy_out, {self, Ints{1, 0}, f32({6})}), Error::kInvalidArgument);
  EXPECT_EQ(run(permute_copy_out, {self, Ints{1, 0}, i32({3, 2})}), Error::kInvalidArgument);
}

TEST(Permute, RefusesTensorsWithoutMemory) {
  const Array self = f32({2, 3});
  const Array out = f32({3, 2});
  out.tensor().set_data(nullptr);
  EXPECT_EQ(run(permute_copy_out, {self, Ints{1, 0}, out}), Error::kInvalidState);
  const Array good = f32({3, 2});
  self.tensor().set_data(nullptr);
  EXPECT_EQ(run(permute_copy_out, {self, Ints{1, 0}, good}), Error::kInvalidState);
}

TEST(Permute, ShrinksABoundedOutput) {
  const Array out(DType::kF32, {4, 4}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(permute_copy_out, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), Ints{1, 0}, out}), Error::kOk);
  EXPECT_EQ(out.sizes(), (Shape{3, 2}));
  EXPECT_EQ(out.values(), (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Transpose, SwapsTwoDimensionsAndKeepsTheRest) {
  const Shape shape{2, 3, 4};
  const Array self = f32(shape, numbered(shape));
  const Array out = f32({4, 3, 2});
  ASSERT_EQ(run(transpose_copy_int_out, {self, 0, -1, out}), Error::kOk);
  EXPECT_EQ(out.values(), filled({4, 3, 2}, [&](const Ints& at) {
              return numbered(shape)[flat(shape, {at[2], at[1], at[0]})];
            }));
  const Array same = f32(shape);
  ASSERT_EQ(run(transpose_copy_int_out, {self, 1, -2, same}), Error::kOk);
  EXPECT_EQ(same.values(), numbered(shape));
  EXPECT_EQ(run(transpose_copy_int_out, {self, 0, 3, out}), Error::kInvalidArgument);
}

TEST(Transpose, SwapsAMatrixWithT) {
  const Array out = f32({3, 2});
  ASSERT_EQ(run(t_copy_out, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 4, 2, 5, 3, 6}));
  const Array row = f32({3});
  ASSERT_EQ(run(t_copy_out, {f32({3}, {1, 2, 3}), row}), Error::kOk);
  EXPECT_EQ(row.values(), (Values{1, 2, 3}));
  EXPECT_EQ(run(t_copy_out, {f32({1, 2, 3}), f32({1, 3, 2})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
