#include "compiler/memory/arenas.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace berth::memory {
namespace {

/// The order of arenas in a file.
auto rank(const Arena& arena) { return std::make_tuple(arena.device.type, arena.device.index, arena.pool); }

/// State comes after the device's own memory and before the pools.
bool comes_before(const Arena& a, const Arena& b) {
  if (a.device == b.device && a.pool < 0 && b.pool < 0) return !a.holds_state && b.holds_state;
  return rank(a) < rank(b);
}

}  // namespace

ArenaTable::ArenaTable(const Alignments& alignments, const std::vector<MemoryPool>& pools, int64_t behind)
    : alignments_(alignments), behind_(behind) {
  for (const MemoryPool& pool : pools) {
    const bool limited = pool.capacity != packing::kUnlimited;
    capacities_.push_back(limited ? std::max<int64_t>(pool.capacity - behind, 0) : packing::kUnlimited);
  }
}

int32_t ArenaTable::space(Device device, bool holds_state, int32_t pool) {
  for (size_t i = 0; i < arenas_.size(); ++i) {
    const Arena& arena = arenas_[i];
    if (arena.device == device && arena.holds_state == holds_state && arena.pool == pool)
      return static_cast<int32_t>(i);
  }
  const int64_t capacity = pool >= 0 ? capacities_[pool] : packing::kUnlimited;
  arenas_.push_back({device, holds_state, pool, alignments_.of(device), behind_, capacity});
  return static_cast<int32_t>(arenas_.size() - 1);
}

SortedArenas ArenaTable::sorted() && {
  const auto is_host_state = [](const Arena& arena) { return arena.device.is_cpu() && arena.holds_state; };
  const bool host_state = std::any_of(arenas_.begin(), arenas_.end(), is_host_state);
  if (arenas_.empty() || host_state) space(Device(), false, -1);
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
