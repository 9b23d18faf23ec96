// Import of program files, ExecuTorch's or Berth's: converts instructions back to a graph.
//
// A program's values are variables, which may be written repeatedly and may share memory; the IR's values never change.
// So each write creates a new value, and each read uses the last one written to those bytes:
//
//   out variants        the functional operator (format/operators.def); copy_ gives its target the source's value
//   elided views        a tensor that nothing writes, with the bytes of another: view_copy of what was written there
//   state               planned values with a name or an initial value, or read before anything writes them, and no
//                       inputs: state_read at the start, state_write at the end where they were changed. Methods share
//                       the state at one place, of one type and name
//   bounded sizes       sizes of inputs become symbols (berth.meta's; else a symbol a dimension, which becomes a number
//                       where the program's operators leave no choice); sym_size and arithmetic on it become Dims
//   numbers             that are read from tensors (_local_scalar_dense), and arithmetic on sizes that no Dim says
//                       (true quotients, comparisons, choices), are tensors: an output that is one becomes a tensor
//                       without dimensions, and operators that have a variant with a tensor get it so; where a size or
//                       another number must be known, they are refused
//   inputs              that the program changes in the caller's memory: their new values become additional outputs
//   jumps               ExecuTorch's cond becomes berth::if, its map berth::scan; Berth's own loops berth::while and
//                       berth::scan
//   delegates           opaque calls with payload and compile specs
//   dimension orders    operators are given row-major tensors; inputs, outputs and state keep the order they have
//
// Constants stay in the mapped file, or in the data files (.ptd) beside it (external_data.h). Numbers and strings among
// a method's inputs, which can only repeat the values of the export, are dropped. Each file is fully verified first
// (format/verify.h, format/plan_check/verify_plan.h).
#pragma once

#include <string>

#include "base/span.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Whether a file that begins with `bytes` says that it is a program ("ET12").
bool looks_like_program(Span<const uint8_t> bytes);

/// Reads the program at `path`. NotFound, AccessFailed; InvalidProgram for an invalid file, NotSupported for what the
/// IR cannot express, with the method and the instruction as place; OutOfResources for far more work than the file's
/// size justifies.
Expected<ir::Module> import_pte(const std::string& path, const ImportOptions& options);
/// The same for a file in memory, at a multiple of 16; constants are copied.
Expected<ir::Module> import_pte(Span<const uint8_t> bytes, const ImportOptions& options);

}  // namespace berth
