// ONNX demands that nodes stand behind those whose results they read. Tools append what they insert (the casts of
// convert_float_to_float16 with keep_io_types), and ONNX Runtime sorts, so such files are about.
#pragma once

#include <vector>

#include "compiler/import/onnx/model.h"

namespace berth::onnx {

/// Moves nodes before the first one that reads their results, itself or in a graph of its own; nodes that stand in
/// order keep it. What reads itself in a circle stays out of order. A name that a graph of a node binds is not read by
/// the node.
void order_nodes(std::vector<Node>& nodes);

}  // namespace berth::onnx
