// The window of ONNX's convolutions and poolings, with auto_pad resolved.
#pragma once

#include "compiler/import/lowering/window.h"
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

using lowering::pad_spatial;
using lowering::Window;

/// Reads the attributes of a node whose input `x` is [N, C, spatial…]. `kernel` is that of the weight, or empty: then
/// the attribute kernel_shape says it. Padding is resolved for a forward window (not for ConvTranspose). Fails on
/// lengths that do not fit, strides or dilations below 1, negative padding.
Window read_window(NodeContext& n, ValueId x, std::vector<int64_t> kernel);

}  // namespace berth::onnx
