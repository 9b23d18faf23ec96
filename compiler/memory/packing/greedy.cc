#include "compiler/memory/packing/greedy.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/math.h"
#include "compiler/memory/packing/alive_index.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/placed_rows.h"
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

/// What is forbidden to a body, sorted: of the pieces that are alive with it, which are sorted then.
class AmongAlive {
 public:
  explicit AmongAlive(const Layout& layout) : layout_(layout), placed_(layout), begins_(layout.pieces.size()) {}

  void find(const Body& body, std::vector<Forbidden>* forbidden) const {
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& mine = layout_.pieces[p];
      placed_.for_each(mine.lower, mine.upper, [&](int32_t q) {
        const int64_t begin = begins_[q];
        const int64_t end = begin + layout_.pieces[q].size;
        forbidden->push_back({begin - mine.shift - mine.size, end - mine.shift});
      });
    }
    std::sort(forbidden->begin(), forbidden->end(), earlier);
  }

  void add(int32_t piece, int64_t begin) {
    begins_[piece] = begin;
    placed_.add(piece);
  }

 private:
  const Layout& layout_;
  AliveIndex placed_;
  std::vector<int64_t> begins_;  // of each piece
};

/// The same of all that is placed, which stays sorted.
class AmongRows {
 public:
  explicit AmongRows(const Layout& layout) : layout_(layout) {}

  void find(const Body& body, std::vector<Forbidden>* forbidden) {
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& mine = layout_.pieces[p];
      rows_.for_each(mine.lower, mine.upper, [&](int64_t begin, int64_t end) {
        forbidden->push_back({begin - mine.shift - mine.size, end - mine.shift});
      });
    }
    if (body.end - body.begin > 1) std::sort(forbidden->begin(), forbidden->end(), earlier);
  }

  void add(int32_t piece, int64_t begin) { rows_.add(layout_.pieces[piece], begin); }

 private:
  const Layout& layout_;
  PlacedRows rows_;
};

template <typename Among>
std::optional<Placement> place_each(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                    Deadline* deadline) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  Among placed(layout);
  std::vector<Forbidden> forbidden;
  for (const int32_t id : order) {
    const Body& body = layout.bodies[id];
    int64_t& position = placement.positions[id];
    forbidden.clear();
    placed.find(body, &forbidden);
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
  if (PlacedRows::are_faster(layout)) return place_each<AmongRows>(layout, order, fit, below, deadline);
  return place_each<AmongAlive>(layout, order, fit, below, deadline);
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
