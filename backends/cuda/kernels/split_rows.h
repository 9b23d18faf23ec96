// Few long rows, each in parts: one launch folds every part to a state in the workspace, another one folds the states
// of a row. How many parts a row has follows from the sizes alone, so that the order of folding, and with it the last
// bits, is the same in every run.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/element.h"
#include "backends/cuda/queue.h"

namespace berth::cuda {

/// Elements of a part at least: a block reads 16 of them a thread.
constexpr int64_t kLeastPart = 4096;
/// Parts of all rows that are enough to fill a device.
constexpr int64_t kEnoughParts = 1024;

/// How many parts each of `rows` rows of `length` elements has; 1 where there is no room for their states.
inline int64_t parts_of_row(const Queue& queue, int64_t rows, int64_t length, size_t state_bytes) {
  if (rows <= 0 || rows > kEnoughParts / 8 || queue.scratch == nullptr) return 1;
  const int64_t fitting = length / kLeastPart;
  const int64_t enough = kEnoughParts / rows;
  const int64_t parts = fitting < enough ? fitting : enough;
  return parts * rows * static_cast<int64_t>(state_bytes) <= static_cast<int64_t>(queue.scratch_bytes) ? parts : 1;
}

/// Row i is part i % parts of row i / parts of `Body`.
template <typename Body>
struct PartBody {
  using State = typename Body::State;
  struct Row {
    typename Body::Row whole;
    int64_t begin;
    int64_t number;
  };
  static constexpr bool kWrites = false;

  Body body;
  State* states;
  int64_t parts;
  int64_t length;  // of a part; the last one may be shorter

  PartBody(const Body& whole, State* room, int64_t count)
      : body(whole), states(room), parts(count), length((whole.length + count - 1) / count) {}

  BERTH_HD Row row(int64_t i) const { return {body.row(i / parts), i % parts * length, i}; }
  BERTH_HD State start() const { return body.start(); }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const {
    if (row.begin + k < body.length) body.take(state, row.whole, row.begin + k);
  }
  BERTH_HD void merge(State& state, const State& other) const { body.merge(state, other); }
  BERTH_HD void finish(const Row& row, const State& total) const { states[row.number] = total; }
};

/// The rows of `Body`, of which the elements are the states of parts.
template <typename Body>
struct JoinBody {
  using State = typename Body::State;
  struct Row {
    typename Body::Row whole;
    int64_t first;
  };
  static constexpr bool kWrites = false;

  Body body;
  const State* states;
  int64_t length;

  JoinBody(const Body& whole, const State* room, int64_t parts) : body(whole), states(room), length(parts) {}

  BERTH_HD Row row(int64_t i) const { return {body.row(i), i * length}; }
  BERTH_HD State start() const { return body.start(); }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const { body.merge(state, states[row.first + k]); }
  BERTH_HD void merge(State& state, const State& other) const { body.merge(state, other); }
  BERTH_HD void finish(const Row& row, const State& total) const { body.finish(row.whole, total); }
};

}  // namespace berth::cuda
