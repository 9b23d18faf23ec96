// The order of a method's nodes in which devices work at the same time: a device's part begins before the host waits
// for what another one made, and copies begin early (scheduling/fastest.h). Such an order has a higher peak;
// MemoryOptions::overlap says how much memory it may cost.
//
// A copy between devices reads its source while the device that has it goes on, so those bytes are kept until the copy
// is estimated to be done: a second buffer where one would have done.
//
// Nothing that runs the program needs to know: it is an order like any other, its arenas are planned and checked as
// such, and what runs at the same time is what a Method's streams do with it (docs/devices.md). If a copy takes longer
// than was estimated, what overwrites its source waits for it (runtime/pending_reads.h).
#pragma once

#include <string_view>

#include "compiler/memory/plan_schedule.h"

namespace berth::memory {

constexpr int64_t kMostOverlapPercent = 500;

/// "64K", "25%", "0": OverlapOptions without times.
Expected<OverlapOptions> parse_overlap(std::string_view text);

/// `least`, the plan of the least memory, or that of a faster order whose arenas take no more than is allowed; with
/// MethodPlan::run_time. Reads and writes of state, what has effects, and nodes with regions keep their order among
/// each other, and what is within regions stays as it is. Failures as plan_schedule(). REQUIRES: MemoryOptions::overlap
/// has times.
Expected<MethodPlan> plan_overlap(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                  const IdVector<ir::NodeId, int64_t>& scratch_bytes, MethodPlan least);

}  // namespace berth::memory
