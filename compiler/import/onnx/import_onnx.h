// The ONNX importer: reads a model file into a Module with one method, "forward".
//
// Reads IR versions 3 to 14 and opsets 7 to 28 of ai.onnx. Weights stay in the mapped file. Every operator becomes core
// ATen operators of format/operators.def; shape arithmetic on known sizes is evaluated while importing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/span.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"

namespace berth {

/// Imports the model at `path`; external data must be in or below its folder. Blobs of the module map the file.
/// InvalidProgram, InvalidExternalData or NotFound for an invalid file; NotSupported for what is not supported,
/// InvalidArgument for options that do not match, with the node as place: `onnx node "Conv_12"`.
Expected<ir::Module> import_onnx(const std::string& path, const ImportOptions& options = {});

/// The same from memory, which is not needed afterwards: weights are copied, and external data is refused.
Expected<ir::Module> import_onnx(Span<const uint8_t> bytes, const ImportOptions& options = {});

}  // namespace berth
