// The state of the exact search: what its items are in numbers, and what a node knows of those still to be placed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/memory/packing/search_items.h"

namespace berth::packing {

/// The items in columns. Heights are numbers of as few bits as the capacity allows: a machine adds more narrow ones at
/// once.
template <typename Height>
struct Columns {
  std::vector<int32_t> lower;  // of each item: its sections are [lower, upper)
  std::vector<int32_t> upper;
  std::vector<Height> size;
  std::vector<int64_t> alignment;
  bool aligned = false;  // an alignment is not 1
  Height capacity;

  Columns(const Items& items, int64_t most) : capacity(static_cast<Height>(most)) {
    for (const Item& item : items.items) {
      lower.push_back(item.lower);
      upper.push_back(item.upper);
      size.push_back(static_cast<Height>(item.size));
      alignment.push_back(item.alignment);
      aligned |= item.alignment > 1;
    }
  }

  Height align(int64_t height, size_t id) const {
    if (!aligned) return static_cast<Height>(height);
    return static_cast<Height>((height + alignment[id] - 1) / alignment[id] * alignment[id]);
  }
};

/// A part at a node: its items still to be placed, in the order of their ranks.
template <typename Height>
struct Frame {
  size_t count = 0;
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
    crossing.resize(sections);
    rest.resize(sections);
    ends.resize(items);
    begins_at.resize(items);
    ends_at.resize(items);
  }
};

}  // namespace berth::packing
