#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Expand, StretchesDimensionsOfSizeOneAndNewOnes) {
  const Shape shape{2, 1, 3};
  const Shape result{4, 2, 5, 3};
  const Values expected = filled(result, [&](const Ints& at) {
    return numbered(shape)[flat(shape, {at[1], 0, at[3]})];
  });
  for (const Order& order : orders(3)) {
    for (const Order& out_order : orders(4)) {
      const Array out(DType::kF32, result, {}, out_order);
      ASSERT_EQ(
          run(expand_copy_out, {Array(DType::kF32, shape, numbered(shape), order), Ints{4, -1, 5, -1}, false, out}),
          Error::kOk);
      EXPECT_EQ(out.values(), expected);
      EXPECT_TRUE(out.intact());
    }
  }
  const Array fives = f32({300});
  ASSERT_EQ(run_with(expand_copy_out, {f32({}, {5}), Ints{300}, false, fives}, 3).error, Error::kOk);
  EXPECT_EQ(fives.values(), Values(300, 5));
  EXPECT_EQ(run(expand_copy_out, {f32({1}), Ints{0}, false, f32({0})}), Error::kOk);
}

TEST(Expand, RefusesSizesThatDoNotFit) {
  const Array self = f32({2, 1});
  for (const Ints& size : {Ints{2}, Ints{3, 1}, Ints{-1, 2, 1}, Ints{2, -2}, Ints{0, 1}, Ints{2, INT64_MAX},
                           Ints{2, 1LL << 32}, Ints(17, 2)}) {
    EXPECT_EQ(run(expand_copy_out, {self, size, false, f32({2, 1})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(expand_copy_out, {f32({1}), Ints{65536, 65536, 65536, 65536}, false, f32({1, 1, 1, 1})}),
            Error::kInvalidArgument);
}

TEST(Repeat, TilesEveryDimension) {
  const Shape shape{2, 3};
  const Shape result{2, 4, 9};
  const Values expected = filled(result, [&](const Ints& at) {
    return numbered(shape)[flat(shape, {at[1] % 2, at[2] % 3})];
  });
  for (const Order& order : orders(2)) {
    for (const Order& out_order : orders(3)) {
      const Array out(DType::kI64, result, {}, out_order);
      ASSERT_EQ(run(repeat_out, {Array(DType::kI64, shape, numbered(shape), order), Ints{2, 2, 3}, out}), Error::kOk);
      EXPECT_EQ(out.values(), expected);
    }
  }
  EXPECT_EQ(run(repeat_out, {f32({2}), Ints{0}, f32({0})}), Error::kOk);
  Ints many(16, 2);
  const Array all(DType::kU8, Shape(16, 2));
  ASSERT_EQ(run(repeat_out, {Array(DType::kU8, Shape(16, 1), {3}), many, all}), Error::kOk);
  EXPECT_EQ(all.values(), Values(65536, 3));
  const Array halves(DType::kU8, Shape(8, 4));
  ASSERT_EQ(run(repeat_out, {Array(DType::kU8, Shape(8, 2), Values(256, 4)), Ints(8, 2), halves}), Error::kOk);
  EXPECT_EQ(halves.values(), Values(65536, 4));
}

TEST(Repeat, RefusesImpossibleSizes) {
  const Array self = f32({2, 3});
  for (const Ints& repeats : {Ints{2}, Ints{-1, 1}, Ints{1, INT64_MAX}, Ints{1 << 30, 1 << 30}, Ints(17, 1)}) {
    EXPECT_EQ(run(repeat_out, {self, repeats, f32({2, 3})}), Error::kInvalidArgument);
  }
}

}  // namespace
}  // namespace berth::portable
