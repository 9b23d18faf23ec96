// Offsets that follow the sizes (fb::Stack): whether the rule of verify_plan.h holds wherever the blocks of a stack
// lie, as long as each begins behind its supports.
//
// Tensors of one block keep their distances, so that what they do to each other is what they do at the largest sizes.
// Of two blocks of an arena, nothing is known of the offsets but that one is below the other where supports lead from
// it to the other. So the sweep is repeated with blocks that share no bytes; and a write meets, beside what shares
// bytes with it, every tensor that is still to be read in a block of the same arena that is neither below nor above.
#pragma once

#include "format/plan_check/graph.h"

namespace berth::format::plan_check {

/// Whether comparing the blocks would take far more memory than a file of this size justifies.
bool too_many_blocks(const PlanSize& size, uint64_t program_size);

/// Moves all items apart, block by block, and fills what the graph knows of blocks. InvalidProgram for a tensor of the
/// arena in no block or in two, for a view in another block than its base, and for a block that is not aligned.
/// REQUIRES: the graph is built; verify_program() accepted the stacks.
Error move_blocks_apart(PlanGraph* graph, int method, Report* report);

}  // namespace berth::format::plan_check
