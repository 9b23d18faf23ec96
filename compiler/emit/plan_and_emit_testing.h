// Memory and emission in one call, for tests of either.
#pragma once

#include "compiler/emit/emit.h"
#include "compiler/memory/plan_memory.h"

namespace berth::emit::testing {

inline Expected<EmittedProgram> plan_and_emit(const ir::Module& module, const memory::MemoryOptions& memory = {},
                                              const EmitOptions& options = {}) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<memory::MemoryPlan> plans, memory::plan_memory(module, memory));
  return emit(module, plans, options);
}

}  // namespace berth::emit::testing
