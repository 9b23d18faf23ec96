// Where the lives of tensors begin that et_copy_index, or who writes what berth::row.write finds, fills row by row.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Before `instruction`, nothing of the item is there.
struct Birth {
  int32_t instruction = 0;
  int32_t item = 0;
};

/// A tensor that is filled row by row is never replaced as a whole, so nothing ends its life on the way back.
/// It begins with the first row: at that instruction or, since the rows of a loop belong together, where the loop
/// begins; not in a loop around that one, where the rows begin again.
///
/// Fills `births`, last first, and their number. False when the budget ends. REQUIRES: there is room for one birth a
/// planned item.
bool find_births(PlanGraph& graph, Span<Birth> births, size_t* count);

}  // namespace berth::format::plan_check
