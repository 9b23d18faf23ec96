// What CompileOptions say to the memory planner: options of each method.
#pragma once

#include <vector>

#include "compiler/compile.h"
#include "compiler/memory/options.h"
#include "compiler/placement/options.h"

namespace berth {

/// One for each method of the module, without banks. InvalidArgument for an alignment that cannot be, an operator that
/// is not computed in place, and a list of such operators where nothing is.
Expected<std::vector<memory::MemoryOptions>> memory_options(const ir::Module& module, const CompileOptions& options);

/// Adds banks and pins to `memory`, which has one for each method. A pin for all methods holds in those that have its
/// bank. Failures as memory::parse_bank(), parse_bank_pin(), check_pins() and bank_of_pins().
Status add_banks(const ir::Module& module, const CompileOptions& options, std::vector<memory::MemoryOptions>* memory);

/// The inputs and outputs that are the caller's memory on the host, by their positions, which no pass changes. Empty
/// when there are none.
Expected<memory::CallersMemory> callers_on_host(const ir::Module& module, const placement::Options& placing);

}  // namespace berth
