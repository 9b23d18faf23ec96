// From a method of a program to the graph that its plan check looks at.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Fills the graph: items, who writes what, aliases, views. REQUIRES: memory taken; program, plan, meta, size and
/// budget set.
Error build_graph(PlanGraph* graph, int method, Report* report);

}  // namespace berth::format::plan_check
