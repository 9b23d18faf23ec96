// Nodes of operators of one's own: those of other domains than ONNX's, by name (compiler/ir/own_operators.h).
#pragma once

#include "compiler/import/onnx/node_context.h"
#include "compiler/ir/own_operators.h"

namespace berth::onnx {

/// The operator DOMAIN::OP_TYPE of `own`, which may be null; null when there is none.
const ir::Operator* find_own(const ir::OperatorSet* own, const Node& node);

/// Tensors of the schema take the node's inputs in order, a list all that are left; the other parameters take the
/// attributes of their names. Fails for what the schema does not have.
void import_own(NodeContext& n, const ir::Operator& op);

}  // namespace berth::onnx
