// Who writes what: the first instruction that writes each value, and which arguments of a delegate are its results. A
// program does not say that: its last arguments are, as long as nothing gave them bytes before.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Fills what the graph knows of writes. InvalidProgram for a kernel that writes a constant, NotSupported for a list of
/// tensors that is moved. REQUIRES: items collected, slots marked.
Error collect_writes(PlanGraph* graph, int method, Report* report);

}  // namespace berth::format::plan_check
