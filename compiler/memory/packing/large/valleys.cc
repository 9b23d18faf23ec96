#include "compiler/memory/packing/large/valleys.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/math.h"
#include "compiler/memory/packing/free_list.h"

namespace berth::packing {
namespace {

/// Most pairs that may be looked at for the bodies that live across the ends of the sweeps of one valley.
constexpr int64_t kMostPairsAcross = 50'000'000;

/// Nanoseconds, more or less, for the deadline: of a body in a sweep, and of a pair across.
constexpr int64_t kSweepBodyCost = 300;
constexpr int64_t kSweepPairCost = 5;

/// A body in a sweep, whose time may run backward.
struct SweptBody {
  int32_t lower;
  int32_t upper;
  int32_t body;
};

class ValleyPlacer {
 public:
  ValleyPlacer(const Layout& layout, const std::vector<int64_t>& loads, const std::vector<Peak>& peaks,
               Deadline* deadline, Placement* placement)
      : layout_(layout), loads_(loads), peaks_(peaks), deadline_(deadline), placement_(placement) {}

  bool place_all(const std::vector<int32_t>& by_birth) {
    size_t next = 0;
    for (size_t v = 0; v <= peaks_.size(); ++v) {
      const int32_t end = v < peaks_.size() ? peaks_[v].lower : layout_.sections;
      std::vector<int32_t> bodies;
      for (; next < by_birth.size() && piece(by_birth[next]).lower < end; ++next) {
        if (placement_->positions[by_birth[next]] == kAnywhere) bodies.push_back(by_birth[next]);
      }
      if (bodies.empty()) continue;
      if (deadline_->passed_after(kSweepBodyCost * static_cast<int64_t>(bodies.size()))) return false;
      if (!place_valley(v, bodies)) return false;
    }
    return true;
  }

 private:
  const Piece& piece(int32_t body) const { return layout_.pieces[body]; }
  SweptBody forward(int32_t body) const { return {piece(body).lower, piece(body).upper, body}; }
  SweptBody backward(int32_t body) const { return {-piece(body).upper, -piece(body).lower, body}; }

  bool place_valley(size_t v, const std::vector<int32_t>& bodies) {
    const Peak* const left = v > 0 ? &peaks_[v - 1] : nullptr;
    const Peak* const right = v < peaks_.size() ? &peaks_[v] : nullptr;
    const int32_t meeting = left == nullptr    ? 0
                            : right == nullptr ? layout_.sections
                                               : emptiest(left->reach, right->first);
    std::vector<SweptBody> before;
    std::vector<SweptBody> after;
    std::vector<int32_t> across;
    for (const int32_t b : bodies) {
      if (piece(b).upper <= meeting) {
        before.push_back(forward(b));
      } else if (piece(b).lower >= meeting) {
        after.push_back(backward(b));
      } else {
        across.push_back(b);
      }
    }
    std::vector<SweptBody> core;
    if (left != nullptr) {
      for (const int32_t b : left->core) {
        if (piece(b).upper > left->upper) core.push_back(forward(b));
      }
    }
    if (!sweep(core, std::move(before))) return false;
    core.clear();
    if (right != nullptr) {
      for (const int32_t b : right->core) {
        if (piece(b).lower < right->lower) core.push_back(backward(b));
      }
    }
    if (!sweep(core, std::move(after))) return false;
    return across.empty() || place_across(across, bodies_near(across, bodies, *left, *right));
  }

  /// The section of [lower, upper) with the smallest load; `lower` when there is none.
  int32_t emptiest(int32_t lower, int32_t upper) const {
    if (lower >= upper) return lower;
    return static_cast<int32_t>(std::min_element(loads_.begin() + lower, loads_.begin() + upper) - loads_.begin());
  }

  /// As sweep.h does, beside `core`, which is alive when it begins. False when the deadline has passed.
  bool sweep(const std::vector<SweptBody>& core, std::vector<SweptBody> bodies) {
    using Death = std::pair<int32_t, int32_t>;  // when, and of which body
    std::priority_queue<Death, std::vector<Death>, std::greater<Death>> deaths;
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const SweptBody& swept : core) {
      const int64_t position = placement_->positions[swept.body];
      taken.emplace_back(position, position + piece(swept.body).size);
      deaths.emplace(swept.upper, swept.body);
    }
    FreeList free(std::move(taken));
    std::sort(bodies.begin(), bodies.end(), [&](const SweptBody& a, const SweptBody& b) {
      return std::make_tuple(a.lower, -piece(a.body).size, -a.upper, a.body) <
             std::make_tuple(b.lower, -piece(b.body).size, -b.upper, b.body);
    });
    for (const SweptBody& swept : bodies) {
      for (; !deaths.empty() && deaths.top().first <= swept.lower; deaths.pop()) {
        const int32_t dead = deaths.top().second;
        free.give_back(placement_->positions[dead], piece(dead).size);
      }
      placement_->positions[swept.body] = free.take(piece(swept.body).size, layout_.bodies[swept.body].alignment, 0);
      deaths.emplace(swept.upper, swept.body);
      if (deadline_->passed_after(kSweepBodyCost)) return false;
    }
    return true;
  }

  /// The bodies of a valley and of the cores beside it that live while one of `across` may.
  std::vector<int32_t> bodies_near(const std::vector<int32_t>& across, const std::vector<int32_t>& bodies,
                                   const Peak& left, const Peak& right) const {
    int32_t first = layout_.sections;
    int32_t last = 0;
    for (const int32_t b : across) {
      first = std::min(first, piece(b).lower);
      last = std::max(last, piece(b).upper);
    }
    std::vector<int32_t> near;
    for (const std::vector<int32_t>* some : {&bodies, &left.core, &right.core}) {
      for (const int32_t b : *some) {
        if (piece(b).lower < last && first < piece(b).upper) near.push_back(b);
      }
    }
    return near;
  }

  /// The largest first, each into the tightest hole. False when there are too many, or the deadline has passed.
  bool place_across(std::vector<int32_t> across, const std::vector<int32_t>& near) {
    if (static_cast<int64_t>(near.size() * across.size()) > kMostPairsAcross) return false;
    std::sort(across.begin(), across.end(), [&](int32_t a, int32_t b) {
      return piece(a).size != piece(b).size ? piece(a).size > piece(b).size : a < b;
    });
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const int32_t b : across) {
      taken.clear();
      for (const int32_t other : near) {
        const int64_t position = placement_->positions[other];
        const bool meet = piece(other).lower < piece(b).upper && piece(b).lower < piece(other).upper;
        if (position != kAnywhere && meet) taken.emplace_back(position, position + piece(other).size);
      }
      std::sort(taken.begin(), taken.end());
      placement_->positions[b] = tightest(taken, piece(b).size, layout_.bodies[b].alignment);
      if (deadline_->passed_after(kSweepPairCost * static_cast<int64_t>(near.size()))) return false;
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
  const std::vector<int64_t>& loads_;
  const std::vector<Peak>& peaks_;
  Deadline* const deadline_;
  Placement* const placement_;
};

}  // namespace

bool place_valleys(const Layout& layout, const std::vector<int64_t>& loads, const std::vector<int32_t>& by_birth,
                   const std::vector<Peak>& peaks, Deadline* deadline, Placement* placement) {
  return ValleyPlacer(layout, loads, peaks, deadline, placement).place_all(by_birth);
}

}  // namespace berth::packing
