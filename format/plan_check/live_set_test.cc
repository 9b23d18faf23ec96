// The tree of live ranges against a list that is searched from end to end.
#include "format/plan_check/live_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth::format::plan_check {
namespace {

struct Fixture {
  std::vector<uint64_t> begins;
  std::vector<uint64_t> ends;
  std::vector<int32_t> order;
  std::vector<int32_t> rank;
  std::vector<uint64_t> tree;
  std::vector<uint64_t> words;

  Fixture(std::mt19937& random, size_t count)
      : order(count), rank(count), tree(LiveSet::tree_size(count)), words(LiveSet::word_count(count)) {
    for (size_t i = 0; i < count; ++i) {
      begins.push_back(random() % 100);
      ends.push_back(begins.back() + 1 + random() % 20);
    }
  }
  LiveSet set() { return {{begins.data(), begins.size()}, {ends.data(), ends.size()}, order, rank, tree, words}; }
};

std::vector<int32_t> found(const LiveSet& set, uint64_t begin, uint64_t end) {
  std::vector<int32_t> all;
  for (int64_t at = set.find(begin, end, 0); at >= 0; at = set.find(begin, end, at + 1)) all.push_back(set.at(at));
  std::sort(all.begin(), all.end());
  return all;
}

TEST(LiveSet, FindsExactlyWhatOverlaps) {
  const uint32_t seed = testing::new_seed();
  std::mt19937 random(seed);
  for (const size_t count : std::vector<size_t>{1, 2, 3, 7, 8, 9, 64, 65, 130}) {
    Fixture fixture(random, count);
    LiveSet set = fixture.set();
    std::vector<bool> in(count);
    for (int step = 0; step < 400; ++step) {
      const size_t i = random() % count;
      in[i] = random() % 2 == 0;
      if (in[i]) {
        set.insert(static_cast<int32_t>(i));
      } else {
        set.remove(static_cast<int32_t>(i));
      }
      const uint64_t begin = random() % 110;
      const uint64_t end = begin + 1 + random() % 15;
      std::vector<int32_t> expected;
      for (size_t k = 0; k < count; ++k) {
        if (in[k] && fixture.begins[k] < end && begin < fixture.ends[k]) expected.push_back(static_cast<int32_t>(k));
      }
      ASSERT_EQ(found(set, begin, end), expected) << "BERTH_SEED=" << seed << ", " << count << " ranges, step " << step;
    }
  }
}

TEST(LiveSet, CopiesAndMergesOtherSets) {
  std::mt19937 random(1);
  Fixture fixture(random, 70);
  LiveSet set = fixture.set();
  set.insert(3);
  set.insert(69);
  const std::vector<uint64_t> other = {uint64_t{1} << 3 | uint64_t{1} << 10, 1};
  set.add_all({other.data(), other.size()});
  for (const int32_t i : {3, 10, 64, 69}) EXPECT_TRUE(set.contains(i));
  set.assign({other.data(), other.size()});
  EXPECT_FALSE(set.contains(69));
  EXPECT_EQ(found(set, 0, 200), (std::vector<int32_t>{3, 10, 64}));
}

TEST(LiveSet, AnEmptyOneFindsNothing) {
  uint64_t tree[2] = {};
  const LiveSet set({}, {}, {}, {}, tree, {});
  EXPECT_EQ(set.find(0, UINT64_MAX, 0), -1);
}

}  // namespace
}  // namespace berth::format::plan_check
