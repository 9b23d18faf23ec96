#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Flip, ReversesTheNamedDimensions) {
  const Shape shape{2, 3, 4};
  for (int mask = 0; mask < 8; ++mask) {
    Ints dims;
    for (int d = 0; d < 3; ++d) {
      if ((mask >> d & 1) != 0) dims.push_back(d - 3);
    }
    const Values expected = filled(shape, [&](Ints at) {
      for (size_t d = 0; d < 3; ++d) {
        if ((mask >> d & 1) != 0) at[d] = shape[d] - 1 - at[d];
      }
      return numbered(shape)[flat(shape, at)];
    });
    for (const Order& order : orders(3)) {
      for (const Order& out_order : orders(3)) {
        const Array out(DType::kF64, shape, {}, out_order);
        ASSERT_EQ(run(flip_out, {Array(DType::kF64, shape, numbered(shape), order), dims, out}), Error::kOk);
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.intact());
      }
    }
  }
  EXPECT_EQ(run(flip_out, {f32(shape), Ints{0, -3}, f32(shape)}), Error::kInvalidArgument);
  EXPECT_EQ(run(flip_out, {f32(shape), Ints{3}, f32(shape)}), Error::kInvalidArgument);
  EXPECT_EQ(run(flip_out, {f32({0, 3}), Ints{0, 1}, f32({0, 3})}), Error::kOk);
}

TEST(Roll, ShiftsTheNamedDimensions) {
  const Shape shape{3, 5, 2};
  for (const int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{7}, INT64_MAX, INT64_MIN}) {
    for (const int64_t b : {0, 2, -3}) {
      const Values expected = filled(shape, [&](Ints at) {
        at[0] = ((at[0] - a % 3) % 3 + 3) % 3;
        at[1] = ((at[1] - b) % 5 + 5) % 5;
        return numbered(shape)[flat(shape, at)];
      });
      for (const Order& order : orders(3)) {
        const Array out(DType::kU8, shape, {}, order);
        ASSERT_EQ(run(roll_out, {Array(DType::kU8, shape, numbered(shape)), Ints{a, b}, Ints{0, -2}, out}), Error::kOk);
        EXPECT_EQ(out.values(), expected) << a << " " << b;
      }
    }
  }
  const Array twice = f32({3});
  ASSERT_EQ(run(roll_out, {f32({3}, {1, 2, 3}), Ints{1, 1}, Ints{0, 0}, twice}), Error::kOk);
  EXPECT_EQ(twice.values(), (Values{2, 3, 1}));
  EXPECT_EQ(run(roll_out, {f32({3}), Ints{1, 1}, Ints{0}, twice}), Error::kInvalidArgument);
  EXPECT_EQ(run(roll_out, {f32({3}), Ints{1}, Ints{1}, twice}), Error::kInvalidArgument);
}

TEST(Roll, FlattensWithoutDims) {
  for (const Order& order : orders(2)) {
    const Array out(DType::kF32, {2, 3}, {}, order);
    ASSERT_EQ(run(roll_out, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), Ints{-2}, Ints{}, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{3, 4, 5, 6, 1, 2}));
  }
  EXPECT_EQ(run(roll_out, {f32({2}), Ints{1, 1}, Ints{}, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(roll_out, {f32({0}), Ints{1}, Ints{}, f32({0})}), Error::kOk);
}

TEST(Tril, ClearsOnlyAboveTheDiagonal) {
  const Shape shape{2, 3, 4};
  for (const int64_t diagonal : {int64_t{-5}, int64_t{-2}, int64_t{0}, int64_t{1}, int64_t{9}, INT64_MIN, INT64_MAX}) {
    const Values expected = filled(shape, [&](const Ints& at) {
      const bool kept = diagonal > 100 || (diagonal > -100 && at[2] - at[1] <= diagonal);
      return kept ? numbered(shape)[flat(shape, at)] : 0.0;
    });
    for (const Order& order : orders(3)) {
      for (const Order& out_order : orders(3)) {
        const Array out(DType::kF16, shape, {}, out_order);
        ASSERT_EQ(run(tril_out, {Array(DType::kF16, shape, numbered(shape), order), diagonal, out}), Error::kOk);
        EXPECT_EQ(out.values(), expected) << diagonal;
      }
    }
  }
  const Array place = f32({2, 2}, {1, 2, 3, 4});
  ASSERT_EQ(run(tril_out, {place, 0, place}), Error::kOk);
  EXPECT_EQ(place.values(), (Values{1, 0, 3, 4}));
  EXPECT_EQ(run(tril_out, {f32({3}), 0, f32({3})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
