#include "compiler/memory/packing/sections.h"

#include <algorithm>
#include <limits>

namespace berth::packing {

Sections::Sections(const std::vector<StepPiece>& all) {
  if (all.empty()) return;
  first_ = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const StepPiece& piece : all) {
    first_ = std::min(first_, piece.lower);
    last = std::max(last, piece.upper);
  }
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(first_);
  if (range <= 4 * all.size() + 64) {
    number_by_table(all, range);
  } else {
    number_by_sorting(all);
  }
}

int32_t Sections::lower(const StepPiece& piece) const {
  if (!table_.empty()) return table_[piece.lower - first_];
  return static_cast<int32_t>(std::upper_bound(starts_.begin(), starts_.end(), piece.lower) - starts_.begin()) - 1;
}
int32_t Sections::upper(const StepPiece& piece) const {
  if (!table_.empty()) return table_[piece.upper - first_ - 1] + 1;
  return static_cast<int32_t>(std::lower_bound(starts_.begin(), starts_.end(), piece.upper) - starts_.begin());
}

void Sections::number_by_table(const std::vector<StepPiece>& all, size_t range) {
  enum : uint8_t { kBirth = 1, kDeath = 2 };
  std::vector<uint8_t> events(range + 1, 0);
  for (const StepPiece& piece : all) {
    events[piece.lower - first_] |= kBirth;
    events[piece.upper - first_] |= kDeath;
  }
  table_.resize(range + 1);
  bool dying = true;
  for (size_t t = 0; t <= range; ++t) {
    dying |= (events[t] & kDeath) != 0;
    if (dying && (events[t] & kBirth) != 0) {
      ++count_;
      dying = false;
    }
    table_[t] = count_ - 1;
  }
}

void Sections::number_by_sorting(const std::vector<StepPiece>& all) {
  std::vector<int64_t> births;
  std::vector<int64_t> deaths;
  for (const StepPiece& piece : all) {
    births.push_back(piece.lower);
    deaths.push_back(piece.upper);
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  size_t dead = 0;
  bool dying = true;
  for (const int64_t birth : births) {
    for (; deaths[dead] <= birth; ++dead) dying = true;
    if (dying) starts_.push_back(birth);
    dying = false;
  }
  count_ = static_cast<int32_t>(starts_.size());
}

}  // namespace berth::packing
