// The emitter: a module and the plan of its memory as the tables of a program.
//
//     BERTH_ASSIGN_OR_RETURN(const std::vector<memory::MemoryPlan> plans, memory::plan_memory(module, options));
//     BERTH_ASSIGN_OR_RETURN(EmittedProgram emitted, emit(module, plans));
//     write_program(emitted.program, sink);
//
// The program is ExecuTorch's: its runtime runs it where it has the kernels. A node that calls a delegate becomes a
// DelegateCall; its region a nested program in the delegate's payload (delegates.h).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/emit/external_constants.h"
#include "compiler/emit/options.h"
#include "compiler/emit/reports.h"
#include "compiler/ir/module.h"
#include "compiler/memory/plan_memory.h"
#include "format/write/program_desc.h"

namespace berth::emit {

struct EmittedProgram {
  format::ProgramDesc program;         // shares the constants' bytes with the module, and keeps them alive
  std::vector<ExternalFile> external;  // the data files to be written beside it, which share bytes in the same way
  std::vector<ArenaReport> arenas;
  std::vector<BankReport> banks;
  std::vector<DelegateReport> delegates;
  std::vector<CopyReport> copies;
  int64_t instructions = 0;    // of all methods
  int64_t views = 0;           // values that are another name for the bytes of one before, in all methods
  int64_t in_place = 0;        // values that are computed into the bytes of an input or of state, in all methods
  int64_t elided = 0;          // concatenations and slices that are not computed, as their parts lie in sub-buffers
  int64_t saved_by_order = 0;  // bytes of arenas, scratch of delegates included
  double plan_ms = 0;          // spent in the planner
  bool truncated = false;      // the time limit cut planning short
  bool order_optimal = false;  // no order of the nodes has a lower plan, of any method or delegate
  /// For each method of the program and each of its instructions, the index of the node in ir::Method::nodes that it
  /// comes from, or -1.
  std::vector<std::vector<int32_t>> nodes;
  /// Of each method of the program.
  std::vector<std::vector<LiveRange>> live_ranges;
};

/// Emits the methods that `plans` are of, in that order; constants with equal bytes are one. Fails with the method and
/// node for what a program cannot say (emit_method.h, delegates.h). REQUIRES: `plans` are memory::plan_memory(module);
/// ir::verify(module) is ok.
Expected<EmittedProgram> emit(const ir::Module& module, const std::vector<memory::MemoryPlan>& plans,
                              const EmitOptions& options = {});

}  // namespace berth::emit
