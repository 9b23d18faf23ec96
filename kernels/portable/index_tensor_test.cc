#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// A list of indices in which None may stand.
Arg indices(const std::vector<Arg>& items) { return Arg::list(items); }

Outcome read(const Array& self, const std::vector<Arg>& items, const Array& out, int threads = 1, size_t temp = 4096) {
  return run_with(index_Tensor_out, {self, indices(items), out}, threads, temp);
}

const Shape kShape{2, 3, 4};
Array cube(const Order& order = {0, 1, 2}) { return Array(DType::kF32, kShape, numbered(kShape), order); }
double at(int64_t a, int64_t b, int64_t c) { return static_cast<double>(1 + (a * 3 + b) * 4 + c); }

TEST(Index, PicksAlongOneDimension) {
  for (const Order& order : orders(3)) {
    const Array out = f32({2, 2, 4});
    ASSERT_EQ(read(cube(order), {nullptr, i64({2}, {2, -3})}, out).error, Error::kOk);
    EXPECT_EQ(out.values(), filled({2, 2, 4}, [](const Ints& i) { return at(i[0], i[1] == 0 ? 2 : 0, i[2]); }));
  }
}

TEST(Index, AdjacentIndicesStayInPlace) {
  // self[:, [0, -1], [[1], [2], [3]]] is [2, 3, 2].
  for (const Order& order : orders(3)) {
    for (const Order& out_order : orders(3)) {
      const Array out(DType::kF32, {2, 3, 2}, {}, out_order);
      ASSERT_EQ(read(cube(order), {nullptr, i64({2}, {0, -1}), i32({3, 1}, {1, 2, 3})}, out, 3).error, Error::kOk);
      EXPECT_EQ(out.values(), (Values{2, 10, 3, 11, 4, 12, 14, 22, 15, 23, 16, 24}));
      EXPECT_TRUE(out.intact());
    }
  }
}

TEST(Index, SeparatedIndicesMoveToTheFront) {
  // self[[0, 1], :, [[1], [2], [3]]] is [3, 2, 3].
  for (const Order& out_order : orders(3)) {
    const Array out(DType::kF32, {3, 2, 3}, {}, out_order);
    ASSERT_EQ(read(cube(), {i64({2}, {0, 1}), nullptr, i64({3, 1}, {1, 2, 3})}, out).error, Error::kOk);
    EXPECT_EQ(out.values(), (Values{2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23, 4, 8, 12, 16, 20, 24}));
  }
}

TEST(Index, PicksAnElementWithRankZero) {
  const Array out = f32({3});
  ASSERT_EQ(read(cube(), {i64({}, {1}), nullptr, i64({}, {-1})}, out).error, Error::kOk);
  EXPECT_EQ(out.values(), (Values{16, 20, 24}));
  const Array scalar = f32({});
  ASSERT_EQ(read(f32({3}, {1, 2, 3}), {i64({}, {1})}, scalar).error, Error::kOk);
  EXPECT_EQ(scalar.values(), Values{2});
}

TEST(Index, FollowsTheLogicalOrderOfTheIndex) {
  const Array out = f32({2, 2});
  const Array index(DType::kI64, {2, 2}, {3, 2, 1, 0}, {1, 0});
  ASSERT_EQ(read(f32({4}, {1, 2, 3, 4}), {index}, out).error, Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 3, 2, 1}));
}

TEST(Index, WithoutIndicesPicksEverything) {
  const Array out = f32(kShape);
  ASSERT_EQ(read(cube({2, 1, 0}), {nullptr, nullptr}, out).error, Error::kOk);
  EXPECT_EQ(out.values(), numbered(kShape));
}

TEST(IndexMask, PicksItsNonzeroElements) {
  // self[mask] with mask [2, 3].
  for (const Order& order : orders(2)) {
    const Array mask(DType::kBool, {2, 3}, {1, 0, 1, 0, 1, 0}, order);
    const Array out = f32({3, 4});
    ASSERT_EQ(read(cube(), {mask}, out).error, Error::kOk);
    EXPECT_EQ(out.values(), (Values{1, 2, 3, 4, 9, 10, 11, 12, 17, 18, 19, 20}));
  }
  const Array bytes(DType::kU8, {4}, {0, 255, 0, 1});
  const Array columns = f32({2, 3, 2});
  ASSERT_EQ(read(cube(), {nullptr, nullptr, bytes}, columns).error, Error::kOk);
  EXPECT_EQ(columns.values(), (Values{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}));
}

TEST(IndexMask, WorksWithOtherIndices) {
  // self[[0, 1], mask of [3]]: the mask's two positions broadcast with the index.
  const Array out = f32({2, 4});
  ASSERT_EQ(read(cube(), {i64({2}, {0, 1}), boolean({3}, {1, 0, 1})}, out).error, Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, 4, 21, 22, 23, 24}));
}

TEST(IndexMask, PicksAsManyAsThereAreInABoundedOutput) {
  const Array out(DType::kF32, {6, 4}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(read(cube(), {boolean({2, 3}, {0, 0, 0, 0, 1, 0})}, out).error, Error::kOk);
  EXPECT_EQ(out.sizes(), (Shape{1, 4}));
  EXPECT_EQ(out.values(), (Values{17, 18, 19, 20}));
  ASSERT_EQ(read(cube(), {boolean({2, 3}, Values(6, 0))}, out, 1, 0).error, Error::kOk);
  EXPECT_EQ(out.sizes(), (Shape{0, 4}));
}

TEST(IndexMask, UsesNoMoreTemporaryMemoryThanAnnounced) {
  Arg list = indices({boolean({2, 3}, Values(6, 1))});
  Arg self(cube());
  Arg out(f32({6, 4}));
  std::vector<EValue*> args{self.value(), list.value(), out.value()};
  const size_t announced = kTempBytes<&index_Tensor_out>({args.data(), args.size()}, 1);
  EXPECT_GE(announced, 6 * sizeof(int64_t));
  EXPECT_EQ(read(cube(), {boolean({2, 3}, Values(6, 1))}, f32({6, 4}), 1, announced).error, Error::kOk);
  EXPECT_EQ(read(cube(), {boolean({2, 3}, Values(6, 1))}, f32({6, 4}), 1, 40).error, Error::kMemoryAllocationFailed);
}

TEST(Index, RefusesIndicesOutsideTheDimension) {
  for (const double bad : {3.0, -4.0, 1e18, -1e18}) {
    const Outcome outcome = read(cube(), {nullptr, i64({1}, {bad})}, f32({2, 1, 4}));
    EXPECT_EQ(outcome.error, Error::kInvalidArgument);
    EXPECT_NE(outcome.message.find("outside"), std::string::npos);
  }
  EXPECT_EQ(read(f32({0, 3}), {i64({2}, {0, 0})}, f32({2, 3})).error, Error::kInvalidArgument);
}

TEST(Index, RefusesWhatDoesNotFit) {
  const Array one = i64({1}, {0});
  EXPECT_EQ(read(cube(), {one, one, one, one}, f32({1})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {i64({2}, {0, 0}), i64({3}, {0, 0, 0})}, f32({3, 4})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {f32({1}, {0})}, f32({1, 3, 4})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {boolean({3}, {1, 1, 1})}, f32({3, 3, 4})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {nullptr, boolean({3, 4, 1})}, f32({1})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {boolean({}, {1})}, f32({1})).error, Error::kNotSupported);
  EXPECT_EQ(read(cube(), {i64(Shape(15, 1), {0})}, f32({1})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {one}, i64({1, 3, 4})).error, Error::kInvalidArgument);
  EXPECT_EQ(read(cube(), {one}, f32({2, 3, 4})).error, Error::kInvalidArgument);
}

Error put(const Array& self, const std::vector<Arg>& items, const Array& values, bool accumulate, const Array& out) {
  return run(index_put_out, {self, indices(items), values, accumulate, out}, 4096);
}

TEST(IndexPut, WritesWhereIndexReads) {
  for (const Order& order : orders(3)) {
    const Array out(DType::kF32, kShape, {}, order);
    // self[:, [0, 2], [1, 3]] = values [2, 2]
    ASSERT_EQ(put(cube(), {nullptr, i64({2}, {0, 2}), i64({2}, {1, -1})}, f32({2, 2}, {-1, -2, -3, -4}), false, out),
              Error::kOk);
    Values expected = numbered(kShape);
    expected[flat(kShape, {0, 0, 1})] = -1;
    expected[flat(kShape, {0, 2, 3})] = -2;
    expected[flat(kShape, {1, 0, 1})] = -3;
    expected[flat(kShape, {1, 2, 3})] = -4;
    EXPECT_EQ(out.values(), expected);
  }
}

TEST(IndexPut, KeepsTheLastOfSeveralOrTheSum) {
  const Array self = f32({3}, {1, 2, 3});
  const Array out = f32({3});
  ASSERT_EQ(put(self, {i64({4}, {1, 1, 0, 1})}, f32({4}, {10, 20, 30, 40}), false, out), Error::kOk);
  EXPECT_EQ(out.values(), (Values{30, 40, 3}));
  ASSERT_EQ(put(self, {i64({4}, {1, 1, 0, 1})}, f32({4}, {10, 20, 30, 40}), true, out), Error::kOk);
  EXPECT_EQ(out.values(), (Values{31, 72, 3}));
  const Array bytes(DType::kI8, {2}, {100, 0});
  ASSERT_EQ(put(bytes, {i64({2}, {0, 0})}, Array(DType::kI8, {2}, {100, 100}), true, bytes), Error::kOk);
  EXPECT_EQ(bytes.values(), (Values{300 - 256, 0}));
  const Array flags = boolean({2}, {0, 1});
  ASSERT_EQ(put(flags, {i64({2}, {0, 1})}, boolean({2}, {1, 1}), true, flags), Error::kOk);
  EXPECT_EQ(flags.values(), (Values{1, 1}));
}

TEST(IndexPut, WritesSlabsAndBroadcastValues) {
  const Array out(DType::kF32, kShape, {}, {2, 0, 1});
  ASSERT_EQ(put(cube(), {i64({2}, {1, 1})}, f32({3, 1}, {10, 20, 30}), true, out), Error::kOk);
  EXPECT_EQ(out.values(), filled(kShape, [](const Ints& i) {
              return at(i[0], i[1], i[2]) + (i[0] == 1 ? 20.0 * static_cast<double>(i[1] + 1) : 0.0);
            }));
  ASSERT_EQ(put(cube(), {boolean({2, 3}, {0, 1, 0, 0, 0, 1})}, f32({}, {0}), false, out), Error::kOk);
  EXPECT_EQ(out.values(), filled(kShape, [](const Ints& i) {
              const bool hit = (i[0] == 0 && i[1] == 1) || (i[0] == 1 && i[1] == 2);
              return hit ? 0.0 : at(i[0], i[1], i[2]);
            }));
}

TEST(IndexPut, WorksInPlace) {
  const Array self = f32({4}, {1, 2, 3, 4});
  ASSERT_EQ(put(self, {i64({2}, {0, -1})}, f32({2}, {7, 8}), false, self), Error::kOk);
  EXPECT_EQ(self.values(), (Values{7, 2, 3, 8}));
}

TEST(IndexPut, RefusesWhatDoesNotFit) {
  const Array self = f32({3}, {1, 2, 3});
  const Array out = f32({3});
  EXPECT_EQ(put(self, {i64({1}, {3})}, f32({1}), false, out), Error::kInvalidArgument);
  EXPECT_EQ(put(self, {i64({1}, {3})}, f32({1}), true, out), Error::kInvalidArgument);
  EXPECT_EQ(put(self, {i64({2}, {0, 1})}, f32({3}), false, out), Error::kInvalidArgument);
  EXPECT_EQ(put(self, {i64({1}, {0})}, i64({1}), false, out), Error::kInvalidArgument);
  EXPECT_EQ(put(self, {i64({1}, {0})}, f32({1, 1}), false, out), Error::kInvalidArgument);
}

TEST(IndexPut, RefusesEndlessWork) {
  const Array self = f32({1, 1, 1}, {1});
  const int32_t n = 20000;
  const Array i = Array(DType::kI64, {n, 1, 1}, Values(n, 0));
  const Array j = Array(DType::kI64, {1, n, 1}, Values(n, 0));
  const Array k = Array(DType::kI64, {1, 1, n}, Values(n, 0));
  EXPECT_EQ(put(self, {i, j, k}, f32({}, {1}), false, f32({1, 1, 1})), Error::kOutOfResources);
}

}  // namespace
}  // namespace berth::portable
