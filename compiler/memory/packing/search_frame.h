// The state of the exact search: what its bodies are in numbers, and what a node knows of those still to be placed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/memory/packing/search_problem.h"

namespace berth::packing {

/// The bodies in columns. Heights are numbers of as few bits as the capacity allows: a machine adds more narrow ones at
/// once.
template <typename Height>
struct Columns {
  std::vector<int32_t> lower;  // of each body: its sections are [lower, upper)
  std::vector<int32_t> upper;
  std::vector<Height> size;
  std::vector<int64_t> alignment;
  bool aligned = false;  // an alignment is not 1
  Height capacity;

  Columns(const SearchProblem& problem, int64_t most) : capacity(static_cast<Height>(most)) {
    for (const SearchBody& body : problem.bodies) {
      lower.push_back(body.lower);
      upper.push_back(body.upper);
      size.push_back(static_cast<Height>(body.size));
      alignment.push_back(body.alignment);
      aligned |= body.alignment > 1;
    }
  }

  Height align(int64_t height, size_t id) const {
    if (!aligned) return static_cast<Height>(height);
    return static_cast<Height>((height + alignment[id] - 1) / alignment[id] * alignment[id]);
  }
};

/// A part at a node: its bodies still to be placed, in the order of their ranks.
template <typename Height>
struct Frame {
  size_t count = 0;
  std::vector<int32_t> ids;
  std::vector<Height> low;        // the lowest place above what is placed
  std::vector<Height> early;      // no layout of the subtree has the body lower; at least `low`
  std::vector<uint8_t> passed;    // it is not at `low`
  std::vector<int32_t> support;   // of a passed body: the id of one whose end was `early` or higher, or -1
  std::vector<int32_t> by_early;  // indices, the largest `early` first
  std::vector<int16_t> crossing;  // of each boundary (before section s): how many bodies cross it
  std::vector<Height> rest;       // of each section: the sum of the sizes
  int32_t lower = 0;              // its sections are [lower, upper)
  int32_t upper = 0;
  std::vector<Height> ends;        // `early` and the size
  std::vector<int16_t> begins_at;  // section
  std::vector<int16_t> ends_at;    // section
  std::vector<int32_t> candidates;

  /// Body `to` becomes body `i` of another frame.
  void copy(size_t to, const Frame& from, size_t i) {
    ids[to] = from.ids[i];
    low[to] = from.low[i];
    early[to] = from.early[i];
    passed[to] = from.passed[i];
    support[to] = from.support[i];
    ends[to] = from.ends[i];
    begins_at[to] = from.begins_at[i];
    ends_at[to] = from.ends_at[i];
  }

  void reserve(size_t bodies, size_t sections) {
    if (ids.size() >= bodies) return;
    ids.resize(bodies);
    low.resize(bodies);
    early.resize(bodies);
    passed.resize(bodies);
    by_early.resize(bodies);
    support.resize(bodies);
    crossing.resize(sections);
    rest.resize(sections);
    ends.resize(bodies);
    begins_at.resize(bodies);
    ends_at.resize(bodies);
  }
};

}  // namespace berth::packing
