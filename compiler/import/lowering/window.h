// Window: the geometry that convolutions and poolings share: kernel, strides, dilations and padding of each spatial
// dimension.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

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

/// `x`, [N, C, spatial…], padded with `value` by the window's padding in its last dimensions.
ValueId pad_spatial(Lowering& n, ValueId x, const Window& window, double value);

}  // namespace berth::lowering
