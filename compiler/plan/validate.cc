#include "compiler/plan/validate.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/math.h"

namespace berth::plan {
namespace {

Failure fault(size_t storage, std::string message) {
  return Failure{Error::kInternal, "storage " + std::to_string(storage), std::move(message)};
}

std::string range(int64_t begin, int64_t end) { return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")"; }

/// Merges that are taken, and what they change about each storage.
struct Merged {
  std::vector<std::vector<size_t>> partners;  // of each storage; empty when no merge is taken
  std::vector<int64_t> alignments;            // of each storage where a merge says it, else 0

  bool partner(size_t a, size_t b) const {
    if (partners.empty()) return false;
    if (partners[a].size() > partners[b].size()) std::swap(a, b);
    return std::find(partners[a].begin(), partners[a].end(), b) != partners[a].end();
  }
};

Status validate_merges(const Problem& problem, const Plan& plan, Merged* merged) {
  if (plan.merged.empty()) return Done{};
  if (plan.merged.size() != problem.merges.size()) {
    return Failure{Error::kInternal, "plan", "it decides another number of merges than the problem has"};
  }
  merged->partners.resize(problem.storages.size());
  merged->alignments.resize(problem.storages.size(), 0);
  std::map<int32_t, bool> groups;
  for (size_t i = 0; i < plan.merged.size(); ++i) {
    const Merge& merge = problem.merges[i];
    const auto wrong = [&](const char* message) {
      return Failure{Error::kInternal, "merge " + std::to_string(i), message};
    };
    const size_t from = static_cast<size_t>(merge.from);
    const size_t to = static_cast<size_t>(merge.to);
    if (from >= problem.storages.size() || to >= problem.storages.size()) return wrong("a storage does not exist");
    if (merge.all_or_none >= 0) {
      const bool first = groups.emplace(merge.all_or_none, plan.merged[i]).first->second;
      if (first != plan.merged[i]) return wrong("a part of its all-or-none group is taken and a part is not");
    }
    if (!plan.merged[i]) continue;
    if (problem.storages[from].space != problem.storages[to].space) return wrong("its storages are in two spaces");
    int64_t expected = 0;
    if (!checked_add(plan.offsets[to], merge.offset, &expected) || plan.offsets[from] != expected) {
      return wrong("it is taken but does not lie there");
    }
    merged->partners[from].push_back(to);
    merged->partners[to].push_back(from);
    merged->alignments[from] =
        std::max(merged->alignments[from], merge.alignment > 0 ? merge.alignment : problem.storages[from].alignment);
  }
  return Done{};
}

/// Each storage by itself.
Status validate_places(const Problem& problem, const Plan& plan, const Merged& merged) {
  std::vector<int64_t> heights(problem.spaces.size(), 0);
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    const int64_t offset = plan.offsets[i];
    int64_t end = 0;
    if (storage.space < 0 || static_cast<size_t>(storage.space) >= heights.size()) {
      return fault(i, "its space does not exist");
    }
    if (offset < 0 || storage.size < 0 || !checked_add(offset, storage.size, &end)) {
      return fault(i, "its offset " + std::to_string(offset) + " or its size is negative or overflows");
    }
    int64_t alignment = storage.alignment;
    if (!merged.alignments.empty() && merged.alignments[i] != 0) alignment = merged.alignments[i];
    if (alignment < 1 || offset % alignment != 0) {
      return fault(
          i, "its offset " + std::to_string(offset) + " is no multiple of its alignment " + std::to_string(alignment));
    }
    if (storage.fixed != kAnywhere && offset != storage.fixed) {
      return fault(i, "it lies at " + std::to_string(offset) + " but is fixed at " + std::to_string(storage.fixed));
    }
    if (storage.size > 0) {
      int64_t& height = heights[static_cast<size_t>(storage.space)];
      height = std::max(height, end);
    }
  }
  for (size_t s = 0; s < heights.size(); ++s) {
    const std::string place = "space " + std::to_string(s);
    if (plan.spaces[s].height != heights[s]) {
      return Failure{Error::kInternal, place,
                     "its storages take " + std::to_string(heights[s]) + " bytes but the plan says " +
                         std::to_string(plan.spaces[s].height)};
    }
    if (heights[s] > problem.spaces[s].capacity) {
      return Failure{Error::kInternal, place,
                     "its storages take " + std::to_string(heights[s]) + " bytes, over its capacity of " +
                         std::to_string(problem.spaces[s].capacity)};
    }
  }
  return Done{};
}

/// What is alive, sorted by offset: in blocks, so that an insertion moves few.
class ByOffset {
 public:
  using Entry = std::pair<int64_t, size_t>;  // offset, storage

  /// Where an entry is, or would be: before the entry `at` of a block, or at its end.
  struct Place {
    size_t block = 0;
    size_t at = 0;
  };

  Place find(const Entry& entry) const {
    Place place;
    if (blocks_.empty()) return place;
    place.block = block_of(entry);
    const Block& block = blocks_[place.block];
    place.at = static_cast<size_t>(std::lower_bound(block.begin(), block.end(), entry) - block.begin());
    return place;
  }

  void insert(const Place& place, const Entry& entry) {
    if (blocks_.empty()) blocks_.emplace_back();
    Block& block = blocks_[place.block];
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(place.at), entry);
    if (block.size() < kMost) return;
    const auto middle = block.begin() + kMost / 2;
    Block upper(middle, block.end());
    block.erase(middle, block.end());
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block) + 1, std::move(upper));
  }

  /// REQUIRES: it is there.
  void erase(const Entry& entry) {
    const Place place = find(entry);
    Block& block = blocks_[place.block];
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(place.at));
    if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block));
  }

  /// The storage before a place; -1 when there is none. An entry of no block but the first would be at its beginning.
  int64_t before(const Place& place) const {
    return place.at == 0 ? -1 : static_cast<int64_t>(blocks_[place.block][place.at - 1].second);
  }

  /// The first failure of visit(storage) for those from a place on that begin before `end`.
  template <typename Visit>
  Status for_each(Place place, int64_t end, const Visit& visit) const {
    for (; place.block < blocks_.size(); ++place.block, place.at = 0) {
      const Block& block = blocks_[place.block];
      for (; place.at < block.size(); ++place.at) {
        if (block[place.at].first >= end) return Done{};
        BERTH_TRY(visit(block[place.at].second));
      }
    }
    return Done{};
  }

 private:
  using Block = std::vector<Entry>;
  static constexpr size_t kMost = 256;

  /// The last block that begins at or below the entry, or the first.
  size_t block_of(const Entry& entry) const {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), entry,
                                        [](const Entry& e, const Block& block) { return e < block.front(); });
    return after == blocks_.begin() ? 0 : static_cast<size_t>(after - blocks_.begin()) - 1;
  }

  std::vector<Block> blocks_;  // none is empty
};

/// The numbers of storages with a life, by one of its ends.
std::vector<size_t> sorted_by(const Problem& problem, int64_t Storage::*end) {
  std::vector<std::pair<int64_t, size_t>> ends;
  ends.reserve(problem.storages.size());
  bool sorted = true;
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    if (storage.size == 0 || storage.lower >= storage.upper) continue;
    sorted &= ends.empty() || ends.back().first <= storage.*end;
    ends.emplace_back(storage.*end, i);
  }
  if (!sorted) std::sort(ends.begin(), ends.end());
  std::vector<size_t> ids;
  ids.reserve(ends.size());
  for (const auto& [time, id] : ends) ids.push_back(id);
  return ids;
}

/// Storages against each other.
class OverlapSweep {
 public:
  OverlapSweep(const Problem& problem, const Plan& plan, const Merged& merged)
      : problem_(problem), plan_(plan), merged_(merged) {
    alive_.resize(problem.spaces.size());
    is_alive_.resize(problem.storages.size(), false);
  }

  Status run() {
    const std::vector<size_t> deaths = sorted_by(problem_, &Storage::upper);
    size_t dead = 0;
    for (const size_t young : sorted_by(problem_, &Storage::lower)) {
      const Storage& storage = problem_.storages[young];
      for (; problem_.storages[deaths[dead]].upper <= storage.lower; ++dead) {
        const size_t old = deaths[dead];
        is_alive_[old] = false;
        alive_[static_cast<size_t>(problem_.storages[old].space)].erase({plan_.offsets[old], old});
      }
      ByOffset& alive = alive_[static_cast<size_t>(storage.space)];
      const ByOffset::Place place = alive.find({plan_.offsets[young], young});
      BERTH_TRY(compare_with_alive(alive, place, young));
      is_alive_[young] = true;
      alive.insert(place, {plan_.offsets[young], young});
    }
    return Done{};
  }

 private:
  Status compare_with_alive(const ByOffset& alive, const ByOffset::Place& place, size_t young) const {
    const auto against_young = [&](size_t old) { return compare(old, young); };
    BERTH_TRY(alive.for_each(place, end(young), against_young));
    const int64_t below = alive.before(place);
    if (below < 0) return Done{};
    BERTH_TRY(compare(static_cast<size_t>(below), young));
    // One that begins lower still and reaches the newcomer overlaps `below`, so it is a partner of it.
    if (merged_.partners.empty()) return Done{};
    for (const size_t partner : merged_.partners[static_cast<size_t>(below)]) {
      if (is_alive_[partner] && partner != young) BERTH_TRY(compare(partner, young));
    }
    return Done{};
  }

  int64_t end(size_t storage) const { return plan_.offsets[storage] + problem_.storages[storage].size; }

  /// `old` is alive when `young` is born.
  Status compare(size_t old, size_t young) const {
    if (plan_.offsets[old] >= end(young) || plan_.offsets[young] >= end(old)) return Done{};
    if (merged_.partner(old, young)) return Done{};
    return fault(young, "its bytes " + range(plan_.offsets[young], end(young)) + " overlap the bytes " +
                            range(plan_.offsets[old], end(old)) + " of storage " + std::to_string(old) +
                            ": both are alive in step " + std::to_string(problem_.storages[young].lower));
  }

  const Problem& problem_;
  const Plan& plan_;
  const Merged& merged_;
  std::vector<ByOffset> alive_;  // of each space: (offset, storage)
  std::vector<bool> is_alive_;
};

}  // namespace

Status validate(const Problem& problem, const Plan& plan) {
  if (plan.offsets.size() != problem.storages.size() || plan.spaces.size() != problem.spaces.size()) {
    return Failure{Error::kInternal, "plan", "it has another number of storages or spaces than the problem"};
  }
  Merged merged;
  BERTH_TRY(validate_merges(problem, plan, &merged));
  BERTH_TRY(validate_places(problem, plan, merged));
  return OverlapSweep(problem, plan, merged).run();
}

}  // namespace berth::plan
