#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

TEST(Gather, ReadsWhereTheIndexSays) {
  const Shape shape{3, 4, 5};
  const Shape index_shape{2, 3, 4};
  std::mt19937 random(7);
  for (int dim = 0; dim < 3; ++dim) {
    const auto along = static_cast<size_t>(dim);
    Values picks(count_of(index_shape));
    for (double& x : picks) x = static_cast<double>(random() % static_cast<uint32_t>(shape[along]));
    const Values expected = filled(index_shape, [&](Ints at) {
      const double pick = picks[flat(index_shape, at)];
      at[along] = static_cast<int64_t>(pick);
      return numbered(shape)[flat(shape, at)];
    });
    for (const Order& order : orders(3)) {
      for (const DType index_type : {DType::kI64, DType::kI32}) {
        for (const int threads : {1, 3}) {
          const Array out(DType::kF32, index_shape, {}, order);
          const Array index(index_type, index_shape, picks, order);
          ASSERT_EQ(run_with(gather_out, {f32(shape, numbered(shape)), dim - 3, index, false, out}, threads).error,
                    Error::kOk);
          EXPECT_EQ(out.values(), expected) << "seed 7, dim " << dim;
          EXPECT_TRUE(out.intact());
        }
      }
    }
  }
}

TEST(Gather, ReadsLargeTensorsOnThreads) {
  const int32_t n = 40000;
  Values picks(n);
  Values expected(n);
  for (size_t i = 0; i < picks.size(); ++i) {
    picks[i] = static_cast<double>(i * 7919 % 40000);
    expected[i] = picks[i] + 1;
  }
  const Array out = f32({n});
  ASSERT_EQ(run_with(gather_out, {f32({n}, numbered({n})), 0, i64({n}, picks), false, out}, 3).error, Error::kOk);
  EXPECT_EQ(out.values(), expected);
}

TEST(Gather, RefusesBadIndices) {
  const Array self = f32({3}, {1, 2, 3});
  for (const double bad : {3.0, -1.0, 1e18}) {
    EXPECT_EQ(run(gather_out, {self, 0, i64({2}, {0, bad}), false, f32({2})}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(gather_out, {self, 0, f32({2}, {0, 1}), false, f32({2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(gather_out, {self, 0, i64({1, 1}, {0}), false, f32({1, 1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(gather_out, {f32({2, 2}), 0, i64({1, 3}, {0, 0, 0}), false, f32({1, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(gather_out, {self, 1, i64({1}, {0}), false, f32({1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(gather_out, {self, 0, i64({0}), false, f32({0})}), Error::kOk);
}

TEST(Gather, ReadsRankZero) {
  const Array out = f32({});
  ASSERT_EQ(run(gather_out, {f32({}, {5}), 0, i64({}, {0}), false, out}), Error::kOk);
  EXPECT_EQ(out.values(), Values{5});
}

TEST(Scatter, WritesWhereTheIndexSays) {
  const Shape shape{3, 4};
  const Array self = f32(shape, Values(12, 0));
  const Array index = i64({2, 3}, {0, 2, 1, 2, 0, 1});
  const Array src = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const Order& order : orders(2)) {
    const Array rows(DType::kF32, shape, {}, order);
    ASSERT_EQ(run(scatter_src_out, {self, 0, index, src, rows}), Error::kOk);
    EXPECT_EQ(rows.values(), (Values{1, 5, 0, 0, 0, 0, 6, 0, 4, 2, 0, 0}));
    const Array columns(DType::kF32, shape, {}, order);
    ASSERT_EQ(run(scatter_src_out, {self, 1, index, src, columns}), Error::kOk);
    EXPECT_EQ(columns.values(), (Values{1, 3, 2, 0, 5, 6, 4, 0, 0, 0, 0, 0}));
  }
}

TEST(Scatter, TheLastOfSeveralWins) {
  const Array out = f32({3});
  ASSERT_EQ(run(scatter_src_out, {f32({3}, {0, 0, 0}), 0, i64({3}, {1, 1, 1}), f32({3}, {1, 2, 3}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 3, 0}));
}

TEST(Scatter, WritesAScalarInTheDTypeOfSelf) {
  const Array self(DType::kF16, {4}, {1, 2, 3, 4});
  ASSERT_EQ(run(scatter_value_out, {self, 0, i64({2}, {3, 0}), 0.5, self}), Error::kOk);
  EXPECT_EQ(self.values(), (Values{0.5, 2, 3, 0.5}));
  const Array bytes(DType::kU8, {2}, {1, 2});
  EXPECT_EQ(run(scatter_value_out, {bytes, 0, i64({1}, {0}), 300, bytes}), Error::kInvalidArgument);
}

TEST(ScatterAdd, SumsRepeatedIndices) {
  const Array out = f32({3});
  ASSERT_EQ(run(scatter_add_out, {f32({3}, {1, 1, 1}), 0, i64({4}, {1, 1, 0, 1}), f32({4}, {1, 2, 3, 4}), out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 8, 1}));
  const Array whole = i32({2}, {2147483647, 0});
  ASSERT_EQ(run(scatter_add_out, {whole, 0, i64({1}, {0}), i32({1}, {1}), whole}), Error::kOk);
  EXPECT_EQ(whole.values(), (Values{-2147483648.0, 0}));
}

TEST(ScatterReduce, ProductsAndExtremesOfRepeatedIndices) {
  const Array index = i64({4}, {1, 1, 0, 1});
  const Array src = f32({4}, {5, -2, 4, 3});
  const auto reduced = [&](const char* reduction, bool include_self) {
    const Array out = f32({3});
    EXPECT_EQ(run(scatter_reduce_two_out, {f32({3}, {2, 4, 7}), 0, index, src, reduction, include_self, out}),
              Error::kOk);
    return out.values();
  };
  EXPECT_EQ(reduced("sum", true), (Values{6, 10, 7}));
  EXPECT_EQ(reduced("prod", true), (Values{8, -120, 7}));
  EXPECT_EQ(reduced("amax", true), (Values{4, 5, 7}));
  EXPECT_EQ(reduced("amin", true), (Values{2, -2, 7}));
  EXPECT_EQ(reduced("sum", false), (Values{4, 6, 7}));
  EXPECT_EQ(reduced("prod", false), (Values{4, -30, 7}));
  EXPECT_EQ(reduced("amax", false), (Values{4, 5, 7}));
  EXPECT_EQ(reduced("amin", false), (Values{4, -2, 7}));
}

TEST(ScatterReduce, IntegersWrapAndWhatIsNotANumberStays) {
  const Array whole = i32({1}, {1 << 20});
  ASSERT_EQ(run(scatter_reduce_two_out, {whole, 0, i64({1}, {0}), i32({1}, {1 << 20}), "prod", true, whole}),
            Error::kOk);
  EXPECT_EQ(whole.values(), (Values{0}));
  for (const char* reduction : {"amax", "amin"}) {
    const Array out = f32({1});
    const Values numbers = {1, std::nan(""), 2};
    ASSERT_EQ(
        run(scatter_reduce_two_out, {f32({1}, {0}), 0, i64({3}, {0, 0, 0}), f32({3}, numbers), reduction, true, out}),
        Error::kOk);
    EXPECT_TRUE(std::isnan(out.values()[0])) << reduction;
  }
}

TEST(ScatterReduce, RefusesReductionsThatItLacks) {
  const Array out = f32({1});
  EXPECT_EQ(run(scatter_reduce_two_out, {f32({1}, {0}), 0, i64({1}, {0}), f32({1}, {1}), "mean", true, out}),
            Error::kNotSupported);
  EXPECT_EQ(run(scatter_reduce_two_out, {f32({1}, {0}), 0, i64({1}, {1}), f32({1}, {1}), "amax", true, out}),
            Error::kInvalidArgument);
}

TEST(Scatter, RefusesWhatDoesNotFit) {
  const Array self = f32({2, 3}, Values(6, 0));
  const Array out = f32({2, 3});
  const Array src = f32({2, 3}, Values(6, 1));
  for (const double bad : {2.0, -1.0, 1e18}) {
    EXPECT_EQ(run(scatter_src_out, {self, 0, i64({1, 1}, {bad}), src, out}), Error::kInvalidArgument);
    EXPECT_EQ(run(scatter_add_out, {self, 0, i64({1, 1}, {bad}), src, out}), Error::kInvalidArgument);
    EXPECT_EQ(run(scatter_value_out, {self, 0, i64({1, 1}, {bad}), 1, out}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(scatter_src_out, {self, 0, i64({1, 4}, Values(4, 0)), src, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(scatter_src_out, {self, 0, i64({3, 1}, Values(3, 0)), src, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(scatter_src_out, {self, 0, i64({1, 1}, {0}), i64({1, 1}), out}), Error::kInvalidArgument);
  EXPECT_EQ(run(scatter_src_out, {self, 2, i64({1, 1}, {0}), src, out}), Error::kInvalidArgument);
  ASSERT_EQ(run(scatter_src_out, {self, 0, i64({0}), f32({0}), out}), Error::kOk);
  EXPECT_EQ(out.values(), Values(6, 0));
}

TEST(IndexSelect, PicksSlabsOfAnyDimension) {
  const Shape shape{2, 3, 4};
  const Ints picks{1, 0, 1, 1};
  for (int dim = 0; dim < 3; ++dim) {
    Shape result = shape;
    result[dim] = 4;
    const Values expected = filled(result, [&](Ints at) {
      at[dim] = picks[at[dim]];
      return numbered(shape)[flat(shape, at)];
    });
    for (const Order& order : orders(3)) {
      for (const Order& out_order : orders(3)) {
        const Array out(DType::kI16, result, {}, out_order);
        const Array self(DType::kI16, shape, numbered(shape), order);
        ASSERT_EQ(run_with(index_select_out, {self, dim, i64({4}, {1, 0, 1, 1}), out}, 3).error, Error::kOk);
        EXPECT_EQ(out.values(), expected);
        EXPECT_TRUE(out.intact());
      }
    }
  }
  const Array one = f32({1});
  ASSERT_EQ(run(index_select_out, {f32({3}, {1, 2, 3}), 0, i64({}, {2}), one}), Error::kOk);
  EXPECT_EQ(one.values(), Values{3});
  EXPECT_EQ(run(index_select_out, {f32({3}), 0, i64({1}, {3}), one}), Error::kInvalidArgument);
  EXPECT_EQ(run(index_select_out, {f32({3}), 0, i64({1}, {-1}), one}), Error::kInvalidArgument);
  EXPECT_EQ(run(index_select_out, {f32({3}), 0, i64({}, {3}), one}), Error::kInvalidArgument);
  EXPECT_EQ(run(index_select_out, {f32({3}), 0, i64({1, 1}, {0}), one}), Error::kInvalidArgument);
}

// Single elements of rows have a loop of their own: the rows of one thread and the next, indices of any number of
// dimensions, and a bad one in a later row.
TEST(IndexSelect, PicksElementsOfRowsOnThreads) {
  const Shape shape{3, 40, 50};
  std::vector<double> picks;
  for (int i = 0; i < 601; ++i) picks.push_back(i * 7 % 50);
  const Values expected = filled({3, 40, 601}, [&](Ints at) {
    at[2] = at[2] * 7 % 50;
    return numbered(shape)[flat(shape, at)];
  });
  const Array self(DType::kF32, shape, numbered(shape));
  for (const DType type : {DType::kI64, DType::kI32}) {
    const Array out = f32({3, 40, 601});
    ASSERT_EQ(run_with(index_select_out, {self, -1, Array(type, {601}, picks), out}, 3).error, Error::kOk);
    EXPECT_EQ(out.values(), expected);
    EXPECT_TRUE(out.intact());
  }
  for (const double bad : {50., -1.}) {
    picks[600] = bad;
    EXPECT_EQ(run_with(index_select_out, {self, 2, i64({601}, picks), f32({3, 40, 601})}, 3).error,
              Error::kInvalidArgument);
  }
  const Array column = f32({2, 2, 1});
  ASSERT_EQ(run(embedding_out, {f32({3, 1}, {1, 2, 3}), i32({2, 2}, {2, 0, 1, 2}), -1, false, false, column}),
            Error::kOk);
  EXPECT_EQ(column.values(), (Values{3, 1, 2, 3}));
}

TEST(Embedding, PicksARowForEveryIndex) {
  const Array weight = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  const Array out = f32({2, 2, 2});
  ASSERT_EQ(run(embedding_out, {weight, i32({2, 2}, {2, 0, 1, 2}), -1, false, false, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{5, 6, 1, 2, 3, 4, 5, 6}));
  const Array order(DType::kI64, {2, 2}, {2, 0, 1, 2}, {1, 0});
  const Array permuted(DType::kF32, {2, 2, 2}, {}, {2, 0, 1});
  ASSERT_EQ(run(embedding_out, {weight, order, -1, false, false, permuted}), Error::kOk);
  EXPECT_EQ(permuted.values(), (Values{5, 6, 1, 2, 3, 4, 5, 6}));
  const Array row = f32({2});
  ASSERT_EQ(run(embedding_out, {weight, i64({}, {1}), -1, false, false, row}), Error::kOk);
  EXPECT_EQ(row.values(), (Values{3, 4}));
  EXPECT_EQ(run(embedding_out, {weight, i64({1}, {3}), -1, false, false, f32({1, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(embedding_out, {weight, i64({1}, {-1}), -1, false, false, f32({1, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(embedding_out, {f32({3}), i64({1}, {0}), -1, false, false, f32({1})}), Error::kInvalidArgument);
}

TEST(Nonzero, ListsCoordinatesInRowMajorOrder) {
  for (const Order& order : orders(2)) {
    for (const Order& out_order : orders(2)) {
      const Array self(DType::kF32, {2, 3}, {0, std::nan(""), 0, -1, 0, 2}, order);
      const Array out(DType::kI64, {6, 2}, {}, out_order, ShapeDynamism::kBounded);
      ASSERT_EQ(run(nonzero_out, {self, out}), Error::kOk);
      EXPECT_EQ(out.sizes(), (Shape{3, 2}));
      EXPECT_EQ(out.values(), (Values{0, 1, 1, 0, 1, 2}));
    }
  }
  const Array none(DType::kI64, {3, 1}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(nonzero_out, {boolean({3}, {0, 0, 0}), none}), Error::kOk);
  EXPECT_EQ(none.sizes(), (Shape{0, 1}));
  const Array scalar(DType::kI64, {1, 0}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(nonzero_out, {f32({}, {4}), i64({1, 0})}), Error::kOk);
  EXPECT_EQ(run(nonzero_out, {f32({2}, {1, 1}), i64({1, 1})}), Error::kInvalidArgument);
  EXPECT_EQ(run(nonzero_out, {f32({2}, {1, 1}), f32({2, 1})}), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
