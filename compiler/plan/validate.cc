#include "compiler/plan/validate.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include "base/math.h"

namespace berth::plan {
namespace {

Failure fault(size_t storage, std::string message) {
  return Failure{Error::kInternal, "storage " + std::to_string(storage), std::move(message)};
}

/// Alignments are powers of two where the problem is well; then no division is needed.
bool is_multiple(int64_t offset, int64_t alignment) {
  if (is_power_of_two(static_cast<uint64_t>(alignment))) return (offset & (alignment - 1)) == 0;
  return offset % alignment == 0;
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
    if (alignment < 1 || !is_multiple(offset, alignment)) {
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

/// Bytes of a storage that is alive.
struct Entry {
  int64_t begin;
  int64_t end;
  size_t storage;
};

/// What is alive, sorted by where it begins: in blocks, so that an insertion moves few, their beginnings by themselves,
/// so that a search reads few.
class ByOffset {
 public:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  /// Before the storage `at` of a block, or at its end.
  struct Place {
    size_t block = 0;
    size_t at = 0;
  };

  /// Before the first storage that does not begin below `offset`. What is before the place is in the same block.
  Place find(int64_t offset) const {
    if (blocks_.empty()) return {};
    const size_t after = count_below(fronts_.data(), blocks_.size(), offset);
    const size_t block = after == 0 ? 0 : after - 1;
    return {block, count_below(blocks_[block]->begins, blocks_[block]->size, offset)};
  }

  void insert(const Place& place, int64_t begin, size_t storage) {
    if (blocks_.empty()) add_block(0);
    Block& block = *blocks_[place.block];
    move(&block, place.at, place.at + 1);
    block.begins[place.at] = begin;
    block.storages[place.at] = storage;
    fronts_[place.block] = block.begins[0];
    if (++block.size >= (blocks_.size() < kManyBlocks ? kFew : kMost)) split(place.block);
  }

  /// REQUIRES: it is there.
  void erase(int64_t begin, size_t storage) {
    Place place = find(begin);
    while (place.at == blocks_[place.block]->size || blocks_[place.block]->storages[place.at] != storage) {
      const bool last = place.at == blocks_[place.block]->size;
      place = last ? Place{place.block + 1, 0} : Place{place.block, place.at + 1};
    }
    Block& block = *blocks_[place.block];
    move(&block, place.at + 1, place.at);
    block.begins[--block.size] = kNothing;
    if (block.size > 0) {
      fronts_[place.block] = block.begins[0];
    } else {
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(place.block));
      fronts_.erase(fronts_.begin() + static_cast<std::ptrdiff_t>(place.block));
    }
  }

  /// The storage before a place, or kNone.
  size_t before(const Place& place) const {
    return place.at == 0 ? kNone : blocks_[place.block]->storages[place.at - 1];
  }

  /// The first storage from a place on that begins before `end` and for which wrong(storage) holds, or kNone.
  template <typename Wrong>
  size_t find_if(Place place, int64_t end, const Wrong& wrong) const {
    for (; place.block < blocks_.size(); ++place.block, place.at = 0) {
      const Block& block = *blocks_[place.block];
      for (; place.at < block.size; ++place.at) {
        if (block.begins[place.at] >= end) return kNone;
        if (wrong(block.storages[place.at])) return block.storages[place.at];
      }
    }
    return kNone;
  }

 private:
  /// Numbers that are compared one and all, which takes no longer than to guess wrong once where to stop.
  static constexpr size_t kFew = 16;
  /// As long as there are few blocks, they are small.
  static constexpr size_t kManyBlocks = 256;
  static constexpr size_t kMost = 128;
  /// Stands behind the last of a list of numbers, kFew times: no storage that has bytes begins there.
  static constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

  struct Block {
    size_t size = 0;
    int64_t begins[kMost + kFew];
    size_t storages[kMost];

    Block() { std::fill(std::begin(begins), std::end(begins), kNothing); }
  };

  /// How many of the sorted numbers, behind which there is kNothing, are below `offset`: in which sixteenth of them it
  /// lies, of that, and so on. Without branches that depend on them: nobody could guess these.
  static size_t count_below(const int64_t* numbers, size_t count, int64_t offset) {
    const int64_t* base = numbers;
    while (count > kFew) {
      const size_t part = (count + kFew - 1) / kFew;
      size_t below = 0;
      for (size_t i = 1; i < kFew; ++i) below += base[i * part - 1] < offset ? 1 : 0;
      base += below * part;
      count = std::min(part, count - below * part);
    }
    int64_t below = base - numbers;
    for (size_t i = 0; i < kFew; ++i) below += base[i] < offset ? 1 : 0;
    return static_cast<size_t>(below);
  }

  /// Moves what is behind `from` to where `to` is, by one place; what is behind that too, so that the number of bytes
  /// seldom changes.
  static void move(Block* block, size_t from, size_t to) {
    const size_t count = (block->size < kFew ? kFew : kMost) - std::max(from, to);
    std::memmove(block->begins + to, block->begins + from, count * sizeof(int64_t));
    std::memmove(block->storages + to, block->storages + from, count * sizeof(size_t));
  }

  void add_block(size_t at) {
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at), std::make_unique<Block>());
    fronts_.insert(fronts_.begin() + static_cast<std::ptrdiff_t>(at), 0);
  }

  void split(size_t at) {
    add_block(at + 1);
    Block& lower = *blocks_[at];
    Block& upper = *blocks_[at + 1];
    upper.size = lower.size / 2;
    lower.size -= upper.size;
    std::copy_n(lower.begins + lower.size, upper.size, upper.begins);
    std::copy_n(lower.storages + lower.size, upper.size, upper.storages);
    std::fill_n(lower.begins + lower.size, upper.size, kNothing);
    fronts_[at + 1] = upper.begins[0];
  }

  std::vector<std::unique_ptr<Block>> blocks_;                          // none is empty
  std::vector<int64_t> fronts_ = std::vector<int64_t>(kFew, kNothing);  // where each begins, and kNothing
};

/// As many counts as there are storages are affordable, and some more.
constexpr uint64_t kCountsPerStorage = 4;

/// Sorts by time, equal ones as they come. times[i] is that of storages[i], in [first, first + range].
void sort_by_time(const std::vector<int64_t>& times, int64_t first, uint64_t range, std::vector<uint32_t>* storages) {
  std::vector<uint32_t> sorted(storages->size());
  if (range > kCountsPerStorage * storages->size()) {
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
    for (uint32_t& item : sorted) item = (*storages)[item];
  } else {
    std::vector<uint32_t> places(static_cast<size_t>(range) + 2, 0);
    for (const int64_t time : times) ++places[static_cast<size_t>(time - first) + 1];
    for (size_t t = 1; t < places.size(); ++t) places[t] += places[t - 1];
    for (size_t i = 0; i < times.size(); ++i) sorted[places[static_cast<size_t>(times[i] - first)]++] = (*storages)[i];
  }
  *storages = std::move(sorted);
}

/// The storages with a life, by one of its ends.
std::vector<uint32_t> sorted_by(const Problem& problem, int64_t Storage::*end) {
  std::vector<uint32_t> storages;
  std::vector<int64_t> times;
  storages.reserve(problem.storages.size());
  times.reserve(problem.storages.size());
  bool sorted = true;
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    const Storage& storage = problem.storages[i];
    if (storage.size == 0 || storage.lower >= storage.upper) continue;
    const int64_t time = storage.*end;
    sorted &= time >= last;
    first = std::min(first, time);
    last = std::max(last, time);
    storages.push_back(static_cast<uint32_t>(i));
    times.push_back(time);
  }
  if (!sorted) sort_by_time(times, first, static_cast<uint64_t>(last) - static_cast<uint64_t>(first), &storages);
  return storages;
}

/// Storages against each other.
class OverlapSweep {
 public:
  OverlapSweep(const Problem& problem, const Plan& plan, const Merged& merged)
      : problem_(problem), plan_(plan), merged_(merged) {
    alive_.resize(problem.spaces.size());
    if (!merged.partners.empty()) is_alive_.resize(problem.storages.size(), false);
  }

  Status run() {
    const std::vector<uint32_t> deaths = sorted_by(problem_, &Storage::upper);
    const std::vector<uint32_t> births = sorted_by(problem_, &Storage::lower);
    size_t dead = 0;
    for (size_t born = 0; born < births.size(); ++born) {
      bring_near(births, born + kAhead);
      const Storage& storage = problem_.storages[births[born]];
      for (; problem_.storages[deaths[dead]].upper <= storage.lower; ++dead) {
        bring_near(deaths, dead + kAhead);
        bury(deaths[dead]);
      }
      ByOffset& alive = alive_[static_cast<size_t>(storage.space)];
      const Entry young = entry(births[born]);
      const ByOffset::Place place = alive.find(young.begin);
      BERTH_TRY(compare_with_alive(alive, place, young));
      if (!merged_.partners.empty()) is_alive_[young.storage] = true;
      alive.insert(place, young.begin, young.storage);
    }
    return Done{};
  }

 private:
  /// Storages that are on their way from memory.
  static constexpr size_t kAhead = 8;

  void bring_near(const std::vector<uint32_t>& storages, size_t next) const {
    if (next >= storages.size()) return;
    __builtin_prefetch(&plan_.offsets[storages[next]]);
    __builtin_prefetch(&problem_.storages[storages[next]]);
  }

  Entry entry(size_t storage) const {
    const int64_t begin = plan_.offsets[storage];
    return {begin, begin + problem_.storages[storage].size, storage};
  }

  void bury(size_t storage) {
    if (!merged_.partners.empty()) is_alive_[storage] = false;
    alive_[static_cast<size_t>(problem_.storages[storage].space)].erase(plan_.offsets[storage], storage);
  }

  Status compare_with_alive(const ByOffset& alive, const ByOffset::Place& place, const Entry& young) const {
    const auto wrong = [&](size_t old) { return collide(entry(old), young); };
    const size_t above = alive.find_if(place, young.end, wrong);
    if (above != ByOffset::kNone) return overlap(entry(above), young);
    const size_t below = alive.before(place);
    if (below == ByOffset::kNone) return Done{};
    if (wrong(below)) return overlap(entry(below), young);
    // One that begins lower still and reaches the newcomer overlaps `below`, so it is a partner of it.
    if (merged_.partners.empty()) return Done{};
    for (const size_t partner : merged_.partners[below]) {
      if (is_alive_[partner] && partner != young.storage && wrong(partner)) return overlap(entry(partner), young);
    }
    return Done{};
  }

  bool collide(const Entry& old, const Entry& young) const {
    return old.begin < young.end && young.begin < old.end && !merged_.partner(old.storage, young.storage);
  }

  /// `old` is alive when `young` is born.
  Failure overlap(const Entry& old, const Entry& young) const {
    return fault(young.storage, "its bytes " + range(young.begin, young.end) + " overlap the bytes " +
                                    range(old.begin, old.end) + " of storage " + std::to_string(old.storage) +
                                    ": both are alive in step " +
                                    std::to_string(problem_.storages[young.storage].lower));
  }

  const Problem& problem_;
  const Plan& plan_;
  const Merged& merged_;
  std::vector<ByOffset> alive_;  // of each space
  std::vector<bool> is_alive_;   // of each storage, where merges are taken
};

/// A bound that a plan goes below bounds nothing.
Status validate_bounds(const Plan& plan) {
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    const SpaceUse& use = plan.spaces[s];
    if (use.lower_bound <= use.height) continue;
    return Failure{Error::kInternal, "space " + std::to_string(s),
                   "its storages take " + std::to_string(use.height) + " bytes, fewer than its lower bound of " +
                       std::to_string(use.lower_bound)};
  }
  return Done{};
}

}  // namespace

Status validate(const Problem& problem, const Plan& plan) {
  if (plan.offsets.size() != problem.storages.size() || plan.spaces.size() != problem.spaces.size()) {
    return Failure{Error::kInternal, "plan", "it has another number of storages or spaces than the problem"};
  }
  if (problem.storages.size() > std::numeric_limits<uint32_t>::max()) {
    return Failure{Error::kInternal, "plan", "it has more than 2^32 storages"};
  }
  Merged merged;
  BERTH_TRY(validate_merges(problem, plan, &merged));
  BERTH_TRY(validate_places(problem, plan, merged));
  BERTH_TRY(OverlapSweep(problem, plan, merged).run());
  return validate_bounds(plan);
}

}  // namespace berth::plan
