#include "compiler/memory/packing/fill_at_once.h"

#include <algorithm>
#include <utility>

#include "base/math.h"

namespace berth::packing {
namespace {

/// The bodies of one bank, as they come.
class OpenBank {
 public:
  OpenBank(const Layout& layout, int64_t capacity) : layout_(layout), capacity_(capacity) {}

  /// The lowest position for the body; -1 when no hole holds it.
  int64_t lowest(int32_t id) const {
    const Body& body = layout_.bodies[id];
    // Positions from `first` to before `second` collide.
    std::vector<std::pair<int64_t, int64_t>> taken;
    int64_t extent = 0;
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& mine = layout_.pieces[p];
      extent = std::max(extent, mine.shift + mine.size);
      for (const auto& [other, position] : placed_) {
        if (mine.lower >= other->upper || other->lower >= mine.upper) continue;
        const int64_t bottom = position + other->shift;
        taken.emplace_back(bottom - mine.size - mine.shift + 1, bottom + other->size - mine.shift);
      }
    }
    std::sort(taken.begin(), taken.end());
    int64_t position = body.lowest;
    for (const auto& [first, second] : taken) {
      if (position < first || position >= second) continue;
      position = align_up(second, body.alignment);
    }
    return position <= capacity_ - extent ? position : -1;
  }

  void put(int32_t id, int64_t position) {
    const Body& body = layout_.bodies[id];
    for (int32_t p = body.begin; p < body.end; ++p) placed_.emplace_back(&layout_.pieces[p], position);
  }

 private:
  const Layout& layout_;
  const int64_t capacity_;
  std::vector<std::pair<const Piece*, int64_t>> placed_;  // with the positions of their bodies
};

}  // namespace

std::optional<Filling> fill_at_once(const BankBodies& bodies, const std::vector<Bank>& banks,
                                    const std::vector<int32_t>& order) {
  std::vector<OpenBank> open;
  for (const Bank& bank : banks) open.emplace_back(bodies.layout, bank.capacity);
  Filling filling;
  filling.banks.assign(order.size(), -1);
  filling.positions.assign(order.size(), 0);
  for (const int32_t body : order) {
    for (size_t k = 0; k < banks.size() && filling.banks[body] < 0; ++k) {
      if (!may_lie_in(banks, k, bodies.pins[body])) continue;
      const int64_t position = open[k].lowest(body);
      if (position < 0) continue;
      open[k].put(body, position);
      filling.banks[body] = static_cast<int32_t>(k);
      filling.positions[body] = position;
      filling.cost += bodies.traffic[body] * banks[k].cost;
    }
    if (filling.banks[body] < 0) return std::nullopt;
  }
  return filling;
}

}  // namespace berth::packing
