// Fears about finding which intervals meet: that one is not seen.
#include "compiler/memory/packing/interval_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth::packing {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Interval {
  int64_t begin;
  int64_t length;
};

bool sees(const IntervalIndex& index, int64_t begin, int64_t end, int32_t wanted) {
  IntervalIndex::Cursor cursor(index, begin, end);
  for (int32_t id = 0; cursor.next(&id);) {
    if (id == wanted) return true;
  }
  return false;
}

// What is longer than any power of two reaches further back than one.
TEST(IntervalIndex, LongOnesAreFoundFromTheirLastNumber) {
  for (const Interval& interval :
       {Interval{0, int64_t{1} << 61}, Interval{0, (int64_t{1} << 62) - 1}, Interval{0, int64_t{1} << 62},
        Interval{0, (int64_t{1} << 62) + 5}, Interval{0, kMost}, Interval{-5, kMost}, Interval{kLeast, kMost}}) {
    IntervalIndex index;
    index.add(interval.begin, interval.length, 7);
    const int64_t last = interval.begin + (interval.length - 1);
    EXPECT_TRUE(sees(index, last, last + 1, 7)) << interval.begin << " and " << interval.length << " numbers";
    EXPECT_TRUE(sees(index, interval.begin, interval.begin + 1, 7))
        << interval.begin << " and " << interval.length << " numbers";
    index.remove(interval.begin, interval.length, 7);
    EXPECT_FALSE(sees(index, last, last + 1, 7));
  }
}

TEST(IntervalIndex, ThoseThatMeetAreFoundAtEveryLength) {
  const uint32_t seed = berth::testing::new_seed();
  SCOPED_TRACE(::testing::Message() << "BERTH_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    IntervalIndex index;
    std::vector<Interval> all;
    const auto any = [&] {
      const int bits = static_cast<int>(random() % 62);
      return Interval{static_cast<int64_t>(random()) >> (1 + random() % 62),
                      static_cast<int64_t>(random() % (uint64_t{1} << bits)) + 1};
    };
    for (int32_t id = 0; id < 20; ++id) {
      all.push_back(any());
      index.add(all.back().begin, all.back().length, id);
    }
    const Interval asked = any();
    const int64_t end = asked.begin + asked.length;
    for (int32_t id = 0; id < 20; ++id) {
      const Interval& interval = all[id];
      if (interval.begin >= end || asked.begin >= interval.begin + interval.length) continue;
      EXPECT_TRUE(sees(index, asked.begin, end, id)) << "[" << interval.begin << ", +" << interval.length << ") and ["
                                                     << asked.begin << ", +" << asked.length << ")";
    }
  }
}

}  // namespace
}  // namespace berth::packing
