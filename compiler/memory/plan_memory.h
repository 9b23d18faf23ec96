// Memory planning: which bytes of which arena hold which value of a method, and when. The one door of this room.
//
//     BERTH_ASSIGN_OR_RETURN(const std::vector<memory::MemoryPlan> plans, memory::plan_memory(module, options));
//     BERTH_ASSIGN_OR_RETURN(emit::EmittedProgram program, emit::emit(module, plans));
//
// How a method is planned:
//
//     plan_delegate     for each call of a delegate: the memory of its region, which says how large its scratch is, and
//                       which of its inputs lie there
//     plan_schedule     for the method: in which order its nodes run, and where its buffers lie
//       make_model        liveness.h (who shares bytes, live ranges), then candidates for sharing more
//                         (in_place.h, sub_buffers.h)
//       packing::plan_best  offsets for the buffers; it knows no graph
//       scheduling::best_schedule
//                         an order with a lower peak; it knows no graph either
//     plan_overlap      if wanted: an order in which devices work at the same time
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/plan_delegate.h"
#include "compiler/memory/plan_schedule.h"

namespace berth::memory {

struct MemoryPlan {
  size_t method = 0;  // index of the method in the module
  MethodPlan plan;
  std::vector<DelegatePlan> delegates;  // of the calls whose region is compiled here, in the order of the nodes

  // The delegates' included:
  int64_t saved_by_schedule() const;
  bool schedule_optimal() const;
  PlanningCost cost() const;

  /// The plan of `call`; null when its delegate was compiled elsewhere.
  const DelegatePlan* delegate(ir::NodeId call) const;
};

/// The memory of module.methods[method]. Failures as make_model(), plan_schedule() and plan_delegate(); those of a
/// delegate name the call and the node in it. REQUIRES: ir::verify(module) is ok.
Expected<MemoryPlan> plan_memory(const ir::Module& module, size_t method, const MemoryOptions& options = {});

/// The memory of all methods, sorted by their names: as a program lists them. MemoryOptions::time_limit is for all of
/// them together. InvalidArgument also for two methods of one name, and an alignment that is not a power of two up to
/// 2^30.
Expected<std::vector<MemoryPlan>> plan_memory(const ir::Module& module, const MemoryOptions& options = {});

/// The same with options for each method, in the module's order. State lies at the same place of every method; the time
/// limit is that of the first. InvalidArgument also where banks differ so that state cannot: its arena would have
/// another number, or lie in another bank. REQUIRES: as many options as methods.
Expected<std::vector<MemoryPlan>> plan_memory(const ir::Module& module, std::vector<MemoryOptions> options);

/// What that does first: where methods are planned in different ways, their options say where state lies. Changes
/// nothing when it is called again. REQUIRES: as many options as methods.
void lay_state_alike(const ir::Module& module, std::vector<MemoryOptions>* options);

}  // namespace berth::memory
