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

/// What a transposed convolution takes away at both ends of one dimension, and adds at the end.
struct Trim {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t extra = 0;  // output_padding
};

/// A transposed convolution over three axes, of a weight [in, out / groups, kernel…] whose sizes are known; a stride, a
/// dilation and a trim for each axis.
ValueId deep_transposed(Lowering& n, const Convolution& in, const std::vector<int64_t>& strides,
                        const std::vector<int64_t>& dilations, std::vector<Trim> trims);

/// The convolution with `window`; fails for more than three spatial dimensions.
ValueId convolution(Lowering& n, const Convolution& in, const Window& window);

}  // namespace berth::lowering
