// The `.pt2` importer: reads an archive of torch.export.save into a Module with one method, "forward".
//
// Reads schema 8 (PyTorch 2.9 to 2.15), before run_decompositions() and after it. Weights stay in the mapped file.
// Buffers that the model changes are states of the module. Inputs that were numbers, strings or None when the model was
// exported are fixed and not inputs of the method; neither is an input whose number is the size of a tensor.
#pragma once

#include <string>

#include "base/failure.h"
#include "base/span.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Imports the archive at `path`. Blobs of the module map the file. InvalidProgram or NotFound for an invalid file;
/// NotSupported for what is not supported, InvalidArgument for options that do not match, with the node and its line of
/// Python as place.
Expected<ir::Module> import_pt2(const std::string& path, const ImportOptions& options = {});

/// The same from memory, which is not needed afterwards: weights are copied.
Expected<ir::Module> import_pt2(Span<const uint8_t> bytes, const ImportOptions& options = {});

}  // namespace berth
