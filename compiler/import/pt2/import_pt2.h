// The `.pt2` importer's door: what torch.export.save wrote becomes a Module with one method, "forward".
//
// Reads schema 8 (PyTorch 2.9 to 2.15), before run_decompositions() and after it. Weights stay in the mapped file.
// Buffers that the model changes are states of the module. Inputs that were numbers, texts or None when the model was
// exported are fixed and no inputs of the method; so is an input whose number is the size of a tensor.
#pragma once

#include <string>

#include "base/failure.h"
#include "base/span.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Imports the archive at `path`. Blobs of the module map the file. Failures are the file's (InvalidProgram, NotFound),
/// or name what is not supported (NotSupported) or does not fit (InvalidArgument), with the node and the line of the
/// user's Python as place.
Expected<ir::Module> import_pt2(const std::string& path, const ImportOptions& options = {});

/// The same from memory, which may go afterwards: weights are copied.
Expected<ir::Module> import_pt2(Span<const uint8_t> bytes, const ImportOptions& options = {});

}  // namespace berth
