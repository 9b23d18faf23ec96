#include "compiler/memory/packing/choose_aliases.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/first_placement.h"
#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/improve_greedily.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/order_by.h"
#include "compiler/memory/packing/planner.h"

namespace berth::packing {
namespace {

/// What trying single groups may cost for each node that the searches may spend, in pairs of pieces that are looked at;
/// what a buffer or candidate costs more; and how many groups may be tried.
constexpr int64_t kPairsPerNode = 400;
constexpr int64_t kPairsPerBuffer = 64;
constexpr int64_t kFlips = 300;

/// One choice of candidates, placed.
struct Selection {
  Layout layout;
  BoundedPlacement placed;
  std::vector<bool> taken;
  int64_t count = 0;  // candidates
  bool valid = false;

  bool better_than(const Selection& other) const {
    if (valid != other.valid) return valid;
    if (placed.placement.height != other.placed.placement.height) {
      return placed.placement.height < other.placed.placement.height;
    }
    return count > other.count;
  }
};

BoundedPlacement improve_a_little(const Layout& layout, BoundedPlacement best, Effort* effort) {
  for (const Key key : {Key::kSize, Key::kLoad}) {
    if (best.optimal()) return best;
    std::optional<Placement> found =
        place_in_order(layout, order_by(layout, key), Fit::kBest, best.placement.height, &effort->deadline);
    if (found.has_value()) best.placement = std::move(*found);
  }
  return best;
}

class Chooser {
 public:
  Chooser(const Problem& problem, Improver improver, Effort* effort)
      : problem_(problem), improver_(improver), effort_(effort), whole_effort_(*effort) {}

  Choice run() {
    bound_ = lower_bound(problem_);
    groups_ = candidate_groups(problem_);
    Selection best = none();
    if (!groups_.empty()) {
      const Selection without = best;
      const std::vector<int32_t> order = try_orders(&best);
      if (best.count > 0) improve(improver_, &best);
      const bool changed = flip_groups(order, &best);
      // What was improved once is not improved again.
      if (best.count > 0 && changed) improve(improver_, &best);
      return best_of(best, without);
    }
    improve(improver_, &best);
    Choice choice = to_choice(best);
    choice.bound = best.placed.bound;
    return choice;
  }

 private:
  using Order = std::vector<int32_t>;  // of groups, the first to be taken first

  Selection none() {
    Selection selection;
    selection.layout = make_layout(problem_);
    selection.taken.assign(problem_.candidates.size(), false);
    place_first(&selection);
    return selection;
  }

  void place_first(Selection* selection) const {
    std::optional<BoundedPlacement> first = first_placement(selection->layout, bound_);
    selection->valid = first.has_value();
    if (selection->valid) selection->placed = std::move(*first);
  }

  void improve(Improver improver, Selection* selection) {
    selection->placed = improver(selection->layout, std::move(selection->placed), effort_);
  }

  ChosenAliases choose_in(const Order& order) const {
    ChosenAliases set(problem_);
    for (const int32_t group : order) set.take(groups_[group]);
    return set;
  }

  Selection place(const ChosenAliases& set, Improver improver) {
    Selection selection;
    selection.layout = make_layout(problem_, &set);
    selection.taken = set.taken();
    selection.count = std::count(selection.taken.begin(), selection.taken.end(), true);
    place_first(&selection);
    if (selection.valid) improve(improver, &selection);
    return selection;
  }

  int64_t bytes_of(int32_t group) const {
    int64_t bytes = 0;
    for (const int32_t id : groups_[group]) {
      const Candidate& candidate = problem_.candidates[id];
      bytes += std::min(problem_.buffers[candidate.from].size, problem_.buffers[candidate.to].size);
    }
    return bytes;
  }

  /// How long the longest-lived pair of a group lives: what lives on for long then stays where it is.
  int64_t life_of(int32_t group) const {
    int64_t most = 0;
    for (const int32_t id : groups_[group]) {
      const Candidate& candidate = problem_.candidates[id];
      const Buffer& from = problem_.buffers[candidate.from];
      const Buffer& to = problem_.buffers[candidate.to];
      const auto joint =
          static_cast<uint64_t>(std::max(from.upper, to.upper)) - static_cast<uint64_t>(std::min(from.lower, to.lower));
      most = std::max(most, static_cast<int64_t>(std::min(joint, uint64_t{1} << 62)));
    }
    return most;
  }

  std::vector<int64_t> loads_of_groups(const Layout& plain) const {
    const std::vector<int64_t> touched = loads_touched(plain);
    std::vector<int64_t> loads(groups_.size(), 0);
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int32_t id : groups_[g]) {
        const int32_t body = plain.body_of[problem_.candidates[id].from];
        if (body >= 0) loads[g] = std::max(loads[g], touched[body]);
      }
    }
    return loads;
  }

  /// Replaces *best by the best order; returns that order.
  Order try_orders(Selection* best) {
    Order given(groups_.size());
    std::iota(given.begin(), given.end(), 0);
    Order by_bytes = given;
    std::stable_sort(by_bytes.begin(), by_bytes.end(), [&](int32_t a, int32_t b) { return bytes_of(a) > bytes_of(b); });
    Order by_load = by_bytes;
    const std::vector<int64_t> loads = loads_of_groups(best->layout);
    std::stable_sort(by_load.begin(), by_load.end(), [&](int32_t a, int32_t b) { return loads[a] > loads[b]; });
    Order by_life = by_bytes;
    std::stable_sort(by_life.begin(), by_life.end(), [&](int32_t a, int32_t b) { return life_of(a) > life_of(b); });
    Order chosen = given;
    std::vector<std::vector<bool>> tried;
    for (const Order* order : {&given, &by_bytes, &by_load, &by_life}) {
      const ChosenAliases set = choose_in(*order);
      if (std::find(tried.begin(), tried.end(), set.taken()) != tried.end()) continue;
      tried.push_back(set.taken());
      Selection selection = place(set, improve_greedily);
      if (!selection.better_than(*best)) continue;
      *best = std::move(selection);
      chosen = *order;
      if (best->placed.optimal()) break;
    }
    return chosen;
  }

  /// Brings each group that is left out to the front, and drops each that is taken, one at a time. Whether that gave
  /// something better.
  bool flip_groups(Order order, Selection* best) {
    const int64_t things = static_cast<int64_t>(problem_.buffers.size() + problem_.candidates.size());
    const int64_t cost = count_pairs(best->layout) + kPairsPerBuffer * things;
    int64_t left = std::min(kFlips, std::min(effort_->nodes, kPatientNodes) * kPairsPerNode / cost);
    bool improved = true;
    bool ever = false;
    while (improved && left > 0) {
      improved = false;
      for (size_t k = 0; k < order.size() && left > 0; ++k) {
        if (best->placed.optimal() || effort_->deadline.passed()) return ever;
        const int32_t group = order[k];
        Order changed = order;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
        if (!best->taken[groups_[group][0]]) {
          changed.insert(changed.begin(), group);
        }
        --left;
        Selection selection = place(choose_in(changed), improve_a_little);
        if (!selection.better_than(*best)) continue;
        *best = std::move(selection);
        order = std::move(changed);
        improved = ever = true;
      }
    }
    return ever;
  }

  Choice best_of(const Selection& best, Selection without) {
    Problem plain = problem_;
    plain.candidates.clear();
    without.placed.bound = lower_bound(plain);
    if (without.valid && best.placed.placement.height > without.placed.bound) {
      // With the bound and all the effort that a problem without candidates gets, so that this does what is done there:
      // offering candidates never makes a plan higher.
      Effort effort = whole_effort_;
      without.placed = improver_(without.layout, std::move(without.placed), &effort);
      effort_->used += effort.used - whole_effort_.used;
      effort_->deadline = effort.deadline;
      if (without.better_than(best)) return to_choice(without);
    }
    return to_choice(best);
  }

  Choice to_choice(const Selection& selection) const {
    Choice choice;
    choice.offsets = offsets_of(problem_, selection.layout, selection.placed.placement);
    choice.taken = selection.taken;
    choice.height = selection.placed.placement.height;
    choice.bound = bound_;
    return choice;
  }

  const Problem& problem_;
  const Improver improver_;
  Effort* const effort_;
  const Effort whole_effort_;
  int64_t bound_ = 0;
  std::vector<CandidateGroup> groups_;
};

}  // namespace

Choice choose_and_place(const Problem& problem, Improver improver, Effort* effort) {
  return Chooser(problem, improver, effort).run();
}

}  // namespace berth::packing
