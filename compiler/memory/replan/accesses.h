// What each instruction of a method reads and writes, and which values are names of others.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "format/plan_check/graph.h"

namespace berth::replan {

/// In items.
struct Access {
  std::vector<int32_t> reads;
  std::vector<int32_t> writes;    // wholly
  std::vector<int32_t> mentions;  // what a delegate may keep, and what is written in part
  int32_t jump = -1;              // destination
};

struct Accesses {
  std::vector<Access> code;                         // one an instruction
  std::vector<std::pair<int32_t, int32_t>> names;   // from, to: values that a MoveCall or et_view renames
  std::map<int32_t, std::vector<int32_t>> renamed;  // value → the instructions that rename it
};

Accesses accesses_of(format::plan_check::PlanGraph* graph);

}  // namespace berth::replan
