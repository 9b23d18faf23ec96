// The schedule of a method as a problem: tasks and the buffers between them (compiler/memory/scheduling).
#pragma once

#include "compiler/memory/model.h"
#include "compiler/memory/scheduling/problem.h"

namespace berth::memory {

/// Whether copies between devices keep their order among each other.
enum class CopyOrder : uint8_t { kKept, kFree };

/// The nodes of `method`'s body as tasks, its buffers as buffers. Reads and writes of state, nodes with regions, and
/// copies between devices where they do so keep their order among each other. REQUIRES: `model` is the method's, made
/// with `set`.
scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set, CopyOrder copies = CopyOrder::kKept);

/// A region of a branch or loop.
struct RegionId {
  ir::NodeId node;
  size_t region = 0;
};

/// All regions of the method's nodes, those of delegates left out; what is inside of a region comes before it.
std::vector<RegionId> schedulable_regions(const ir::Method& method);

/// The nodes of one of them as tasks, and the buffers that are alive while it runs. What reads a carried value that the
/// next one takes the place of stays before the node that makes that.
scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set, const RegionId& region);

/// Whether schedule_problem() says all that a plan may share, so that its bounds hold for plans: no part may lie in a
/// whole, and no node has branches or loops, whose values it counts as live at once.
bool is_schedule_exact(const ir::Method& method);

}  // namespace berth::memory
