// Second names of bytes: what a MoveCall or an et_view makes. An alias is live between its call and the reads of the
// value that it went to, and stands for the bytes of one planned tensor; a value that is read after an `if` has one
// alias a branch.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Adds the aliases behind the planned items. REQUIRES: items and writes collected.
Error collect_aliases(PlanGraph* graph, int method, Report* report);

}  // namespace berth::format::plan_check
