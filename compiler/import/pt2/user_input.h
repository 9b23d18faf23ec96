// The inputs that the caller sets: sizes and types.
#pragma once

#include <string>

#include "compiler/import/pt2/schema.h"
#include "compiler/import/pt2/symbols.h"
#include "compiler/ir/type.h"

namespace berth::pt2 {

/// Of the input `name`.
Failure input_failure(const std::string& name, std::string message, Error code = Error::kNotSupported);

/// SymbolTable::bind_inputs() of the inputs that the caller sets.
Status bind_input_sizes(const Program& program, const ImportOptions& options, SymbolTable& symbols);

/// The type of the tensor `name`, in the order of dimensions that it has in the file. REQUIRES: `graph` has its type.
Expected<ir::TensorType> user_input_type(const Graph& graph, const std::string& name, SymbolTable& symbols);

}  // namespace berth::pt2
