// SweepState: how far the backward sweep has come, and which items are still to be read from there on.
#pragma once

#include "format/plan_check/graph.h"
#include "format/plan_check/live_set.h"

namespace berth::format::plan_check {

struct SweepState {
  PlanGraph& graph;
  LiveSet live;          // items that are still to be read
  Span<int32_t> reader;  // by item: the instruction behind `now` that reads it next, end_step() for an output
  int method;
  Report* report;
  int32_t now = 0;         // instruction; -1: the inputs are set
  int32_t unmade = kNone;  // an item that is read, but not all of it is made
  bool next_run = false;   // what the next run reads is in the set too

  int32_t end_step() const { return static_cast<int32_t>(graph.size.instructions); }
};

/// Why a read, a write or a look at results went no further: out of budget, or something unmade is read.
Error stopped(const SweepState& state);

/// Calls `visit(live)` for each item that is still to be read in a block which may lie over that of `item` at some
/// sizes (stacks.h), as long as it returns Ok; its error, or stopped() when the budget ends. Nothing before blocks are
/// moved apart.
template <typename Visit>
Error for_each_in_reach(const SweepState& state, int32_t item, Visit&& visit) {
  PlanGraph& graph = state.graph;
  if (!graph.by_blocks || graph.block[item] == kNone) return Error::kOk;
  const Span<const uint64_t> words = state.live.words();
  if (!graph.spend(words.size())) return stopped(state);
  for (size_t w = 0; w < words.size(); ++w) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      const int32_t live = static_cast<int32_t>(64 * w) + __builtin_ctzll(left);
      if (!graph.spend(1)) return stopped(state);
      if (!graph.may_meet(item, live)) continue;
      const Error error = visit(live);
      if (error != Error::kOk) return error;
    }
  }
  return Error::kOk;
}

}  // namespace berth::format::plan_check
