#include "compiler/memory/packing/exact.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/memory/packing/search.h"

namespace berth::packing {
namespace {

/// More bodies make a node too dear, and a search's frames too large: some 100 MB at this many.
constexpr size_t kMostExactBodies = 2000;

/// The rankings in the order in which they solved most of the instances of several kinds soonest.
constexpr SearchOptions kConfigurations[] = {
    {Ranking::kTWA, true, true},   {Ranking::kTAW, false, false}, {Ranking::kWAT, true, false},
    {Ranking::kTWA, false, false}, {Ranking::kTAW, true, true},   {Ranking::kWAT, false, true},
};

/// A node of more bodies than this takes more time, about as their square: it counts as more nodes.
constexpr int64_t kNarrow = 512;

/// Nodes a body that the first round gives each search, and by how much each round gives more.
constexpr int64_t kFirstLimit = 8;
constexpr int64_t kGrowth = 8;
/// The share of a round's limit that searches with disturbed ranks and for other capacities get.
constexpr int64_t kDisturbedShare = 4;
constexpr int64_t kDescentShare = 2;

}  // namespace

ExactPlanner::ExactPlanner(const Layout& layout, Effort* effort, BoundedPlacement* best)
    : layout_(layout), problem_(search_problem(layout, kMostExactBodies)), effort_(effort), best_(best) {
  const int64_t count = problem_.has_value() ? static_cast<int64_t>(problem_->bodies.size()) : 0;
  weight_ = std::max<int64_t>(1, count * count / (kNarrow * kNarrow));
  // At least once to the bottom, with some ways back.
  limit_ = std::max(kFirstLimit * count / weight_, count + count / kFirstLimit);
}

bool ExactPlanner::run_round() {
  if (!problem_.has_value() || is_over()) return false;
  ++rounds_;
  if (!dive(limit_)) {
    for (SearchOptions options : kConfigurations) {
      options.nodes = limit_ / kDescentShare;
      descend(options);
    }
  }
  limit_ *= kGrowth;
  return !is_over();
}

bool ExactPlanner::is_over() { return effort_->nodes < weight_ || effort_->is_enough(*best_); }

int64_t ExactPlanner::lowest() const { return ceil_div(best_->bound, problem_->unit); }

/// Asks for the bound, and for the height that would be enough; whether there is nothing more to do.
bool ExactPlanner::dive(int64_t limit) {
  for (const uint64_t seed : {uint64_t{0}, rounds_}) {
    for (SearchOptions options : kConfigurations) {
      options.seed = seed;
      options.nodes = seed == 0 ? limit : limit / kDisturbedShare;
      if (is_over() || ask(lowest(), options)) return true;
      if (effort_->enough > best_->bound && ask(effort_->enough / problem_->unit, options)) return true;
    }
  }
  return is_over();
}

/// Goes down from the height in steps of an eighth of what is open, then of one unit.
void ExactPlanner::descend(const SearchOptions& options) {
  for (const int64_t share : {8, 0}) {
    while (!is_over()) {
      const int64_t highest = (best_->placement.height - 1) / problem_->unit;
      const int64_t step = share == 0 ? 0 : (highest - lowest()) / share;
      if (highest <= lowest() || !ask(highest - step, options)) break;
    }
  }
}

/// Whether there is a placement of this height.
bool ExactPlanner::ask(int64_t capacity, SearchOptions options) {
  options.nodes = std::min(options.nodes, effort_->nodes / weight_);
  options.deadline = &effort_->deadline;
  const SearchResult result = search(*problem_, capacity, options);
  effort_->spend(weight_ * (result.nodes + 1));
  if (result.verdict == Verdict::kImpossible) best_->bound = std::max(best_->bound, (capacity + 1) * problem_->unit);
  if (result.verdict != Verdict::kFound) return false;
  for (size_t b = 0; b < result.offsets.size(); ++b) {
    best_->placement.positions[b] = result.offsets[b] * problem_->unit;
  }
  best_->placement.height = height_of(layout_, best_->placement.positions);
  return true;
}

}  // namespace berth::packing
