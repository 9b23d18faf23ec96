// Which items are views of which: as berth.meta records it, or inferred.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Fills what the graph knows of views: parents, groups and their members, which values are superseded, and which are
/// aggregates. REQUIRES: items and writes collected.
Error relate_views(PlanGraph* graph, int method, Report* report);

/// Whether `a` is a view of `b`, directly or through others. False also when the budget ends.
bool is_view_of(PlanGraph& graph, int32_t a, int32_t b);

}  // namespace berth::format::plan_check
