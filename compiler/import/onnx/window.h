// Window: the geometry that convolutions and poolings share: kernel, strides, dilations and padding of each spatial
// dimension, with auto_pad resolved.
#pragma once

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<Dim> begins;  // padding before the first element
  std::vector<Dim> ends;    // and after the last
  bool ceil = false;

  size_t rank() const { return kernel.size(); }
  /// Whether each dimension is padded by the same constant on both sides.
  bool symmetric() const;
  bool padded() const;
};

/// Reads the attributes of a node whose input `x` is [N, C, spatial…]. `kernel` is that of the weight, or empty: then
/// the attribute kernel_shape says it. Padding is resolved for a forward window (not for ConvTranspose). Fails on
/// lengths that do not fit, strides or dilations below 1, negative padding.
Window read_window(NodeContext& n, ValueId x, std::vector<int64_t> kernel);

/// `x` padded with `value` by the window's padding in its last dimensions.
ValueId pad_spatial(NodeContext& n, ValueId x, const Window& window, double value);

}  // namespace berth::onnx
