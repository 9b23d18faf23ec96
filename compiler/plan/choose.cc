#include "compiler/plan/choose.h"

#include <algorithm>
#include <numeric>

#include "compiler/plan/bound.h"
#include "compiler/plan/greedy.h"
#include "compiler/plan/load.h"

namespace berth::plan {
namespace {

/// What trying single units may cost for each node that the searches may spend, in pairs of pieces that are looked at;
/// what a storage or merge costs more; and how many units may be tried.
constexpr int64_t kPairsPerNode = 400;
constexpr int64_t kPairsPerStorage = 64;
constexpr int64_t kFlips = 300;

/// One choice of merges, placed.
struct Candidate {
  Layout layout;
  Placed placed;
  std::vector<bool> merged;
  int64_t taken = 0;  // merges
  bool valid = false;

  bool better_than(const Candidate& other) const {
    if (valid != other.valid) return valid;
    if (placed.placement.height != other.placed.placement.height) {
      return placed.placement.height < other.placed.placement.height;
    }
    return taken > other.taken;
  }
};

void improve_a_little(const Layout& layout, Effort* effort, Placed* out) {
  Placement found;
  for (const Key key : {Key::kSize, Key::kLoad}) {
    if (out->optimal()) return;
    if (place_in_order(layout, order_by(layout, key), Fit::kBest, out->placement.height, &effort->deadline, &found)) {
      std::swap(out->placement, found);
    }
  }
}

class Chooser {
 public:
  Chooser(const Problem& problem, Improver improver, Effort* effort)
      : problem_(problem), improver_(improver), effort_(effort), whole_effort_(*effort) {}

  Choice run() {
    bound_ = lower_bound(problem_);
    units_ = merge_units(problem_);
    Candidate best = none();
    if (!units_.empty()) {
      const Candidate without = best;
      const std::vector<int32_t> order = try_orders(&best);
      if (best.taken > 0) improver_(best.layout, effort_, &best.placed);
      const bool changed = flip_units(order, &best);
      // What was improved once is not improved again.
      if (best.taken > 0 && changed) improver_(best.layout, effort_, &best.placed);
      return best_of(best, without);
    }
    improver_(best.layout, effort_, &best.placed);
    Choice choice = to_choice(best);
    choice.bound = best.placed.bound;
    return choice;
  }

 private:
  using Order = std::vector<int32_t>;  // of units, the first to be taken first

  Candidate none() {
    Candidate candidate;
    candidate.layout = make_layout(problem_);
    candidate.merged.assign(problem_.merges.size(), false);
    candidate.valid = place_quickly(candidate.layout, bound_, &candidate.placed);
    return candidate;
  }

  MergeSet choose_in(const Order& order) const {
    MergeSet set(problem_);
    for (const int32_t unit : order) set.take(units_[static_cast<size_t>(unit)]);
    return set;
  }

  Candidate place(const MergeSet& set, Improver improver) {
    Candidate candidate;
    candidate.layout = make_layout(problem_, &set);
    candidate.merged = set.taken();
    candidate.taken = std::count(candidate.merged.begin(), candidate.merged.end(), true);
    candidate.valid = place_quickly(candidate.layout, bound_, &candidate.placed);
    if (candidate.valid) improver(candidate.layout, effort_, &candidate.placed);
    return candidate;
  }

  int64_t bytes_of(int32_t unit) const {
    int64_t bytes = 0;
    for (const int32_t id : units_[static_cast<size_t>(unit)]) {
      const Merge& merge = problem_.merges[static_cast<size_t>(id)];
      bytes += std::min(problem_.storages[static_cast<size_t>(merge.from)].size,
                        problem_.storages[static_cast<size_t>(merge.to)].size);
    }
    return bytes;
  }

  /// How long the longest-lived pair of a unit lives: what lives on for long then stays where it is.
  int64_t life_of(int32_t unit) const {
    int64_t most = 0;
    for (const int32_t id : units_[static_cast<size_t>(unit)]) {
      const Merge& merge = problem_.merges[static_cast<size_t>(id)];
      const Storage& from = problem_.storages[static_cast<size_t>(merge.from)];
      const Storage& to = problem_.storages[static_cast<size_t>(merge.to)];
      const auto joint =
          static_cast<uint64_t>(std::max(from.upper, to.upper)) - static_cast<uint64_t>(std::min(from.lower, to.lower));
      most = std::max(most, static_cast<int64_t>(std::min(joint, uint64_t{1} << 62)));
    }
    return most;
  }

  std::vector<int64_t> loads_of_units(const Layout& plain) const {
    const std::vector<int64_t> touched = loads_touched(plain);
    std::vector<int64_t> loads(units_.size(), 0);
    for (size_t u = 0; u < units_.size(); ++u) {
      for (const int32_t id : units_[u]) {
        const int32_t body = plain.body_of[static_cast<size_t>(problem_.merges[static_cast<size_t>(id)].from)];
        if (body >= 0) loads[u] = std::max(loads[u], touched[static_cast<size_t>(body)]);
      }
    }
    return loads;
  }

  /// Replaces *best by the best order; returns that order.
  Order try_orders(Candidate* best) {
    Order given(units_.size());
    std::iota(given.begin(), given.end(), 0);
    Order by_bytes = given;
    std::stable_sort(by_bytes.begin(), by_bytes.end(), [&](int32_t a, int32_t b) { return bytes_of(a) > bytes_of(b); });
    Order by_load = by_bytes;
    const std::vector<int64_t> loads = loads_of_units(best->layout);
    std::stable_sort(by_load.begin(), by_load.end(), [&](int32_t a, int32_t b) {
      return loads[static_cast<size_t>(a)] > loads[static_cast<size_t>(b)];
    });
    Order by_life = by_bytes;
    std::stable_sort(by_life.begin(), by_life.end(), [&](int32_t a, int32_t b) { return life_of(a) > life_of(b); });
    Order chosen = given;
    std::vector<std::vector<bool>> tried;
    for (const Order* order : {&given, &by_bytes, &by_load, &by_life}) {
      const MergeSet set = choose_in(*order);
      if (std::find(tried.begin(), tried.end(), set.taken()) != tried.end()) continue;
      tried.push_back(set.taken());
      Candidate candidate = place(set, improve_greedily);
      if (!candidate.better_than(*best)) continue;
      *best = std::move(candidate);
      chosen = *order;
      if (best->placed.optimal()) break;
    }
    return chosen;
  }

  /// Brings each unit that is left out to the front, and drops each that is taken, one at a time. Whether that gave
  /// something better.
  bool flip_units(Order order, Candidate* best) {
    const int64_t things = static_cast<int64_t>(problem_.storages.size() + problem_.merges.size());
    const int64_t cost = count_pairs(best->layout) + kPairsPerStorage * things;
    int64_t left = std::min(kFlips, std::min(effort_->nodes, kPatientNodes) * kPairsPerNode / cost);
    bool improved = true;
    bool ever = false;
    while (improved && left > 0) {
      improved = false;
      for (size_t k = 0; k < order.size() && left > 0; ++k) {
        if (best->placed.optimal() || effort_->deadline.passed()) return ever;
        const int32_t unit = order[k];
        Order changed = order;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
        if (!best->merged[static_cast<size_t>(units_[static_cast<size_t>(unit)][0])]) {
          changed.insert(changed.begin(), unit);
        }
        --left;
        Candidate candidate = place(choose_in(changed), improve_a_little);
        if (!candidate.better_than(*best)) continue;
        *best = std::move(candidate);
        order = std::move(changed);
        improved = ever = true;
      }
    }
    return ever;
  }

  Choice best_of(const Candidate& best, Candidate without) {
    Problem plain = problem_;
    plain.merges.clear();
    without.placed.bound = lower_bound(plain);
    if (without.valid && best.placed.placement.height > without.placed.bound) {
      // With the bound and all the effort that a problem without merges gets, so that this does what is done there:
      // offering merges never makes a plan higher.
      Effort effort = whole_effort_;
      improver_(without.layout, &effort, &without.placed);
      effort_->used += effort.used - whole_effort_.used;
      effort_->deadline = effort.deadline;
      if (without.better_than(best)) return to_choice(without);
    }
    return to_choice(best);
  }

  Choice to_choice(const Candidate& candidate) const {
    Choice choice;
    choice.offsets = offsets_of(problem_, candidate.layout, candidate.placed.placement);
    choice.merged = candidate.merged;
    choice.height = candidate.placed.placement.height;
    choice.bound = bound_;
    return choice;
  }

  const Problem& problem_;
  const Improver improver_;
  Effort* const effort_;
  const Effort whole_effort_;
  int64_t bound_ = 0;
  std::vector<MergeUnit> units_;
};

}  // namespace

Choice choose_and_place(const Problem& problem, Improver improver, Effort* effort) {
  return Chooser(problem, improver, effort).run();
}

}  // namespace berth::plan
