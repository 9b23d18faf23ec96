// Convolutions. ATen's kernel takes one and two spatial dimensions with the same padding on both sides; everything else
// is padded first, or, with three spatial dimensions, summed over the first one.
#pragma once

#include "compiler/import/lowering/window.h"

namespace berth::lowering {

struct Convolution {
  ValueId x;       // [N, C, spatial…]
  ValueId weight;  // [out, C / groups, kernel…]
  Argument bias;   // [out], or None
  int64_t groups = 1;
};

/// The convolution with `window`; fails for more than three spatial dimensions.
ValueId convolution(Lowering& n, const Convolution& in, const Window& window);

}  // namespace berth::lowering
