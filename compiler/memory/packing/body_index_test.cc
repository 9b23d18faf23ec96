// Fears about finding who shares bytes and steps: that a body is not seen.
#include "compiler/memory/packing/body_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace berth::packing {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Interval {
  int64_t begin;
  int64_t length;
};

bool sees(const Runs& runs, int64_t begin, int64_t end, int32_t wanted) {
  Runs::Cursor cursor(runs, begin, end);
  for (int32_t id = 0; cursor.next(&id);) {
    if (id == wanted) return true;
  }
  return false;
}

// What is longer than any power of two reaches further back than one.
TEST(BodyIndex, LongRunsAreFoundFromTheirLastNumber) {
  for (const Interval& run :
       {Interval{0, int64_t{1} << 61}, Interval{0, (int64_t{1} << 62) - 1}, Interval{0, int64_t{1} << 62},
        Interval{0, (int64_t{1} << 62) + 5}, Interval{0, kMost}, Interval{-5, kMost}, Interval{kLeast, kMost}}) {
    Runs runs;
    runs.add(run.begin, run.length, 7);
    const int64_t last = run.begin + (run.length - 1);
    EXPECT_TRUE(sees(runs, last, last + 1, 7)) << run.begin << " and " << run.length << " numbers";
    EXPECT_TRUE(sees(runs, run.begin, run.begin + 1, 7)) << run.begin << " and " << run.length << " numbers";
    runs.remove(run.begin, run.length, 7);
    EXPECT_FALSE(sees(runs, last, last + 1, 7));
  }
}

// The third lives nearly for ever; by their bytes alone it would be met last, and lives are what tells them apart.
TEST(BodyIndex, LongRunsAreFoundByTheirLiveRanges) {
  BodyIndex index;
  index.add({0, 64, 0, 1}, 0);
  index.add({0, 64, 1, 1}, 1);
  index.add({0, 64, 0, (int64_t{1} << 62) + 5}, 2);
  EXPECT_TRUE(index.any({0, 64, (int64_t{1} << 62) + 1, 1}, [](int32_t id) { return id == 2; }));
}

TEST(BodyIndex, OverlappingRunsAreFoundAtEveryLength) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    Runs runs;
    std::vector<Interval> all;
    const auto any = [&] {
      const int bits = static_cast<int>(random() % 62);
      return Interval{static_cast<int64_t>(random()) >> (1 + random() % 62),
                      static_cast<int64_t>(random() % (uint64_t{1} << bits)) + 1};
    };
    for (int32_t id = 0; id < 20; ++id) {
      all.push_back(any());
      runs.add(all.back().begin, all.back().length, id);
    }
    const Interval asked = any();
    const int64_t end = asked.begin + asked.length;
    for (int32_t id = 0; id < 20; ++id) {
      const Interval& run = all[id];
      if (run.begin >= end || asked.begin >= run.begin + run.length) continue;
      EXPECT_TRUE(sees(runs, asked.begin, end, id))
          << "[" << run.begin << ", +" << run.length << ") and [" << asked.begin << ", +" << asked.length << ")";
    }
  }
}

}  // namespace
}  // namespace berth::packing
