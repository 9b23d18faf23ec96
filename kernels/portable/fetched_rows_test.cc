// Few rows of a large table. The fears: a table brought in whole for a row of it, a fetch a row where all of a table is
// wanted, the wrong rows, a read that fails and is not heard of.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

constexpr int32_t kTableRows = 4096;
constexpr int32_t kColumns = 64;  // 1 MiB of f32

struct Fetches {
  std::atomic<size_t> count{0};
  std::atomic<size_t> bytes{0};
  size_t fail_from = SIZE_MAX;
  MemoryFetcher fetcher{&Fetches::fetch, this};

  static Error fetch(void* context, Span<const uint8_t> from, void* to) {
    Fetches& self = *static_cast<Fetches*>(context);
    self.bytes += from.size();
    if (self.count++ >= self.fail_from) return Error::kAccessFailed;
    std::memcpy(to, from.data(), from.size());
    return Error::kOk;
  }
};

Values picks_of(int32_t count) {
  Values picks;
  for (int32_t i = 0; i < count; ++i) picks.push_back(i * 1009 % kTableRows);
  return picks;
}

Values rows_at(const Values& picks, int32_t columns) {
  Values rows;
  for (const double pick : picks) {
    for (int32_t c = 0; c < columns; ++c) rows.push_back(pick * columns + c + 1);
  }
  return rows;
}

TEST(FetchedRows, FewRowsOfALargeTableAreFetched) {
  const Array table = f32({kTableRows, kColumns}, numbered({kTableRows, kColumns}));
  for (const int threads : {1, 3}) {
    for (const int32_t count : {1, 64, kTableRows / 8}) {
      Fetches fetches;
      const Values picks = picks_of(count);
      const Array out = f32({count, kColumns});
      ASSERT_EQ(
          run_with(embedding_out, {table, i64({count}, picks), -1, false, false, out}, threads, 0, &fetches.fetcher)
              .error,
          Error::kOk);
      EXPECT_EQ(out.values(), rows_at(picks, kColumns));
      EXPECT_TRUE(out.intact());
      EXPECT_EQ(fetches.count, static_cast<size_t>(count));
      EXPECT_EQ(fetches.bytes, static_cast<size_t>(count) * kColumns * sizeof(float));
    }
  }
  // By index, from the end too, and two words of one place.
  for (const int threads : {1, 3}) {
    Fetches fetches;
    const Array out = f32({3, kColumns});
    const Values picks = {5, -1, 5};
    ASSERT_EQ(
        run_with(index_Tensor_out, {table, Arg::list({i64({3}, picks)}), out}, threads, 0, &fetches.fetcher).error,
        Error::kOk);
    EXPECT_EQ(out.values(), rows_at({5, kTableRows - 1, 5}, kColumns));
    EXPECT_EQ(fetches.count, 3u);
  }
  // Rows of one number.
  Fetches fetches;
  const Array numbers = f32({kTableRows * kColumns, 1}, numbered({kTableRows * kColumns, 1}));
  const Array out = f32({2, 1});
  ASSERT_EQ(run_with(index_select_out, {numbers, 0, i64({2}, {7, 100000}), out}, 1, 0, &fetches.fetcher).error,
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{8, 100001}));
  EXPECT_EQ(fetches.count, 2u);
}

TEST(FetchedRows, ManyRowsAndSmallTablesAreReadInPlace) {
  const Array table = f32({kTableRows, kColumns}, numbered({kTableRows, kColumns}));
  Fetches fetches;
  const Values picks = picks_of(kTableRows / 8 + 1);
  const Array many = f32({kTableRows / 8 + 1, kColumns});
  ASSERT_EQ(
      run_with(index_select_out, {table, 0, i64({kTableRows / 8 + 1}, picks), many}, 1, 0, &fetches.fetcher).error,
      Error::kOk);
  EXPECT_EQ(many.values(), rows_at(picks, kColumns));
  const Array small = f32({kTableRows - 1, kColumns}, numbered({kTableRows - 1, kColumns}));
  const Array row = f32({1, kColumns});
  ASSERT_EQ(run_with(index_select_out, {small, 0, i64({1}, {9}), row}, 1, 0, &fetches.fetcher).error, Error::kOk);
  EXPECT_EQ(row.values(), rows_at({9}, kColumns));
  const Array by_index = f32({kTableRows / 8 + 1, kColumns});
  ASSERT_EQ(run_with(index_Tensor_out, {table, Arg::list({i64({kTableRows / 8 + 1}, picks)}), by_index}, 1, 0,
                     &fetches.fetcher)
                .error,
            Error::kOk);
  EXPECT_EQ(by_index.values(), rows_at(picks, kColumns));
  // Columns: a slab is not a run of bytes.
  const Array column = f32({kTableRows, 1});
  ASSERT_EQ(run_with(index_select_out, {table, 1, i64({1}, {3}), column}, 1, 0, &fetches.fetcher).error, Error::kOk);
  EXPECT_EQ(column.values()[5], 5 * kColumns + 4);
  // A row of 128 KiB is more than the system brings in around what is touched.
  const Array wide = f32({16, 32768}, numbered({16, 32768}));
  const Array one = f32({1, 32768});
  ASSERT_EQ(run_with(index_select_out, {wide, 0, i64({1}, {2}), one}, 1, 0, &fetches.fetcher).error, Error::kOk);
  EXPECT_EQ(one.values()[0], 2 * 32768 + 1);
  EXPECT_EQ(fetches.count, 0u);
}

TEST(FetchedRows, RowsThatCannotBeReadAreAnError) {
  const Array table = f32({kTableRows, kColumns}, numbered({kTableRows, kColumns}));
  for (const int threads : {1, 3}) {
    Fetches fetches;
    fetches.fail_from = 3;
    const Outcome outcome =
        run_with(embedding_out, {table, i64({5}, {1, 2, 3, 4, 5}), -1, false, false, f32({5, kColumns})}, threads, 0,
                 &fetches.fetcher);
    EXPECT_EQ(outcome.error, Error::kAccessFailed);
    EXPECT_NE(outcome.message.find("cannot be read from its file"), std::string::npos);
    EXPECT_EQ(run_with(index_Tensor_out, {table, Arg::list({i64({1}, {1})}), f32({1, kColumns})}, threads, 0,
                       &fetches.fetcher)
                  .error,
              Error::kAccessFailed);
  }
  // Neither here nor there: nothing is fetched from outside of the table.
  Fetches fetches;
  for (const double bad : {-1.0, double{kTableRows}, 1e15}) {
    EXPECT_EQ(
        run_with(embedding_out, {table, i64({1}, {bad}), -1, false, false, f32({1, kColumns})}, 1, 0, &fetches.fetcher)
            .error,
        Error::kInvalidArgument);
  }
  EXPECT_EQ(run_with(index_Tensor_out, {table, Arg::list({i64({1}, {-kTableRows - 1})}), f32({1, kColumns})}, 1, 0,
                     &fetches.fetcher)
                .error,
            Error::kInvalidArgument);
  EXPECT_EQ(fetches.count, 0u);
}

}  // namespace
}  // namespace berth::portable
