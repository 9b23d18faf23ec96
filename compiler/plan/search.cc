#include "compiler/plan/search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "compiler/plan/search_ranks.h"

namespace berth::plan {
namespace {

/// Heights below these fit in 16 and in 32 bits, with room for a sum of two. Narrow ones are faster: a machine adds
/// more of them at once.
constexpr int64_t kSmall = int64_t{1} << 14;
constexpr int64_t kMiddling = int64_t{1} << 30;
/// How often the bounds of the items of a new node are raised by each other, at most.
constexpr int kRounds = 2;

/// A part at a node: its items still to be placed, in the order of their ranks.
template <typename Height>
struct Frame {
  size_t count = 0;
  Height last = 0;  // no item is placed below this any more
  std::vector<int32_t> ids;
  std::vector<Height> low;        // the lowest place above what is placed
  std::vector<Height> early;      // no layout of the subtree has the item lower; at least `low`
  std::vector<uint8_t> passed;    // it is not at `low`
  std::vector<int32_t> support;   // of a passed item: the id of one whose end was `early` or higher, or -1
  std::vector<int32_t> by_early;  // indices, the largest `early` first
  std::vector<int16_t> crossing;  // of each boundary (before section s): how many items cross it
  std::vector<Height> rest;       // of each section: the sum of the sizes
  int32_t lower = 0;              // its sections are [lower, upper)
  int32_t upper = 0;
  std::vector<Height> ends;        // `early` and the size
  std::vector<int16_t> begins_at;  // section
  std::vector<int16_t> ends_at;    // section
  std::vector<int32_t> candidates;

  void reserve(size_t items, size_t sections) {
    if (ids.size() >= items) return;
    ids.resize(items);
    low.resize(items);
    early.resize(items);
    passed.resize(items);
    by_early.resize(items);
    support.resize(items);
    crossing.resize(sections + 1);
    rest.resize(sections);
    ends.resize(items);
    begins_at.resize(items);
    ends_at.resize(items);
  }
};

struct Segment {
  int32_t lower;
  int32_t upper;
  int64_t room;
  size_t count;
};

template <typename Height>
class Searcher {
 public:
  Searcher(const Items& items, int64_t capacity, const SearchOptions& options)
      : items_(items), capacity_(static_cast<Height>(capacity)), options_(options), ranks_(items, options) {
    for (const Item& item : items.items) {
      lower_.push_back(item.lower);
      upper_.push_back(item.upper);
      size_.push_back(static_cast<Height>(item.size));
      aligned_ |= item.alignment > 1;
    }
    need_.resize(static_cast<size_t>(items.sections));
    first_.resize(need_.size());
    second_.resize(need_.size());
    first_end_.resize(need_.size());
    floor_.resize(need_.size());
    index_.resize(items.items.size());
    placed_.assign(items.items.size(), 0);
    offsets_.assign(items.items.size(), 0);
  }

  SearchResult run() {
    SearchResult result;
    if (fits_by_load() && start()) {
      result.verdict = Verdict::kFound;
      for (const Height offset : offsets_) result.offsets.push_back(offset);
    } else {
      result.verdict = limit_met_ ? Verdict::kUnknown : Verdict::kImpossible;
    }
    result.nodes = nodes_;
    return result;
  }

 private:
  using FrameT = Frame<Height>;

  bool fits_by_load() const {
    std::vector<int64_t> load(static_cast<size_t>(items_.sections), 0);
    for (const Item& item : items_.items) {
      if (item.size > capacity_) return false;
      for (int32_t s = item.lower; s < item.upper; ++s) load[static_cast<size_t>(s)] += item.size;
    }
    for (const int64_t bytes : load) {
      if (bytes > capacity_) return false;
    }
    return true;
  }

  FrameT& frame(size_t depth) {
    while (frames_.size() <= depth) frames_.push_back(std::make_unique<FrameT>());
    FrameT& f = *frames_[depth];
    return f;
  }

  bool start() {
    FrameT& f = frame(0);
    f.count = items_.items.size();
    f.reserve(f.count, static_cast<size_t>(items_.sections));
    std::iota(f.ids.begin(), f.ids.begin() + static_cast<std::ptrdiff_t>(f.count), 0);
    ranks_.sort_all(f.ids.data(), f.count);
    std::fill(f.low.begin(), f.low.end(), Height{0});
    std::fill(f.early.begin(), f.early.end(), Height{0});
    std::fill(f.passed.begin(), f.passed.end(), uint8_t{0});
    std::iota(f.by_early.begin(), f.by_early.begin() + static_cast<std::ptrdiff_t>(f.count), 0);
    count_crossings(&f);
    f.lower = 0;
    f.upper = items_.sections;
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = static_cast<size_t>(f.ids[i]);
      f.ends[i] = size_[id];
      f.begins_at[i] = static_cast<int16_t>(lower_[id]);
      f.ends_at[i] = static_cast<int16_t>(upper_[id]);
      for (int32_t s = lower_[id]; s < upper_[id]; ++s)
        f.rest[static_cast<size_t>(s)] = static_cast<Height>(f.rest[static_cast<size_t>(s)] + size_[id]);
    }
    return solve_parts(0, 0, items_.sections);
  }

  void count_crossings(FrameT* f) const {
    std::fill(f->crossing.begin(), f->crossing.end(), int16_t{0});
    for (size_t i = 0; i < f->count; ++i) {
      const size_t id = static_cast<size_t>(f->ids[i]);
      for (int32_t s = lower_[id] + 1; s < upper_[id]; ++s) ++f->crossing[static_cast<size_t>(s)];
    }
  }

  Height align(int64_t height, size_t id) const {
    if (!aligned_) return static_cast<Height>(height);
    const int64_t alignment = items_.items[id].alignment;
    return static_cast<Height>((height + alignment - 1) / alignment * alignment);
  }

  bool meet(size_t a, size_t b) const { return lower_[a] < upper_[b] && lower_[b] < upper_[a]; }

  /// Solves the frame at `depth`, which has been checked; boundaries inside [lower, upper) may have come free.
  bool solve_parts(size_t depth, int32_t lower, int32_t upper) {
    FrameT& f = frame(depth);
    if (f.count == 0) return true;
    if (f.count == 1) {
      offsets_[static_cast<size_t>(f.ids[0])] = f.early[0];
      return true;
    }
    bool free = false;
    for (int32_t s = lower + 1; s < upper; ++s) free |= f.crossing[static_cast<size_t>(s)] == 0;
    if (!free) return solve(depth);
    std::vector<Segment> segments = find_segments(f);
    if (segments.size() <= 1) return solve(depth);
    for (Segment& segment : segments) segment.room = room_in(f, segment);
    std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
      return a.room != b.room ? a.room < b.room : a.count > b.count;
    });
    for (const Segment& segment : segments) {
      cut_out(f, segment, depth + 1);
      if (frame(depth + 1).count == 1) {
        offsets_[static_cast<size_t>(frame(depth + 1).ids[0])] = frame(depth + 1).early[0];
        continue;
      }
      if (!solve(depth + 1)) return false;
    }
    return true;
  }

  /// The runs of sections that no item leaves, in order of time.
  std::vector<Segment> find_segments(const FrameT& f) {
    std::vector<std::pair<int32_t, int32_t>> spans;
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = static_cast<size_t>(f.ids[i]);
      spans.emplace_back(lower_[id], upper_[id]);
    }
    std::sort(spans.begin(), spans.end());
    std::vector<Segment> segments;
    for (const auto& [lower, upper] : spans) {
      if (segments.empty() || segments.back().upper <= lower) segments.push_back({lower, upper, 0, 0});
      segments.back().upper = std::max(segments.back().upper, upper);
      ++segments.back().count;
    }
    return segments;
  }

  int64_t room_in(const FrameT& f, const Segment& segment) {
    std::fill(need_.begin() + segment.lower, need_.begin() + segment.upper, Height{0});
    int64_t highest = 0;
    for (size_t k = 0; k < f.count; ++k) {
      const size_t i = static_cast<size_t>(f.by_early[k]);
      const size_t id = static_cast<size_t>(f.ids[i]);
      if (lower_[id] < segment.lower || lower_[id] >= segment.upper) continue;
      highest = std::max<int64_t>(highest, f.early[i] + add_need(id));
    }
    return capacity_ - highest;
  }

  void cut_out(const FrameT& f, const Segment& segment, size_t depth) {
    FrameT& g = frame(depth);
    g.reserve(items_.items.size(), static_cast<size_t>(items_.sections));
    g.last = f.last;
    picked_.clear();
    for (size_t i = 0; i < f.count; ++i) {
      const size_t id = static_cast<size_t>(f.ids[i]);
      if (lower_[id] >= segment.lower && lower_[id] < segment.upper) picked_.push_back(static_cast<int32_t>(i));
    }
    if (options_.rank_parts) {
      ranks_.sort_part(f.ids.data(), segment.lower, segment.upper, &picked_);
    }
    g.count = picked_.size();
    for (size_t k = 0; k < g.count; ++k) {
      const size_t i = static_cast<size_t>(picked_[k]);
      g.ids[k] = f.ids[i];
      g.low[k] = f.low[i];
      g.early[k] = f.early[i];
      g.passed[k] = f.passed[i];
      g.support[k] = f.support[i];
      g.ends[k] = f.ends[i];
      g.begins_at[k] = f.begins_at[i];
      g.ends_at[k] = f.ends_at[i];
      g.by_early[k] = static_cast<int32_t>(k);
    }
    std::sort(g.by_early.begin(), g.by_early.begin() + static_cast<std::ptrdiff_t>(g.count),
              [&](int32_t a, int32_t b) { return g.early[static_cast<size_t>(a)] > g.early[static_cast<size_t>(b)]; });
    std::copy(f.crossing.begin() + segment.lower, f.crossing.begin() + segment.upper,
              g.crossing.begin() + segment.lower);
    std::copy(f.rest.begin() + segment.lower, f.rest.begin() + segment.upper, g.rest.begin() + segment.lower);
    g.lower = segment.lower;
    g.upper = segment.upper;
  }

  bool solve(size_t depth) {
    FrameT& f = frame(depth);
    find_candidates(&f);
    for (size_t c = 0; c < f.candidates.size(); ++c) {
      if (nodes_ >= options_.nodes) {
        limit_met_ = true;
        return false;
      }
      const size_t k = static_cast<size_t>(f.candidates[c]);
      const size_t id = static_cast<size_t>(f.ids[k]);
      const Height offset = f.low[k];
      if (!fits_above(f, id, offset)) continue;
      ++nodes_;
      if (!place(f, k, depth + 1)) continue;
      placed_[id] = 1;
      if (solve_parts(depth + 1, lower_[id], upper_[id])) {
        offsets_[id] = offset;
        return true;
      }
      placed_[id] = 0;
      if (limit_met_) return false;
    }
    return false;
  }

  /// Indices of the items that may be the next, in the order of their keys.
  void find_candidates(FrameT* f) {
    int64_t limit = std::numeric_limits<int64_t>::max();  // offsets stay below
    for (size_t i = 0; i < f->count; ++i) {
      limit = std::min<int64_t>(limit, f->low[i] + size_[static_cast<size_t>(f->ids[i])]);
    }
    Height most = 0;
    for (int32_t s = f->lower; s < f->upper; ++s) most = std::max(most, f->rest[static_cast<size_t>(s)]);
    limit = std::min<int64_t>(limit, capacity_ - most + 1);
    f->candidates.clear();
    for (size_t i = 0; i < f->count; ++i) {
      if (f->passed[i] != 0 || f->low[i] >= limit) continue;
      const int32_t twin = items_.items[static_cast<size_t>(f->ids[i])].twin;
      if (twin >= 0 && placed_[static_cast<size_t>(twin)] == 0) continue;
      f->candidates.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(f->candidates.begin(), f->candidates.end(), [&](int32_t a, int32_t b) {
      return f->low[static_cast<size_t>(a)] < f->low[static_cast<size_t>(b)];
    });
  }

  /// Whether the items above this one fit in each of its sections.
  bool fits_above(const FrameT& f, size_t id, int64_t offset) const {
    Height most = 0;
    for (int32_t s = lower_[id]; s < upper_[id]; ++s) most = std::max(most, f.rest[static_cast<size_t>(s)]);
    return offset + most <= capacity_;
  }

  /// Makes the frame at `depth`: `f` with its item `k` placed. False when that cannot be completed.
  bool place(const FrameT& f, size_t k, size_t depth) {
    FrameT& g = frame(depth);
    g.reserve(items_.items.size(), static_cast<size_t>(items_.sections));
    const size_t placed = static_cast<size_t>(f.ids[k]);
    const Height offset = f.low[k];
    const Height end = static_cast<Height>(offset + size_[placed]);
    const int16_t begins_at = f.begins_at[k];
    const int16_t ends_at = f.ends_at[k];
    g.count = f.count - 1;
    g.last = offset;
    g.lower = f.lower;
    g.upper = f.upper;
    size_t to = 0;
    for (size_t i = 0; i < f.count; ++i) {
      if (i == k) continue;
      const int32_t id = f.ids[i];
      g.ids[to] = id;
      g.begins_at[to] = f.begins_at[i];
      g.ends_at[to] = f.ends_at[i];
      Height low = f.low[i];
      Height early = f.early[i];
      uint8_t passed = f.passed[i];
      int32_t support = f.support[i];
      if (low < end && f.begins_at[i] < ends_at && begins_at < f.ends_at[i]) {
        low = align(end, static_cast<size_t>(id));
        passed = early > low ? 1 : 0;
        early = std::max(low, early);
        support = -1;
      } else if (passed == 0 && (low < offset || (low == offset && i < k))) {
        passed = 1;
        support = -1;
      }
      g.low[to] = low;
      g.early[to] = early;
      g.passed[to] = passed;
      g.support[to] = support;
      index_[static_cast<size_t>(id)] = static_cast<int32_t>(to);
      g.ends[to] = static_cast<Height>(early + size_[static_cast<size_t>(id)]);
      ++to;
    }
    std::copy(f.crossing.begin() + f.lower, f.crossing.begin() + f.upper, g.crossing.begin() + f.lower);
    std::copy(f.rest.begin() + f.lower, f.rest.begin() + f.upper, g.rest.begin() + f.lower);
    for (int32_t s = lower_[placed]; s < upper_[placed]; ++s) {
      if (s > lower_[placed]) --g.crossing[static_cast<size_t>(s)];
      g.rest[static_cast<size_t>(s)] = static_cast<Height>(g.rest[static_cast<size_t>(s)] - size_[placed]);
    }
    to = 0;
    for (size_t at = 0; at < f.count; ++at) {
      const int32_t i = f.by_early[at];
      if (i != static_cast<int32_t>(k)) g.by_early[to++] = i < static_cast<int32_t>(k) ? i : i - 1;
    }
    for (int round = 0;; ++round) {
      if (!find_supports(&g)) return false;
      for (size_t i = 0; i < g.count; ++i) {
        if (g.ends[i] > capacity_) return false;
      }
      sort_by_early(&g);
      if (!sections_fit(g)) return false;
      if (round == kRounds || !raise_above_firsts(&g)) return true;
    }
  }

  /// Raises `early` of the passed items to the lowest end of an item that they could lie on. One round: what rises late
  /// in it is seen by the others at the next node.
  bool find_supports(FrameT* g) {
    for (size_t i = 0; i < g->count; ++i) {
      if (g->passed[i] == 0) continue;
      const int32_t old = g->support[i];
      if (old >= 0 && g->ends[static_cast<size_t>(index_[static_cast<size_t>(old)])] <= g->early[i]) continue;
      const size_t id = static_cast<size_t>(g->ids[i]);
      size_t best = g->count;
      const Height least = least_end(*g, i, &best);
      if (best == g->count) return false;
      g->support[i] = g->ids[best];
      const Height early = align(least, id);
      if (early <= g->early[i]) continue;
      if (early + size_[id] > capacity_) return false;
      g->early[i] = early;
      g->ends[i] = static_cast<Height>(early + size_[id]);
    }
    return true;
  }

  /// The lowest end of an item that is alive with item `i`, and whose it is.
  Height least_end(const FrameT& g, size_t i, size_t* best) const {
    const Height least = std::min(least_end_in(g, i, 0, i), least_end_in(g, i, i + 1, g.count));
    if (least == std::numeric_limits<Height>::max()) return least;
    for (size_t j = 0; j < g.count; ++j) {
      if (g.ends[j] != least || j == i || g.begins_at[j] >= g.ends_at[i] || g.begins_at[i] >= g.ends_at[j]) continue;
      *best = j;
      break;
    }
    return least;
  }

  /// Without branches, so that it runs in vectors.
  static Height least_end_in(const FrameT& g, size_t i, size_t from, size_t to) {
    constexpr Height kNone = std::numeric_limits<Height>::max();
    const int16_t begins_at = g.begins_at[i];
    const int16_t ends_at = g.ends_at[i];
    const int16_t* const begins = g.begins_at.data();
    const int16_t* const ends_of_life = g.ends_at.data();
    const Height* const ends = g.ends.data();
    Height least = kNone;
    for (size_t j = from; j < to; ++j) {
      const bool meet = (begins[j] < ends_at) & (begins_at < ends_of_life[j]);
      const Height end = meet ? ends[j] : kNone;
      least = end < least ? end : least;
    }
    return least;
  }

  void sort_by_early(FrameT* g) const {
    for (size_t at = 1; at < g->count; ++at) {
      const int32_t index = g->by_early[at];
      const Height early = g->early[static_cast<size_t>(index)];
      size_t hole = at;
      while (hole > 0 && g->early[static_cast<size_t>(g->by_early[hole - 1])] < early) {
        g->by_early[hole] = g->by_early[hole - 1];
        --hole;
      }
      g->by_early[hole] = index;
    }
  }

  /// Where all items of a section but one are too high to lie below the others, that one is the lowest there: the
  /// others lie above it. True when that raised an item.
  bool raise_above_firsts(FrameT* g) {
    find_firsts(*g);
    Height highest = 0;
    for (int32_t s = g->lower; s < g->upper; ++s) {
      const size_t section = static_cast<size_t>(s);
      const bool alone = second_[section] < first_end_[section] && second_[section] > capacity_ - g->rest[section];
      floor_[section] = alone ? first_end_[section] : Height{0};
      highest = std::max(highest, floor_[section]);
    }
    bool raised = false;
    for (size_t at = g->count; at-- > 0;) {
      const size_t i = static_cast<size_t>(g->by_early[at]);
      const Height old = g->early[i];
      if (old >= highest) break;
      Height early = old;
      for (int32_t s = g->begins_at[i]; s < g->ends_at[i]; ++s) {
        const size_t section = static_cast<size_t>(s);
        const Height floor = first_[section] != old ? floor_[section] : Height{0};
        early = std::max(early, floor);
      }
      if (early == old) continue;
      const size_t id = static_cast<size_t>(g->ids[i]);
      g->early[i] = align(early, id);
      g->ends[i] = static_cast<Height>(g->early[i] + size_[id]);
      if (g->passed[i] == 0) g->support[i] = -1;
      g->passed[i] = 1;
      raised = true;
    }
    return raised;
  }

  /// For each section the lowest `early`, the end that goes with it, and the second lowest unless that end is lower.
  void find_firsts(const FrameT& g) {
    constexpr Height kNone = std::numeric_limits<Height>::max();
    constexpr size_t kStride = 32;
    std::fill(first_.begin() + g.lower, first_.begin() + g.upper, kNone);
    std::fill(second_.begin() + g.lower, second_.begin() + g.upper, kNone);
    for (int32_t s = g.lower; s < g.upper; ++s) {
      const size_t section = static_cast<size_t>(s);
      first_end_[section] = g.rest[section] > 0 ? kNone : Height{0};
    }
    for (size_t at = g.count; at-- > 0;) {
      const size_t i = static_cast<size_t>(g.by_early[at]);
      const Height early = g.early[i];
      const Height end = g.ends[i];
      Height* const first = first_.data();
      Height* const second = second_.data();
      Height* const first_end = first_end_.data();
      for (int32_t s = g.begins_at[i]; s < g.ends_at[i]; ++s) {
        const Height lowest = first[s];
        const Height next = early > lowest ? early : lowest;
        second[s] = next < second[s] ? next : second[s];
        first_end[s] = early < lowest ? end : first_end[s];
        first[s] = early < lowest ? early : lowest;
      }
      if (at % kStride != 0) continue;
      Height highest = 0;
      for (int32_t s = g.lower; s < g.upper; ++s) {
        const size_t section = static_cast<size_t>(s);
        highest = std::max(highest, std::min(second_[section], first_end_[section]));
      }
      if (highest <= early) break;
    }
  }

  /// Adds an item to the need of its sections; returns the largest of these.
  Height add_need(size_t id) {
    const Height size = size_[id];
    Height* const need = need_.data();
    Height largest = 0;
    for (int32_t s = lower_[id]; s < upper_[id]; ++s) {
      const Height sum = static_cast<Height>(need[s] + size);
      need[s] = sum;
      largest = std::max(largest, sum);
    }
    return largest;
  }

  bool sections_fit(const FrameT& g) {
    std::fill(need_.begin() + g.lower, need_.begin() + g.upper, Height{0});
    for (size_t k = 0; k < g.count; ++k) {
      const size_t i = static_cast<size_t>(g.by_early[k]);
      if (g.early[i] + add_need(static_cast<size_t>(g.ids[i])) > capacity_) return false;
    }
    return true;
  }

  const Items& items_;
  const Height capacity_;
  const SearchOptions& options_;
  Ranks ranks_;
  std::vector<int32_t> lower_;
  std::vector<int32_t> upper_;
  std::vector<Height> size_;
  bool aligned_ = false;
  std::vector<std::unique_ptr<FrameT>> frames_;  // by depth
  std::vector<Height> need_;                     // of each section
  std::vector<Height> first_;                    // of each section: the lowest `early`,
  std::vector<Height> first_end_;                // the end of that item,
  std::vector<Height> second_;                   // and the second lowest
  std::vector<Height> floor_;                    // of each section: what all but the first lie above
  std::vector<int32_t> index_;   // of each item of the frame being made: where it is there
  std::vector<uint8_t> placed_;  // of each item: on the path to this node
  std::vector<Height> offsets_;
  std::vector<int32_t> picked_;
  int64_t nodes_ = 0;
  bool limit_met_ = false;
};

}  // namespace

SearchResult search(const Items& items, int64_t capacity, const SearchOptions& options) {
  if (capacity < kSmall) return Searcher<int16_t>(items, capacity, options).run();
  if (capacity < kMiddling) return Searcher<int32_t>(items, capacity, options).run();
  return Searcher<int64_t>(items, capacity, options).run();
}

}  // namespace berth::plan
