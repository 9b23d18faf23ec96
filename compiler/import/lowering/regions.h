// Images that are sampled at computed positions: the grids of spatial transformers, and deformable convolutions.
#pragma once

#include <vector>

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

/// The most pixels of a grid.
constexpr int64_t kMaxGrid = 1 << 24;

/// Where each pixel of a grid of `size` ([H, W] or [D, H, W]) lies under the matrices `theta` [N, rank, rank + 1]:
/// [N, size…, rank], x before y before z, from -1 to 1. The outermost pixels' centres are there with `align_corners`,
/// their outer edges without.
ValueId affine_grid(Lowering& n, ValueId theta, const std::vector<int64_t>& size, bool align_corners);

/// A convolution of the images `x` [N, C, H, W] whose kernel's elements each read where `offsets`
/// [N, 2 * area * offset_groups, rows, columns] move them, and times `mask` [N, area * offset_groups, rows, columns].
struct DeformedConvolution {
  ValueId x, weight, offsets;
  ValueId mask, bias;  // may be invalid: none
  std::vector<int64_t> strides{1, 1}, dilations{1, 1};
  std::vector<int64_t> begins{0, 0};  // padding before the first pixel
  int64_t groups = 1, offset_groups = 1;
};

/// [N, weight's first, rows, columns]. Fails where the sizes do not fit each other, or height or width is open.
ValueId deformed_convolution(Lowering& n, const DeformedConvolution& c);

}  // namespace berth::lowering
