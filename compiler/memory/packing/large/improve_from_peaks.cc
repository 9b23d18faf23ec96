#include "compiler/memory/packing/large/improve_from_peaks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/memory/packing/first_placement.h"
#include "compiler/memory/packing/large/peaks.h"
#include "compiler/memory/packing/large/valleys.h"
#include "compiler/memory/packing/load.h"

namespace berth::packing {
namespace {

/// What loads make a peak, in hundredths of the bound.
constexpr int64_t kShares[] = {90, 80, 72, 66, 60};

/// A height that is over the bound by less than one part in so many is not lowered any more.
constexpr int64_t kNear = 2000;
/// How often what lies too high is placed anew at most; when it lies over the bound by less than one part in so many;
/// and how many bodies may be placed in doing so.
constexpr int64_t kRounds = 20;
constexpr int64_t kRepairable = 8;
constexpr int64_t kMostPlacedAgain = 4'000'000;

/// Cores that were placed, by what they are. Equal ones are placed once.
using Core = std::vector<std::tuple<int32_t, int32_t, int64_t, int64_t>>;  // sections, size and alignment of each body
using KnownCores = std::map<Core, Placement>;

BoundedPlacement improve_shares(const Layout& layout, Improver improver, KnownCores* known, BoundedPlacement best,
                                Effort* effort);

/// Places cores, then valleys, for any choice of full sections.
class PeaksFirst {
 public:
  PeaksFirst(const Layout& layout, int64_t bound, Improver improver, KnownCores* known)
      : layout_(layout), loads_(section_loads(layout)), bound_(bound), improver_(improver), known_(*known) {
    for (size_t b = 0; b < layout.bodies.size(); ++b) by_birth_.push_back(static_cast<int32_t>(b));
    std::stable_sort(by_birth_.begin(), by_birth_.end(),
                     [&](int32_t a, int32_t b) { return piece(a).lower < piece(b).lower; });
  }

  /// Which sections make the peaks: those with a share of the bound.
  std::vector<uint8_t> full_sections(int64_t share) const {
    std::vector<uint8_t> full;
    full.reserve(loads_.size());
    for (const int64_t load : loads_) full.push_back(load >= bound_ / 100 * share ? 1 : 0);
    return full;
  }

  /// Adds those in which something ends above the bound.
  void add_overfull(const Placement& placement, std::vector<uint8_t>* full) const {
    for (size_t b = 0; b < placement.positions.size(); ++b) {
      const Piece& p = piece(static_cast<int32_t>(b));
      if (placement.positions[b] + p.size > bound_) std::fill(full->begin() + p.lower, full->begin() + p.upper, 1);
    }
  }

  /// False when it is not lower than `below`.
  bool place(const std::vector<uint8_t>& full, int64_t below, Effort* effort, Placement* placement) {
    const std::vector<Peak> peaks = find_peaks(layout_, by_birth_, full);
    placement->positions.assign(layout_.bodies.size(), kAnywhere);
    for (const Peak& peak : peaks) {
      if (peak.core.size() > layout_.bodies.size() / 10 * 9) return false;  // nothing is gained
      if (effort->deadline.passed() || !place_core(peak, below, effort, placement)) return false;
    }
    if (!place_valleys(layout_, loads_, by_birth_, peaks, &effort->deadline, placement)) return false;
    placement->height = height_of(layout_, placement->positions);
    return placement->height < below;
  }

 private:
  const Piece& piece(int32_t body) const { return layout_.pieces[body]; }

  bool place_core(const Peak& peak, int64_t below, Effort* effort, Placement* placement) {
    const Layout core = core_layout(layout_, peak);
    Core key;
    for (size_t b = 0; b < core.bodies.size(); ++b) {
      key.emplace_back(core.pieces[b].lower, core.pieces[b].upper, core.pieces[b].size, core.bodies[b].alignment);
    }
    auto [known, is_new] = known_.emplace(std::move(key), Placement{});
    if (is_new) {
      BoundedPlacement placed = *first_placement(core, bound_);
      if (core.bodies.size() > kManyBodies) {
        placed = improve_shares(core, improver_, &known_, std::move(placed), effort);
      }
      if (!placed.optimal()) placed = improver_(core, std::move(placed), effort);
      if (!placed.optimal()) effort->local_search /= 2;
      known->second = std::move(placed.placement);
    }
    if (known->second.height >= below) return false;
    for (size_t k = 0; k < peak.core.size(); ++k) {
      placement->positions[peak.core[k]] = known->second.positions[k];
    }
    return true;
  }

  const Layout& layout_;
  const std::vector<int64_t> loads_;
  const int64_t bound_;
  const Improver improver_;
  std::vector<int32_t> by_birth_;
  KnownCores& known_;
};

/// Where more lies too high, most of the problem would be placed first.
bool is_repairable(const BoundedPlacement& best) {
  return best.placement.height - best.bound <= best.bound / kRepairable;
}

bool is_near(const BoundedPlacement& best) { return best.placement.height - best.bound <= best.bound / kNear; }

BoundedPlacement improve_shares(const Layout& layout, Improver improver, KnownCores* known, BoundedPlacement best,
                                Effort* effort) {
  PeaksFirst planner(layout, best.bound, improver, known);
  const auto is_over = [&] {
    return is_near(best) || best.placement.height <= effort->enough || effort->is_over_after_sorting(layout);
  };
  int64_t rounds = std::min(kRounds, kMostPlacedAgain / static_cast<int64_t>(layout.bodies.size()));
  Placement found;
  for (const int64_t share : kShares) {
    if (is_over()) return best;
    std::vector<uint8_t> full = planner.full_sections(share);
    bool lower = planner.place(full, best.placement.height, effort, &found);
    if (lower) std::swap(best.placement, found);
    // What came to lie too high is placed first the next time, together with all that is alive with it.
    for (; lower && rounds > 0 && is_repairable(best) && !is_over(); --rounds) {
      planner.add_overfull(best.placement, &full);
      lower = planner.place(full, best.placement.height, effort, &found);
      if (lower) std::swap(best.placement, found);
    }
  }
  return best;
}

}  // namespace

bool has_peaks(const Layout& layout) {
  if (layout.bodies.size() <= kManyBodies || !layout.rectangular() || layout.any_fixed()) return false;
  return std::all_of(layout.bodies.begin(), layout.bodies.end(), [](const Body& body) { return body.lowest == 0; });
}

BoundedPlacement improve_from_peaks(const Layout& layout, Improver improver, BoundedPlacement best, Effort* effort) {
  if (effort->is_over_after_sorting(layout)) return best;
  KnownCores known;
  const int64_t local_search = effort->local_search;
  best = improve_shares(layout, improver, &known, std::move(best), effort);
  effort->local_search = local_search;
  return best;
}

}  // namespace berth::packing
