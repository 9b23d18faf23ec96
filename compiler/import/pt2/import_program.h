// From an exported program, as its archive describes it, to the IR.
#pragma once

#include "compiler/import/pt2/payloads.h"
#include "compiler/import/pt2/schema.h"
#include "compiler/import/pt2/symbols.h"
#include "compiler/ir/module.h"

namespace berth::pt2 {

/// Adds the method "forward" to `module`. Failures have the input, output or node as place; what is in `module` is not
/// to be used then.
Status import_program(const Program& program, Payloads payloads, const ImportOptions& options, ir::Module& module);

}  // namespace berth::pt2
