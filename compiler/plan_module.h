// From a module to its planned memory: the passes, then the plan of each method.
//
// Where devices are to work at the same time, delegates are cut where they meet (placement/group.cc). That pays where
// others can begin earlier, and costs calls and what fusion would have joined; so a method whose delegates were cut is
// planned with whole ones too, and is as it is estimated to take less time. Of equal times the whole ones are taken.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/memory/plan_memory.h"
#include "compiler/passes/pass.h"
#include "compiler/placement/options.h"

namespace berth {

struct PlannedModule {
  ir::Module module;
  std::vector<memory::MemoryPlan> plans;
  std::vector<RunReport> runs;   // of methods with CompileOptions::overlap
  std::vector<std::string> why;  // the remarks that `passes` wants
};

/// `memory` holds the options of each method; passes::Options::why_lines is not used. Failures of the passes and of the
/// plans.
Expected<PlannedModule> plan_module(ir::Module module, const CompileOptions& options, const placement::Options& placing,
                                    const std::vector<memory::MemoryOptions>& memory, const passes::Options& passes);

}  // namespace berth
