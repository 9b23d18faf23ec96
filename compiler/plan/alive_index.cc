#include "compiler/plan/alive_index.h"

#include <numeric>

namespace berth::plan {

AliveIndex::AliveIndex(const Problem& problem) : problem_(problem) {
  const std::vector<Storage>& storages = problem.storages;
  ids_.resize(storages.size());
  std::iota(ids_.begin(), ids_.end(), 0);
  std::sort(ids_.begin(), ids_.end(), [&](int32_t a, int32_t b) {
    const int64_t birth_a = storages[static_cast<size_t>(a)].lower;
    const int64_t birth_b = storages[static_cast<size_t>(b)].lower;
    return birth_a != birth_b ? birth_a < birth_b : a < b;
  });
  positions_.resize(ids_.size());
  births_.resize(ids_.size());
  for (size_t position = 0; position < ids_.size(); ++position) {
    const size_t id = static_cast<size_t>(ids_[position]);
    positions_[id] = position;
    births_[position] = storages[id].lower;
  }
  while (leaves_ < ids_.size()) leaves_ *= 2;
  latest_death_.assign(2 * leaves_, kNever);
}

void AliveIndex::add(int32_t id) {
  const int64_t death = problem_.storages[static_cast<size_t>(id)].upper;
  for (size_t node = leaves_ + positions_[static_cast<size_t>(id)]; node > 0; node /= 2) {
    latest_death_[node] = std::max(latest_death_[node], death);
  }
}

}  // namespace berth::plan
