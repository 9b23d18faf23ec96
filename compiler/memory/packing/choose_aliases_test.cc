// Which candidates are taken decides how low a plan can be.
#include "compiler/memory/packing/choose_aliases.h"

#include <gtest/gtest.h>

#include "compiler/memory/packing/packing_testing.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

/// A transformer of six layers: attention of six heads over 197 tokens, 384 numbers each.
Problem transformer() {
  constexpr int64_t kStream = int64_t{197} * 384 * 4;
  constexpr int64_t kScores = int64_t{6} * 197 * 197 * 4;  // 8 bytes above a multiple of 16
  Problem p;
  std::vector<Candidate> in_place;
  const auto add = [&](int64_t size, int64_t lower, int64_t upper) {
    p.buffers.push_back(buffer(size, lower, upper, 16));
    return static_cast<int32_t>(p.buffers.size() - 1);
  };
  int32_t stream = add(kStream, 5, 38);
  for (int64_t t = 0; t < int64_t{6} * 41; t += 41) {
    add(kStream, t + 6, t + 9);
    add(3 * kStream, t + 8, t + 11);
    const int32_t all_three = add(3 * kStream, t + 10, t + 15);
    const int64_t ends[] = {t + 17, t + 22, t + 20};
    for (int64_t part = 0; part < 3; ++part) {
      p.candidates.push_back(candidate(add(kStream, t + 12 + part, ends[part]), all_three, part * kStream));
      p.candidates.back().alignment = 4;
    }
    const int32_t query = add(kStream, t + 16, t + 24);
    add(kStream, t + 19, t + 32);
    const int32_t key = add(kStream, t + 21, t + 25);
    in_place.push_back(candidate(add(kStream, t + 23, t + 28), query));
    in_place.push_back(candidate(add(kStream, t + 24, t + 28), key));
    const int32_t scores = add(kScores, t + 27, t + 30);
    in_place.push_back(candidate(add(kScores, t + 29, t + 32), scores));
    add(kStream, t + 31, t + 34);
    add(kStream, t + 33, t + 36);
    const int32_t projected = add(kStream, t + 35, t + 38);
    const int32_t sum = add(kStream, t + 37, t + 47);
    in_place.push_back(candidate(sum, projected));
    in_place.push_back(candidate(sum, stream));
    add(kStream, t + 38, t + 41);
    const int32_t wide = add(4 * kStream, t + 40, t + 43);
    in_place.push_back(candidate(add(4 * kStream, t + 42, t + 45), wide));
    const int32_t narrow = add(kStream, t + 44, t + 47);
    stream = add(kStream, t + 46, t + 79);
    in_place.push_back(candidate(stream, sum));
    in_place.push_back(candidate(stream, narrow));
  }
  p.candidates.insert(p.candidates.end(), in_place.begin(), in_place.end());
  return p;
}

// The stream, both factors and the values lie below the scores, which end 8 bytes above a multiple of 16: only where
// they are on top in every layer do the other 8 bytes of that cell cost nothing. Below them is room for four as long as
// the stream does not move aside for its sums.
TEST(ChooseAliases, TheLongestLivedStaysInPlace) {
  const Problem problem = transformer();
  const Expected<Plan> plan = plan_best(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spaces[0].height, 4 * 302592 + 931416);
  EXPECT_TRUE(plan->optimal());
  EXPECT_TRUE(validate(problem, *plan).ok());
}

}  // namespace
}  // namespace berth::packing
