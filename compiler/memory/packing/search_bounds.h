// What the exact search concludes at a node: how low each body can still lie, and whether the sections hold them all.
#pragma once

#include <limits>

#include "compiler/memory/packing/search_frame.h"

namespace berth::packing {

/// The rules support, first and sections of search.h. One is used for all nodes of a search; it keeps only what it
/// would otherwise allocate each time.
template <typename Height>
class SearchBounds {
 public:
  explicit SearchBounds(const Columns<Height>& bodies, int32_t sections) : bodies_(bodies), index_(bodies.size.size()) {
    for (std::vector<Height>* column : {&need_, &first_, &first_end_, &second_, &floor_}) {
      column->resize(sections);
    }
  }

  /// Raises `early` in a new frame. False when its bodies cannot all be placed. REQUIRES: everything else of the frame
  /// is whole, and by_early names each index once.
  bool tighten(Frame<Height>* g) {
    for (size_t i = 0; i < g->count; ++i) index_[g->ids[i]] = static_cast<int32_t>(i);
    for (int round = 0;; ++round) {
      if (!find_supports(g)) return false;
      for (size_t i = 0; i < g->count; ++i) {
        if (g->ends[i] > bodies_.capacity) return false;
      }
      sort_by_early(g);
      if (!sections_fit(*g)) return false;
      if (round == kRounds || !raise_above_firsts(g)) return true;
    }
  }

  /// How much of the capacity is left above those bodies of `f` that live in [lower, upper), at least.
  int64_t room_in(const Frame<Height>& f, int32_t lower, int32_t upper) {
    std::fill(need_.begin() + lower, need_.begin() + upper, Height{0});
    int64_t highest = 0;
    for (size_t k = 0; k < f.count; ++k) {
      const size_t i = f.by_early[k];
      if (f.begins_at[i] < lower || f.begins_at[i] >= upper) continue;
      highest = std::max<int64_t>(highest, f.early[i] + add_need(static_cast<size_t>(f.ids[i])));
    }
    return bodies_.capacity - highest;
  }

 private:
  /// How often the bounds of the bodies of a new node are raised by each other, at most.
  static constexpr int kRounds = 2;

  /// Raises `early` of the passed bodies to the lowest end of a body that they could lie on. One round: what rises late
  /// in it is seen by the others at the next node.
  bool find_supports(Frame<Height>* g) {
    for (size_t i = 0; i < g->count; ++i) {
      if (g->passed[i] == 0) continue;
      if (still_supports(*g, g->support[i], g->early[i])) continue;
      const size_t id = g->ids[i];
      size_t best = g->count;
      const Height least = least_end(*g, i, &best);
      if (best == g->count) return false;
      g->support[i] = g->ids[best];
      const Height early = bodies_.align(least, id);
      if (early <= g->early[i]) continue;
      if (early + bodies_.size[id] > bodies_.capacity) return false;
      g->early[i] = early;
      g->ends[i] = static_cast<Height>(early + bodies_.size[id]);
    }
    return true;
  }

  /// Whether body `id` is still to be placed, and may end at or below `early`.
  bool still_supports(const Frame<Height>& g, int32_t id, Height early) const {
    if (id < 0) return false;
    // Of a body that was placed meanwhile, the index is another frame's.
    const size_t at = index_[id];
    return at < g.count && g.ids[at] == id && g.ends[at] <= early;
  }

  /// The lowest end of a body that is alive with body `i`, and whose it is.
  Height least_end(const Frame<Height>& g, size_t i, size_t* best) const {
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
  static Height least_end_in(const Frame<Height>& g, size_t i, size_t from, size_t to) {
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

  void sort_by_early(Frame<Height>* g) const {
    for (size_t at = 1; at < g->count; ++at) {
      const int32_t index = g->by_early[at];
      const Height early = g->early[index];
      size_t hole = at;
      while (hole > 0 && g->early[g->by_early[hole - 1]] < early) {
        g->by_early[hole] = g->by_early[hole - 1];
        --hole;
      }
      g->by_early[hole] = index;
    }
  }

  /// Where all bodies of a section but one are too high to lie below the others, that one is the lowest there: the
  /// others lie above it. True when that raised a body.
  bool raise_above_firsts(Frame<Height>* g) {
    find_firsts(*g);
    Height highest = 0;
    for (int32_t s = g->lower; s < g->upper; ++s) {
      const size_t section = s;
      const bool alone =
          second_[section] < first_end_[section] && second_[section] > bodies_.capacity - g->rest[section];
      floor_[section] = alone ? first_end_[section] : Height{0};
      highest = std::max(highest, floor_[section]);
    }
    bool raised = false;
    for (size_t at = g->count; at-- > 0;) {
      const size_t i = g->by_early[at];
      const Height old = g->early[i];
      if (old >= highest) break;
      Height early = old;
      for (int32_t s = g->begins_at[i]; s < g->ends_at[i]; ++s) {
        const size_t section = s;
        const Height floor = first_[section] != old ? floor_[section] : Height{0};
        early = std::max(early, floor);
      }
      if (early == old) continue;
      const size_t id = g->ids[i];
      g->early[i] = bodies_.align(early, id);
      g->ends[i] = static_cast<Height>(g->early[i] + bodies_.size[id]);
      if (g->passed[i] == 0) g->support[i] = -1;
      g->passed[i] = 1;
      raised = true;
    }
    return raised;
  }

  /// For each section the lowest `early`, the end that goes with it, and the second lowest unless that end is lower.
  void find_firsts(const Frame<Height>& g) {
    constexpr Height kNone = std::numeric_limits<Height>::max();
    constexpr size_t kStride = 32;
    std::fill(first_.begin() + g.lower, first_.begin() + g.upper, kNone);
    std::fill(second_.begin() + g.lower, second_.begin() + g.upper, kNone);
    for (int32_t s = g.lower; s < g.upper; ++s) {
      const size_t section = s;
      first_end_[section] = g.rest[section] > 0 ? kNone : Height{0};
    }
    for (size_t at = g.count; at-- > 0;) {
      const size_t i = g.by_early[at];
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
        const size_t section = s;
        highest = std::max(highest, std::min(second_[section], first_end_[section]));
      }
      if (highest <= early) break;
    }
  }

  /// Adds a body to the need of its sections; returns the largest of these.
  Height add_need(size_t id) {
    const Height size = bodies_.size[id];
    Height* const need = need_.data();
    Height largest = 0;
    for (int32_t s = bodies_.lower[id]; s < bodies_.upper[id]; ++s) {
      const Height sum = static_cast<Height>(need[s] + size);
      need[s] = sum;
      largest = std::max(largest, sum);
    }
    return largest;
  }

  bool sections_fit(const Frame<Height>& g) {
    std::fill(need_.begin() + g.lower, need_.begin() + g.upper, Height{0});
    for (size_t k = 0; k < g.count; ++k) {
      const size_t i = g.by_early[k];
      if (g.early[i] + add_need(g.ids[i]) > bodies_.capacity) return false;
    }
    return true;
  }

  const Columns<Height>& bodies_;
  std::vector<int32_t> index_;     // of each body of the frame: where it is there
  std::vector<Height> need_;       // of each section: the sum of the sizes that are looked at
  std::vector<Height> first_;      // of each section: the lowest `early`,
  std::vector<Height> first_end_;  // the end of that body,
  std::vector<Height> second_;     // and the second lowest
  std::vector<Height> floor_;      // of each section: what all but the first lie above
};

}  // namespace berth::packing
