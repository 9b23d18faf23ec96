// Checks that all operators of a model are supported, before anything is imported.
#pragma once

#include "compiler/import/onnx/model.h"
#include "compiler/ir/own_operators.h"

namespace berth::onnx {

/// Whether `domain` is ai.onnx.
bool is_standard(std::string_view domain);

/// The version of ai.onnx among `opsets`, 0 when it is not there.
int64_t opset_of(const std::vector<OpsetImport>& opsets);

/// The model-local function that `node` calls, or null.
const Function* find_function(const Model& model, const Node& node);

/// NotSupported, with all unsupported operators and the names of their nodes (the first few of each), including those
/// in the bodies of functions. Those of `own`, which may be null, are supported, and come before functions of the
/// model: a function is what an operator of that name means to who has no kernel for it.
Status check_operators(const Model& model, const ir::OperatorSet* own);

}  // namespace berth::onnx
