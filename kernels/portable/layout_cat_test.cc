#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Cat, PutsEveryPartInItsPlace) {
  const Shape base{2, 3, 4};
  for (int dim = 0; dim < 3; ++dim) {
    for (const Order& order : orders(3)) {
      for (const Order& out_order : orders(3)) {
        std::vector<Array> parts;
        Shape result = base;
        const auto along = static_cast<size_t>(dim);
        result[along] = 0;
        std::vector<Shape> shapes;
        for (const int32_t size : {1, 0, 3, 2}) {
          Shape shape = base;
          shape[along] = size;
          Values values = numbered(shape);
          for (double& x : values) x += 1000 * static_cast<double>(shapes.size());
          parts.emplace_back(DType::kI16, shape, values, order);
          shapes.push_back(shape);
          result[along] += size;
        }
        const Values expected = filled(result, [&](Ints at) {
          size_t part = 0;
          for (; at[along] >= shapes[part][along]; ++part) at[along] -= shapes[part][along];
          return static_cast<double>(1000 * part + 1 + flat(shapes[part], at));
        });
        const Array out(DType::kI16, result, {}, out_order);
        ASSERT_EQ(run(cat_out, {tensors(parts), dim - 3, out}), Error::kOk);
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST(Cat, SkipsTheLegacyEmptyTensor) {
  const Array out = f32({2, 2});
  ASSERT_EQ(run(cat_out, {tensors({f32({0}), f32({2, 2}, {1, 2, 3, 4}), f32({0})}), 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(run(cat_out, {tensors({f32({0}), f32({0})}), 0, f32({0})}), Error::kOk);
}

TEST(Cat, RefusesWhatDoesNotFit) {
  EXPECT_EQ(run(cat_out, {tensors({}), 0, f32({0})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({}), f32({})}), 0, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({2, 2}), f32({2, 3})}), 0, f32({4, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({2, 2}), f32({2})}), 0, f32({4, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({i32({2}), f32({2})}), 0, i32({4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({2}), Array(DType::kComplex64, {2})}), 0, f32({4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({2}), f32({2})}), 1, f32({4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(cat_out, {tensors({f32({2}), f32({2})}), 0, f32({3})}), Error::kInvalidArgument);
}

TEST(Cat, ConvertsPartsOfOtherDTypes) {
  for (const Order& order : orders(2)) {
    const Array whole(DType::kI32, {2, 2}, {1, 2, 3, 4}, order);
    const Array half(DType::kF16, {2, 1}, {0.5, -0.5});
    const Array out = f32({2, 4});
    ASSERT_EQ(run(cat_out, {tensors({whole, half, boolean({2, 1}, {1, 0})}), 1, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{1, 2, 0.5, 1, 3, 4, -0.5, 0}));
    const Array stacked(DType::kF64, {2, 2, 2});
    ASSERT_EQ(run(stack_out, {tensors({whole, f32({2, 2}, {5, 6, 7, 8})}), -1, stacked}), Error::kOk);
    EXPECT_EQ(stacked.values(), (Values{1, 5, 2, 6, 3, 7, 4, 8}));
  }
}

TEST(Stack, AddsADimensionAnywhere) {
  const Array a = f32({2, 2}, {1, 2, 3, 4});
  const Array b(DType::kF32, {2, 2}, {5, 6, 7, 8}, {1, 0});
  const std::vector<Values> expected = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 5, 6, 3, 4, 7, 8}, {1, 5, 2, 6, 3, 7, 4, 8}};
  for (int dim = -3; dim < 3; ++dim) {
    const Array out = f32({2, 2, 2});
    ASSERT_EQ(run(stack_out, {tensors({a, b}), dim, out}), Error::kOk);
    EXPECT_EQ(out.values(), expected[(dim + 3) % 3]);
  }
  const Array scalars = f32({2});
  ASSERT_EQ(run(stack_out, {tensors({f32({}, {1}), f32({}, {2})}), 0, scalars}), Error::kOk);
  EXPECT_EQ(scalars.values(), (Values{1, 2}));
  EXPECT_EQ(run(stack_out, {tensors({a, f32({2})}), 0, f32({2, 2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(stack_out, {tensors({a, b}), 3, f32({2, 2, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(stack_out, {tensors({}), 0, f32({0})}), Error::kInvalidArgument);
}

TEST(Split, GivesEveryPieceAndAShorterLast) {
  const Array self = f32({2, 5}, numbered({2, 5}));
  const Array a = f32({2, 2});
  const Array b = f32({2, 2});
  const Array c = f32({2, 1});
  ASSERT_EQ(run(split_copy_Tensor_out, {self, 2, -1, tensors({a, b, c})}), Error::kOk);
  EXPECT_EQ(a.values(), (Values{1, 2, 6, 7}));
  EXPECT_EQ(b.values(), (Values{3, 4, 8, 9}));
  EXPECT_EQ(c.values(), (Values{5, 10}));
  const Array whole = f32({2, 5});
  ASSERT_EQ(run(split_copy_Tensor_out, {self, INT64_MAX, 1, tensors({whole})}), Error::kOk);
  EXPECT_EQ(whole.values(), numbered({2, 5}));
  ASSERT_EQ(run(split_copy_Tensor_out, {f32({0, 3}), 0, 0, tensors({f32({0, 3})})}), Error::kOk);
  EXPECT_EQ(run(split_copy_Tensor_out, {self, 2, 1, tensors({a, b})}), Error::kInvalidArgument);
  EXPECT_EQ(run(split_copy_Tensor_out, {self, 0, 1, tensors({a})}), Error::kInvalidArgument);
  EXPECT_EQ(run(split_copy_Tensor_out, {self, -2, 1, tensors({a, b, c})}), Error::kInvalidArgument);
  EXPECT_EQ(run(split_copy_Tensor_out, {f32({}), 1, 0, tensors({f32({})})}), Error::kInvalidArgument);
}

TEST(Split, GivesPiecesOfTheGivenSizes) {
  const Array self(DType::kF32, {5, 2}, numbered({5, 2}), {1, 0});
  const Array a = f32({1, 2});
  const Array b = f32({0, 2});
  const Array c = f32({4, 2});
  ASSERT_EQ(run(split_with_sizes_copy_out, {self, Ints{1, 0, 4}, 0, tensors({a, b, c})}), Error::kOk);
  EXPECT_EQ(a.values(), (Values{1, 2}));
  EXPECT_EQ(c.values(), (Values{3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(run(split_with_sizes_copy_out, {self, Ints{1, 3}, 0, tensors({a, c})}), Error::kInvalidArgument);
  EXPECT_EQ(run(split_with_sizes_copy_out, {self, Ints{-1, 6}, 0, tensors({a, c})}), Error::kInvalidArgument);
  EXPECT_EQ(run(split_with_sizes_copy_out, {self, Ints{1, 4}, 0, tensors({a})}), Error::kInvalidArgument);
}

TEST(Unbind, GivesOneTensorPerIndex) {
  const Array self = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Array> outs{f32({2}), f32({2}), f32({2})};
  ASSERT_EQ(run(unbind_copy_int_out, {self, 1, tensors(outs)}), Error::kOk);
  EXPECT_EQ(outs[0].values(), (Values{1, 4}));
  EXPECT_EQ(outs[2].values(), (Values{3, 6}));
  EXPECT_EQ(run(unbind_copy_int_out, {self, 0, tensors(outs)}), Error::kInvalidArgument);
  EXPECT_EQ(run(unbind_copy_int_out, {f32({}), 0, tensors({})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
