#include "compiler/memory/packing/peaks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/math.h"
#include "compiler/memory/packing/first_placement.h"
#include "compiler/memory/packing/free_list.h"
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
/// Most pairs that may be looked at for the bodies that live across the ends of the sweeps of one valley.
constexpr int64_t kMostPairsAcross = 50'000'000;

/// Nanoseconds, more or less, for the deadline: of a body in a sweep, and of a pair across.
constexpr int64_t kSweepBodyCost = 300;
constexpr int64_t kSweepPairCost = 5;

/// A run of sections, and the bodies that are alive there.
struct Peak {
  int32_t lower = 0;
  int32_t upper = 0;
  int32_t first = 0;  // the first section of a body of the core
  int32_t reach = 0;  // where the last of them dies
  std::vector<int32_t> core;
};

/// A body in a sweep, whose time may run backward.
struct Box {
  int32_t lower;
  int32_t upper;
  int32_t body;
};

/// Cores that were placed, by what they are. Equal ones are placed once.
using Core = std::vector<std::tuple<int32_t, int32_t, int64_t, int64_t>>;  // sections, size and alignment of each body
using KnownCores = std::map<Core, Placement>;

BoundedPlacement improve_shares(const Layout& layout, Improver improver, KnownCores* known, BoundedPlacement best,
                                Effort* effort);

class FromPeaks {
 public:
  FromPeaks(const Layout& layout, int64_t bound, Improver improver, KnownCores* known)
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
    find_peaks(full);
    placement->positions.assign(layout_.bodies.size(), kAnywhere);
    for (const Peak& peak : peaks_) {
      if (peak.core.size() > layout_.bodies.size() / 10 * 9) return false;  // nothing is gained
      if (effort->deadline.passed() || !place_core(peak, below, effort, placement)) return false;
    }
    if (!place_valleys(&effort->deadline, placement)) return false;
    placement->height = height_of(layout_, placement->positions);
    return placement->height < below;
  }

 private:
  const Piece& piece(int32_t body) const { return layout_.pieces[body]; }

  /// Peaks that one body touches, or whose cores meet, are one.
  void find_peaks(const std::vector<uint8_t>& full) {
    peaks_.clear();
    size_t next = 0;    // of by_birth_: the first that is born later
    size_t oldest = 0;  // the first that is not dead
    int32_t reach = 0;  // the last death of those that are born
    for (int32_t s = 0; s < layout_.sections; ++s) {
      if (full[s] == 0) continue;
      for (; next < by_birth_.size() && piece(by_birth_[next]).lower <= s; ++next) {
        reach = std::max(reach, piece(by_birth_[next]).upper);
      }
      while (piece(by_birth_[oldest]).upper <= s) ++oldest;  // a section is never empty
      const int32_t first = piece(by_birth_[oldest]).lower;
      if (peaks_.empty() || first < peaks_.back().reach) {
        if (peaks_.empty()) peaks_.push_back({s, s + 1, first, reach, {}});
        peaks_.back().upper = s + 1;
        peaks_.back().reach = std::max(peaks_.back().reach, reach);
      } else {
        peaks_.push_back({s, s + 1, first, reach, {}});
      }
    }
    size_t at = 0;
    for (const int32_t b : by_birth_) {
      while (at < peaks_.size() && peaks_[at].upper <= piece(b).lower) ++at;
      if (at < peaks_.size() && piece(b).upper > peaks_[at].lower) peaks_[at].core.push_back(b);
    }
  }

  /// The bodies of the core alone.
  Layout core_layout(const Peak& peak) const {
    Layout core;
    for (const int32_t b : peak.core) {
      Body body = layout_.bodies[b];
      body.begin = static_cast<int32_t>(core.pieces.size());
      body.end = body.begin + 1;
      Piece part = piece(b);
      // What lies outside of the peak keeps no bodies apart.
      part.lower = std::max(part.lower, peak.lower) - peak.lower;
      part.upper = std::min(part.upper, peak.upper) - peak.lower;
      core.bodies.push_back(body);
      core.pieces.push_back(part);
    }
    core.sections = peak.upper - peak.lower;
    return core;
  }

  bool place_core(const Peak& peak, int64_t below, Effort* effort, Placement* placement) {
    const Layout core = core_layout(peak);
    Core key;
    for (size_t b = 0; b < core.bodies.size(); ++b) {
      key.emplace_back(core.pieces[b].lower, core.pieces[b].upper, core.pieces[b].size, core.bodies[b].alignment);
    }
    auto [known, is_new] = known_.emplace(std::move(key), Placement{});
    if (is_new) {
      BoundedPlacement placed = *first_placement(core, bound_);
      if (core.bodies.size() > kManyBodies)
        placed = improve_shares(core, improver_, &known_, std::move(placed), effort);
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

  /// The valley before each peak, and that behind the last.
  bool place_valleys(Deadline* deadline, Placement* placement) {
    size_t next = 0;
    for (size_t v = 0; v <= peaks_.size(); ++v) {
      const int32_t end = v < peaks_.size() ? peaks_[v].lower : layout_.sections;
      std::vector<int32_t> bodies;
      for (; next < by_birth_.size() && piece(by_birth_[next]).lower < end; ++next) {
        const int32_t b = by_birth_[next];
        if (placement->positions[b] == kAnywhere) bodies.push_back(b);
      }
      if (bodies.empty()) continue;
      if (deadline->passed_after(kSweepBodyCost * static_cast<int64_t>(bodies.size()))) return false;
      if (!place_valley(v, bodies, deadline, placement)) return false;
    }
    return true;
  }

  bool place_valley(size_t v, const std::vector<int32_t>& bodies, Deadline* deadline, Placement* placement) {
    const Peak* const left = v > 0 ? &peaks_[v - 1] : nullptr;
    const Peak* const right = v < peaks_.size() ? &peaks_[v] : nullptr;
    const int32_t meeting = left == nullptr    ? 0
                            : right == nullptr ? layout_.sections
                                               : emptiest(left->reach, right->first);
    std::vector<Box> forward;
    std::vector<Box> backward;
    std::vector<int32_t> across;
    for (const int32_t b : bodies) {
      if (piece(b).upper <= meeting) {
        forward.push_back({piece(b).lower, piece(b).upper, b});
      } else if (piece(b).lower >= meeting) {
        backward.push_back({-piece(b).upper, -piece(b).lower, b});
      } else {
        across.push_back(b);
      }
    }
    std::vector<Box> core;
    if (left != nullptr) {
      for (const int32_t b : left->core) {
        if (piece(b).upper > left->upper) core.push_back({piece(b).lower, piece(b).upper, b});
      }
    }
    if (!sweep(core, std::move(forward), deadline, placement)) return false;
    core.clear();
    if (right != nullptr) {
      for (const int32_t b : right->core) {
        if (piece(b).lower < right->lower) core.push_back({-piece(b).upper, -piece(b).lower, b});
      }
    }
    if (!sweep(core, std::move(backward), deadline, placement)) return false;
    return place_across(across, bodies, left, right, deadline, placement);
  }

  /// The section of [lower, upper) with the smallest load; `lower` when there is none.
  int32_t emptiest(int32_t lower, int32_t upper) const {
    if (lower >= upper) return lower;
    return static_cast<int32_t>(std::min_element(loads_.begin() + lower, loads_.begin() + upper) - loads_.begin());
  }

  /// As sweep.h does, beside `core`, which is alive when it begins. False when the deadline has passed.
  bool sweep(const std::vector<Box>& core, std::vector<Box> boxes, Deadline* deadline, Placement* placement) const {
    using Death = std::pair<int32_t, int32_t>;  // when, and of which body
    std::priority_queue<Death, std::vector<Death>, std::greater<Death>> deaths;
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Box& box : core) {
      const int64_t position = placement->positions[box.body];
      taken.emplace_back(position, position + piece(box.body).size);
      deaths.emplace(box.upper, box.body);
    }
    FreeRuns free(std::move(taken));
    std::sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
      return std::make_tuple(a.lower, -piece(a.body).size, -a.upper, a.body) <
             std::make_tuple(b.lower, -piece(b.body).size, -b.upper, b.body);
    });
    for (const Box& box : boxes) {
      for (; !deaths.empty() && deaths.top().first <= box.lower; deaths.pop()) {
        const int32_t dead = deaths.top().second;
        free.give_back(placement->positions[dead], piece(dead).size);
      }
      placement->positions[box.body] = free.take(piece(box.body).size, layout_.bodies[box.body].alignment, 0);
      deaths.emplace(box.upper, box.body);
      if (deadline->passed_after(kSweepBodyCost)) return false;
    }
    return true;
  }

  /// The largest first, each into the tightest hole. False when there are too many, or the deadline has passed.
  bool place_across(std::vector<int32_t> across, const std::vector<int32_t>& bodies, const Peak* left,
                    const Peak* right, Deadline* deadline, Placement* placement) const {
    if (across.empty()) return true;
    int32_t first = layout_.sections;
    int32_t last = 0;
    for (const int32_t b : across) {
      first = std::min(first, piece(b).lower);
      last = std::max(last, piece(b).upper);
    }
    std::vector<int32_t> near;
    for (const std::vector<int32_t>* some : {&bodies, &left->core, &right->core}) {
      for (const int32_t b : *some) {
        if (piece(b).lower < last && first < piece(b).upper) near.push_back(b);
      }
    }
    if (static_cast<int64_t>(near.size() * across.size()) > kMostPairsAcross) return false;
    std::sort(across.begin(), across.end(), [&](int32_t a, int32_t b) {
      return piece(a).size != piece(b).size ? piece(a).size > piece(b).size : a < b;
    });
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const int32_t b : across) {
      taken.clear();
      for (const int32_t other : near) {
        const int64_t position = placement->positions[other];
        if (position == kAnywhere || piece(other).lower >= piece(b).upper || piece(b).lower >= piece(other).upper)
          continue;
        taken.emplace_back(position, position + piece(other).size);
      }
      std::sort(taken.begin(), taken.end());
      placement->positions[b] = tightest(taken, piece(b).size, layout_.bodies[b].alignment);
      if (deadline->passed_after(kSweepPairCost * static_cast<int64_t>(near.size()))) return false;
    }
    return true;
  }

  static int64_t tightest(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t size, int64_t alignment) {
    int64_t floor = 0;
    int64_t best = kAnywhere;
    int64_t least = kMaxBytes;
    for (const auto& [begin, end] : taken) {
      const int64_t position = align_up(floor, alignment);
      if (position + size <= begin && begin - floor < least) {
        least = begin - floor;
        best = position;
      }
      floor = std::max(floor, end);
    }
    return best != kAnywhere ? best : align_up(floor, alignment);
  }

  const Layout& layout_;
  const std::vector<int64_t> loads_;
  const int64_t bound_;
  const Improver improver_;
  std::vector<int32_t> by_birth_;
  std::vector<Peak> peaks_;
  KnownCores& known_;
};

/// Where more lies too high, most of the problem would be placed first.
bool is_repairable(const BoundedPlacement& best) {
  return best.placement.height - best.bound <= best.bound / kRepairable;
}

bool is_near(const BoundedPlacement& best) { return best.placement.height - best.bound <= best.bound / kNear; }

BoundedPlacement improve_shares(const Layout& layout, Improver improver, KnownCores* known, BoundedPlacement best,
                                Effort* effort) {
  FromPeaks planner(layout, best.bound, improver, known);
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
