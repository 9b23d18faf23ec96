// Where the rows that a loop stacks begin again.
//
// executorch_prim::et_copy_index(rows, row, index) writes one row of a tensor, and what berth::row.write(rows, index,
// row) finds is written after it; the loop around it counts its index. In
// a loop around that one the rows begin again in each round if the index is set back to zero there, and only then are
// the rows of one round not needed while the next one's are written.
#pragma once

#include <cstdint>

#include "format/program_view.h"

namespace berth::format::plan_check {

/// Whether each round of the loop of the instructions `head` to `end` sets the index of the rows that the
/// instruction `first` writes or finds back to zero. What counts is `index = index - index`, and
/// `index = index - n` right behind a jump that is passed where `index == n` alone, as ExecuTorch writes it; where no
/// jump passes over that, nothing else sets the index but `index = index + 1`, and the rows have one index. Goes
/// through the instructions three times.
bool rows_begin_again(const fb::ExecutionPlan& plan, int32_t first, int32_t head, int32_t end);

}  // namespace berth::format::plan_check
