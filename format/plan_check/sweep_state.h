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

}  // namespace berth::format::plan_check
