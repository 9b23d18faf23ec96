#include "compiler/emit/arena_table.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::emit {
namespace {

/// The order of arenas in a file.
auto rank(const Arena& arena) { return std::make_tuple(arena.device.type, arena.device.index, arena.pool); }

/// State comes after the device's own memory and before the pools.
bool comes_before(const Arena& a, const Arena& b) {
  if (a.device == b.device && a.pool < 0 && b.pool < 0) return !a.holds_state && b.holds_state;
  return rank(a) < rank(b);
}

}  // namespace

int32_t ArenaTable::space(Device device, bool holds_state, int32_t pool) {
  for (size_t i = 0; i < arenas_.size(); ++i) {
    const Arena& arena = arenas_[i];
    if (arena.device == device && arena.holds_state == holds_state && arena.pool == pool)
      return static_cast<int32_t>(i);
  }
  arenas_.push_back({device, holds_state, pool, alignments_.of(device), behind_});
  return static_cast<int32_t>(arenas_.size() - 1);
}

std::vector<Arena> ArenaTable::finish(plan::Problem* problem) && {
  const auto is_host_state = [](const Arena& arena) { return arena.device.is_cpu() && arena.holds_state; };
  const bool host_state = std::any_of(arenas_.begin(), arenas_.end(), is_host_state);
  if (arenas_.empty() || host_state) space(Device(), false, -1);
  std::vector<size_t> order(arenas_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return comes_before(arenas_[a], arenas_[b]); });

  std::vector<Arena> sorted;
  std::vector<int32_t> moved(arenas_.size());
  problem->spaces.clear();
  for (const size_t i : order) {
    moved[i] = static_cast<int32_t>(sorted.size());
    sorted.push_back(arenas_[i]);
    plan::Space space;
    const int64_t capacity =
        arenas_[i].pool >= 0 ? pools_[static_cast<size_t>(arenas_[i].pool)].capacity : plan::kUnlimited;
    if (capacity != plan::kUnlimited) space.capacity = std::max<int64_t>(capacity - behind_, 0);
    problem->spaces.push_back(space);
  }
  for (plan::Storage& storage : problem->storages) storage.space = moved[static_cast<size_t>(storage.space)];
  return sorted;
}

}  // namespace berth::emit
