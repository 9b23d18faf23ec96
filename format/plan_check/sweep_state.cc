#include "format/plan_check/sweep_state.h"

#include <cstdio>

#include "base/result.h"

namespace berth::format::plan_check {

Error stopped(const SweepState& state) {
  PlanGraph& graph = state.graph;
  if (state.unmade == kNone) return out_of_budget(state.method, state.report);
  char place[64];
  char name[48];
  if (state.now == state.end_step()) {
    std::snprintf(place, sizeof place, "methods[%d].outputs", state.method);
  } else {
    std::snprintf(place, sizeof place, "methods[%d].instructions[%d]", state.method, state.now);
  }
  return fail(state.report, Error::kInvalidProgram, place, "it reads %s, whose parts do not make all of it",
              describe_value(graph, graph.value[state.unmade], name, sizeof name));
}

}  // namespace berth::format::plan_check
