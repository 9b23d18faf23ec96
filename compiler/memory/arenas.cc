#include "compiler/memory/arenas.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::memory {
namespace {

/// The order of arenas in a file.
bool comes_before(const Arena& a, const Arena& b) {
  return std::tie(a.device.type, a.device.index, a.holds_state) <
         std::tie(b.device.type, b.device.index, b.holds_state);
}

}  // namespace

int32_t ArenaTable::space(Device device, bool holds_state) {
  for (size_t i = 0; i < arenas_.size(); ++i) {
    if (arenas_[i].device == device && arenas_[i].holds_state == holds_state) return static_cast<int32_t>(i);
  }
  Arena arena;
  arena.device = device;
  arena.holds_state = holds_state;
  arena.alignment = (holds_state ? state_alignments_ : alignments_).of(device);
  arena.behind = behind_;
  arenas_.push_back(arena);
  return static_cast<int32_t>(arenas_.size() - 1);
}

SortedArenas ArenaTable::sorted() && {
  const auto is_host_state = [](const Arena& arena) { return arena.device.is_cpu() && arena.holds_state; };
  const bool host_state = std::any_of(arenas_.begin(), arenas_.end(), is_host_state);
  if (arenas_.empty() || host_state) space(Device(), false);
  std::vector<size_t> order(arenas_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return comes_before(arenas_[a], arenas_[b]); });

  SortedArenas sorted;
  sorted.moved.resize(arenas_.size());
  for (const size_t i : order) {
    sorted.moved[i] = static_cast<int32_t>(sorted.arenas.size());
    sorted.arenas.push_back(arenas_[i]);
  }
  return sorted;
}

}  // namespace berth::memory
