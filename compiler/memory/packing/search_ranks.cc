#include "compiler/memory/packing/search_ranks.h"

#include <algorithm>

namespace berth::packing {
namespace {

/// The product, or 2^61 where it is more: `disturbed` takes three times a measure.
int64_t area_of(int64_t life, int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 61;
  return life > 0 && size > kMost / life ? kMost : life * size;
}

}  // namespace

Ranks::Ranks(const SearchProblem& problem, const SearchOptions& options) : problem_(problem), options_(options) {
  part_totals_.assign(problem.sections, 0);
  for (const SearchBody& body : problem.bodies) {
    for (int32_t s = body.lower; s < body.upper; ++s) part_totals_[s] += body.size;
  }
  for (const SearchBody& body : problem.bodies) {
    const size_t id = firsts_.size();
    firsts_.push_back(body.twin >= 0 ? firsts_[body.twin] : static_cast<int32_t>(id));
    totals_.push_back(*std::max_element(part_totals_.begin() + body.lower, part_totals_.begin() + body.upper));
  }
}

bool Ranks::Rank::operator<(const Rank& other) const {
  for (int m = 0; m < 3; ++m) {
    if (measures[m] != other.measures[m]) return measures[m] > other.measures[m];
  }
  return id < other.id;
}

int64_t Ranks::disturbed(int64_t measure, int32_t id, int which) const {
  if (options_.seed == 0) return measure;
  // splitmix64: from a third to the whole.
  uint64_t x = options_.seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(id) * 3 + static_cast<uint64_t>(which);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return 3 * measure - static_cast<int64_t>((x >> 2) % static_cast<uint64_t>(2 * measure + 1));
}

Ranks::Rank Ranks::rank(int32_t id, int32_t index, int64_t total) const {
  const SearchBody& body = problem_.bodies[id];
  // Twins are disturbed alike, so that they stay in the order of their ids.
  const int32_t first = firsts_[id];
  const int64_t life = options_.by_steps ? body.steps : body.upper - body.lower;
  const int64_t width = disturbed(life, first, 0);
  const int64_t area = disturbed(area_of(life, body.size), first, 1);
  total = disturbed(total, first, 2);
  switch (options_.ranking) {
    case Ranking::kWAT: return {{width, area, total}, id, index};
    case Ranking::kTAW: return {{total, area, width}, id, index};
    case Ranking::kTWA: return {{total, width, area}, id, index};
  }
  return {};
}

void Ranks::sort_all(int32_t* ids, size_t count) const {
  std::vector<Rank> ranks;
  for (size_t i = 0; i < count; ++i) ranks.push_back(rank(ids[i], 0, totals_[ids[i]]));
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < count; ++i) ids[i] = ranks[i].id;
}

void Ranks::sort_part(const int32_t* ids, int32_t lower, int32_t upper, std::vector<int32_t>* picked) {
  std::fill(part_totals_.begin() + lower, part_totals_.begin() + upper, 0);
  for (const int32_t index : *picked) {
    const SearchBody& body = problem_.bodies[ids[index]];
    for (int32_t s = body.lower; s < body.upper; ++s) part_totals_[s] += body.size;
  }
  ranks_.clear();
  for (const int32_t index : *picked) {
    const SearchBody& body = problem_.bodies[ids[index]];
    const int64_t total = *std::max_element(part_totals_.begin() + body.lower, part_totals_.begin() + body.upper);
    ranks_.push_back(rank(ids[index], index, total));
  }
  std::sort(ranks_.begin(), ranks_.end());
  for (size_t i = 0; i < ranks_.size(); ++i) (*picked)[i] = ranks_[i].index;
}

}  // namespace berth::packing
