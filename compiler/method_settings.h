// CompileOptions::methods: options of single methods; and what all options say of states.
#pragma once

#include <string>

#include "compiler/compile.h"

namespace berth {

/// `options` as they are for one method.
CompileOptions options_of(const CompileOptions& options, const std::string& method);

/// Whether CompileOptions::overlap is set for any method.
bool overlaps(const CompileOptions& options);

/// InvalidArgument for the settings of a method that the module does not have.
Status check_method_names(const ir::Module& module, const CompileOptions& options);

/// Makes states of the inputs and outputs that CompileOptions::states name, those of single methods first, whose ports
/// are then gone. Failures as passes::make_states().
Status make_states(ir::Module& module, const CompileOptions& options);

}  // namespace berth
