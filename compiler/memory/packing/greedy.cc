#include "compiler/memory/packing/greedy.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/math.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/placed_by_life.h"
#include "compiler/memory/packing/placed_by_offset.h"
#include "compiler/memory/packing/plan_each_space.h"

namespace berth::packing {
namespace {

/// Nanoseconds, more or less, for the deadline: of a body, and of each that is alive with it.
constexpr int64_t kGreedyBodyCost = 300;
constexpr int64_t kPairCost = 20;

/// Positions strictly between the two are taken.
struct Forbidden {
  int64_t after;
  int64_t before;
};

bool earlier(const Forbidden& a, const Forbidden& b) { return a.after < b.after; }

/// The position for `body` beside what is forbidden to it, which is sorted.
int64_t find_place(const Body& body, const std::vector<Forbidden>& forbidden, Fit fit) {
  int64_t floor = body.lowest;  // no position below is free
  int64_t best = kAnywhere;
  int64_t best_rest = kMaxBytes;
  for (const Forbidden& range : forbidden) {
    const int64_t position = align_up(floor, body.alignment);
    const bool fits = position <= range.after;
    if (fits && fit == Fit::kFirst) return position;
    if (fits && range.after - floor < best_rest) {
      best_rest = range.after - floor;
      best = position;
      if (best_rest == 0) break;
    }
    floor = std::max(floor, range.before);
  }
  return best != kAnywhere ? best : align_up(floor, body.alignment);
}

/// What the keys are made of.
struct Measures {
  int64_t size = 0;
  double area = 0;
  int64_t life = 0;
  int32_t birth = 0;
  int32_t death = 0;
};

Measures measure(const Layout& layout, const Body& body) {
  Measures m;
  m.birth = layout.sections;
  for (int32_t p = body.begin; p < body.end; ++p) {
    const Piece& piece = layout.pieces[p];
    m.size += piece.size;
    m.life += piece.steps;
    m.area += static_cast<double>(piece.size) * static_cast<double>(piece.steps);
    m.birth = std::min(m.birth, piece.lower);
    m.death = std::max(m.death, piece.upper);
  }
  return m;
}

/// Smaller comes first.
struct Rank {
  double first = 0;
  double second = 0;
  int64_t size = 0;
  int64_t life = 0;
  int32_t birth = 0;
  int32_t body = 0;

  bool operator<(const Rank& other) const {
    if (first != other.first) return first < other.first;
    if (second != other.second) return second < other.second;
    if (size != other.size) return size > other.size;
    if (life != other.life) return life > other.life;
    if (birth != other.birth) return birth < other.birth;
    return body < other.body;
  }
};

Rank rank_of(const Measures& m, Key key, const std::vector<int64_t>& bytes, size_t body) {
  Rank rank;
  switch (key) {
    case Key::kSize: rank.first = -static_cast<double>(m.size); break;
    case Key::kArea: rank.first = -m.area; break;
    case Key::kLife: rank.first = -static_cast<double>(m.life); break;
    case Key::kLoad:
      rank.first = -static_cast<double>(bytes[body]);
      rank.second = m.birth;
      break;
    case Key::kNeighbours: rank.first = -static_cast<double>(bytes[body]); break;
    case Key::kBirth: rank.first = m.birth; break;
    case Key::kDeath: rank.first = -static_cast<double>(m.death); break;
    case Key::kGiven: rank.first = static_cast<double>(body); break;
  }
  rank.size = m.size;
  rank.life = m.life;
  rank.birth = m.birth;
  rank.body = static_cast<int32_t>(body);
  return rank;
}

bool is_free(int64_t position, const std::vector<Forbidden>& forbidden) {
  for (const Forbidden& range : forbidden) {
    if (range.after < position && position < range.before) return false;
  }
  return true;
}

/// What is forbidden to a body beside the placed pieces, sorted.
template <typename Placed>
void find_forbidden(const Layout& layout, const Body& body, Placed* placed, std::vector<Forbidden>* forbidden) {
  forbidden->clear();
  for (int32_t p = body.begin; p < body.end; ++p) {
    const Piece& mine = layout.pieces[p];
    placed->for_each(mine.lower, mine.upper, [&](int64_t begin, int64_t end) {
      forbidden->push_back({begin - mine.shift - mine.size, end - mine.shift});
    });
  }
  const bool sorted = Placed::kVisitsByOffset && body.end - body.begin == 1;
  if (!sorted) std::sort(forbidden->begin(), forbidden->end(), earlier);
}

/// `Placed`: PlacedByLife or PlacedByOffset, whichever is faster.
template <typename Placed>
std::optional<Placement> place_each(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                    Deadline* deadline) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  Placed placed(layout);
  std::vector<Forbidden> forbidden;
  for (const int32_t id : order) {
    const Body& body = layout.bodies[id];
    int64_t& position = placement.positions[id];
    find_forbidden(layout, body, &placed, &forbidden);
    position = body.fixed != kAnywhere ? body.fixed : find_place(body, forbidden, fit);
    if (body.fixed != kAnywhere && !is_free(position, forbidden)) return std::nullopt;
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& piece = layout.pieces[p];
      placement.height = std::max(placement.height, position + piece.shift + piece.size);
      placed.add(p, position + piece.shift);
    }
    if (placement.height >= below) return std::nullopt;
    if (deadline != nullptr &&
        deadline->passed_after(kGreedyBodyCost + kPairCost * static_cast<int64_t>(forbidden.size()))) {
      return std::nullopt;
    }
  }
  return placement;
}

struct StepEvent {
  int64_t time;
  bool birth;
  size_t buffer;
};

}  // namespace

std::vector<int32_t> order_by(const Layout& layout, Key key) {
  std::vector<int64_t> bytes;
  if (key == Key::kLoad) bytes = loads_touched(layout);
  if (key == Key::kNeighbours) bytes = neighbour_bytes(layout);
  std::vector<Rank> ranks;
  ranks.reserve(layout.bodies.size());
  for (size_t b = 0; b < layout.bodies.size(); ++b) {
    ranks.push_back(rank_of(measure(layout, layout.bodies[b]), key, bytes, b));
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<int32_t> order;
  order.reserve(ranks.size());
  for (const Rank& rank : ranks) order.push_back(rank.body);
  std::stable_partition(order.begin(), order.end(),
                        [&](int32_t body) { return layout.bodies[body].fixed != kAnywhere; });
  return order;
}

std::optional<Placement> place_in_order(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                        Deadline* deadline) {
  if (PlacedByOffset::is_faster(layout)) return place_each<PlacedByOffset>(layout, order, fit, below, deadline);
  return place_each<PlacedByLife>(layout, order, fit, below, deadline);
}

Status check_fixed(const Problem& problem) {
  std::vector<StepEvent> events;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.fixed == kAnywhere || buffer.size == 0) continue;
    events.push_back({buffer.lower, true, i});
    events.push_back({buffer.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const StepEvent& a, const StepEvent& b) {
    return a.time != b.time ? a.time < b.time : a.birth < b.birth;
  });
  std::vector<std::set<std::pair<int64_t, int64_t>>> alive(problem.spaces.size());  // bytes [first, second)
  for (const StepEvent& event : events) {
    const Buffer& buffer = problem.buffers[event.buffer];
    auto& bytes = alive[buffer.space];
    const std::pair<int64_t, int64_t> mine{buffer.fixed, buffer.fixed + buffer.size};
    if (!event.birth) {
      bytes.erase(mine);
      continue;
    }
    auto other = bytes.lower_bound(mine);
    if (other == bytes.end() || other->first >= mine.second) {
      if (other != bytes.begin() && std::prev(other)->second > mine.first) {
        --other;
      } else {
        bytes.insert(mine);
        continue;
      }
    }
    return Failure{Error::kInvalidArgument, "buffer " + std::to_string(event.buffer),
                   "its fixed offset " + std::to_string(buffer.fixed) +
                       " collides with another fixed buffer's bytes [" + std::to_string(other->first) + ", " +
                       std::to_string(other->second) + ")"};
  }
  return Done{};
}

Expected<Plan> plan_greedy(const Problem& problem, Key key, Fit fit) {
  BERTH_TRY(check(problem));
  BERTH_TRY(check_fixed(problem));
  return plan_each_space(problem, [&](const Layout& layout) {
    return *place_in_order(layout, order_by(layout, key), fit, kUnlimited, nullptr);
  });
}

}  // namespace berth::packing
