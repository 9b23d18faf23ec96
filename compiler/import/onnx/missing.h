// Checks that all operators of a model are supported, before anything is imported.
#pragma once

#include "compiler/import/onnx/model.h"

namespace berth::onnx {

/// Whether `domain` is ai.onnx.
bool is_standard(std::string_view domain);

/// The version of ai.onnx among `opsets`, 0 when it is not there.
int64_t opset_of(const std::vector<OpsetImport>& opsets);

/// The model-local function that `node` calls, or null.
const Function* find_function(const Model& model, const Node& node);

/// NotSupported, with all unsupported operators and the names of their nodes (the first few of each), including those
/// in the bodies of functions.
Status check_operators(const Model& model);

}  // namespace berth::onnx
