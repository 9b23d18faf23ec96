#include "compiler/memory/packing/order_by.h"

#include <algorithm>

#include "compiler/memory/packing/load.h"

namespace berth::packing {
namespace {

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

}  // namespace berth::packing
