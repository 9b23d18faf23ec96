#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What Python's x[start:end:step] picks from 0 … size - 1.
Ints python_slice(int64_t size, int64_t start, int64_t end, int64_t step) {
  Ints picked;
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  if (end < 0) end += size;
  for (int64_t i = start; i < end && i < size; i += step) picked.push_back(i);
  return picked;
}

TEST(Slice, PicksWhatPythonPicks) {
  const Shape shape{2, 7, 3};
  for (int64_t start = -9; start <= 9; ++start) {
    for (int64_t end = -9; end <= 9; ++end) {
      for (const int64_t step : {1, 2, 5, 100}) {
        const Ints picked = python_slice(7, start, end, step);
        const Shape result{2, static_cast<int32_t>(picked.size()), 3};
        const Array out = f32(result);
        ASSERT_EQ(run(slice_copy_Tensor_out, {f32(shape, numbered(shape)), 1, start, end, step, out}), Error::kOk)
            << start << ":" << end << ":" << step;
        EXPECT_EQ(out.values(), filled(result, [&](const Ints& at) {
                    return numbered(shape)[flat(shape, {at[0], picked[at[1]], at[2]})];
                  }));
      }
    }
  }
}

TEST(Slice, PicksEverythingWithoutBounds) {
  const Array self = f32({5}, {1, 2, 3, 4, 5});
  const Array out = f32({3});
  ASSERT_EQ(run(slice_copy_Tensor_out, {self, 0, nullptr, nullptr, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 3, 5}));
  const Array end = f32({2});
  ASSERT_EQ(run(slice_copy_Tensor_out, {self, -1, 3, INT64_MAX, INT64_MAX - 1, f32({1})}), Error::kOk);
  ASSERT_EQ(run(slice_copy_Tensor_out, {self, -1, -2, INT64_MAX, 1, end}), Error::kOk);
  EXPECT_EQ(end.values(), (Values{4, 5}));
  ASSERT_EQ(run(slice_copy_Tensor_out, {self, -1, INT64_MIN, INT64_MIN, 1, f32({0})}), Error::kOk);
}

TEST(Slice, PicksTheSameInAnyDimensionOrder) {
  const Shape shape{2, 4, 5, 6};
  const Shape result{2, 4, 2, 6};
  for (const Order& self_order : orders(4)) {
    for (const Order& out_order : orders(4)) {
      const Array out(DType::kBF16, result, {}, out_order);
      ASSERT_EQ(run(slice_copy_Tensor_out, {Array(DType::kBF16, shape, numbered(shape), self_order), 2, 1, 5, 2, out}),
                Error::kOk);
      EXPECT_EQ(out.values(), filled(result, [&](const Ints& at) {
                  return numbered(shape)[flat(shape, {at[0], at[1], 1 + 2 * at[2], at[3]})];
                }));
    }
  }
}

TEST(Slice, RefusesBadSteps) {
  for (const int64_t step : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(run(slice_copy_Tensor_out, {f32({5}), 0, nullptr, nullptr, step, f32({5})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(slice_copy_Tensor_out, {f32({5}), 1, nullptr, nullptr, 1, f32({5})}), Error::kInvalidArgument);
  EXPECT_EQ(run(slice_copy_Tensor_out, {f32({}), 0, nullptr, nullptr, 1, f32({})}), Error::kInvalidArgument);
}

TEST(Select, DropsTheDimension) {
  const Shape shape{2, 3, 4};
  const Array out = f32({2, 4});
  ASSERT_EQ(run(select_copy_int_out, {f32(shape, numbered(shape)), 1, -1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{9, 10, 11, 12, 21, 22, 23, 24}));
  const Array scalar = f32({});
  ASSERT_EQ(run(select_copy_int_out, {f32({3}, {1, 2, 3}), 0, 1, scalar}), Error::kOk);
  EXPECT_EQ(scalar.values(), Values{2});
  for (const int64_t index : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(run(select_copy_int_out, {f32(shape), 1, index, out}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(select_copy_int_out, {f32({}), 0, 0, scalar}), Error::kInvalidArgument);
}

TEST(Narrow, StaysInsideTheDimension) {
  const Array self = f32({5}, {1, 2, 3, 4, 5});
  const Array out = f32({2});
  ASSERT_EQ(run(narrow_copy_out, {self, 0, -2, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 5}));
  ASSERT_EQ(run(narrow_copy_out, {self, 0, 5, 0, f32({0})}), Error::kOk);
  const Ints starts{4, 0, 0, -6, INT64_MAX, INT64_MIN};
  const Ints lengths{2, 6, -1, 1, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(run(narrow_copy_out, {self, 0, starts[i], lengths[i], out}), Error::kInvalidArgument);
  }
}

// Beside an empty dimension the strides of the others may be anything up to 2^63.
TEST(Diagonal, IsEmptyInATensorWithoutElements) {
  const int32_t most = INT32_MAX;
  const Array self = f32({1, 1, 0, most, most, 2});
  const Array out = f32({0, most, most, 2, 1});
  EXPECT_EQ(run(diagonal_copy_out, {self, 0, 0, 1, out}), Error::kOk);
}

TEST(Diagonal, FollowsTheOffset) {
  const Array self = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<std::pair<int64_t, Values>> cases = {{0, {1, 5}}, {1, {2, 6}}, {2, {3}},        {3, {}},
                                                         {-1, {4}},   {-2, {}},    {INT64_MAX, {}}, {INT64_MIN, {}}};
  for (const auto& [offset, expected] : cases) {
    const Array out = f32({static_cast<int32_t>(expected.size())});
    ASSERT_EQ(run(diagonal_copy_out, {self, offset, 0, 1, out}), Error::kOk) << offset;
    EXPECT_EQ(out.values(), expected);
  }
  const Array swapped = f32({1});
  ASSERT_EQ(run(diagonal_copy_out, {self, 1, 1, 0, swapped}), Error::kOk);
  EXPECT_EQ(swapped.values(), Values{4});
  const Array batched = f32({3, 2});
  ASSERT_EQ(run(diagonal_copy_out, {f32({2, 3, 2}, numbered({2, 3, 2})), 0, 0, 2, batched}), Error::kOk);
  EXPECT_EQ(batched.values(), (Values{1, 8, 3, 10, 5, 12}));
  EXPECT_EQ(run(diagonal_copy_out, {self, 0, 1, -1, swapped}), Error::kInvalidArgument);
  EXPECT_EQ(run(diagonal_copy_out, {f32({3}), 0, 0, 1, swapped}), Error::kInvalidArgument);
}

TEST(SelectScatter, ChangesOnlyTheSelection) {
  const Array self = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array out = f32({2, 3});
  ASSERT_EQ(run(select_scatter_out, {self, f32({2}, {8, 9}), 1, -2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 8, 3, 4, 9, 6}));
  ASSERT_EQ(run(select_scatter_out, {self, f32({2}, {8, 9}), 1, 0, self}), Error::kOk);
  EXPECT_EQ(self.values(), (Values{8, 2, 3, 9, 5, 6}));
  EXPECT_EQ(run(select_scatter_out, {self, f32({3}), 1, 0, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(select_scatter_out, {self, i32({2}), 1, 0, out}), Error::kInvalidArgument);
}

TEST(SliceScatter, ChangesOnlyTheSlice) {
  const Array self = f32({5}, {1, 2, 3, 4, 5});
  const Array out = f32({5});
  ASSERT_EQ(run(slice_scatter_out, {self, f32({2}, {8, 9}), 0, 1, nullptr, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 8, 3, 9, 5}));
  ASSERT_EQ(run(slice_scatter_out, {self, f32({0}), 0, 3, 1, 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(run(slice_scatter_out, {self, f32({3}), 0, 1, nullptr, 2, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(slice_scatter_out, {self, f32({5}), 0, nullptr, nullptr, 0, out}), Error::kInvalidArgument);
  const Array grid(DType::kF32, {3, 4}, numbered({3, 4}), {1, 0});
  const Array columns = f32({3, 4});
  ASSERT_EQ(run(slice_scatter_out, {grid, f32({3, 2}, {-1, -2, -3, -4, -5, -6}), 1, 1, 3, 1, columns}), Error::kOk);
  EXPECT_EQ(columns.values(), (Values{1, -1, -2, 4, 5, -3, -4, 8, 9, -5, -6, 12}));
}

}  // namespace
}  // namespace berth::portable
