// Transposed convolutions by their definition, for weights that hold infinities or NaN.
//
// As ordinary convolutions, a phase at a time (conv_arguments.h), a tap that reaches past the input's edge is
// multiplied with a zero. That is nothing for a finite weight, and NaN for any other.
#pragma once

#include "kernels/portable/conv_arguments.h"

namespace berth::portable {

/// Whether every element is a finite number. REQUIRES: it has its memory.
bool is_finite(const Tensor& tensor);

/// out[o] = bias + the sum of input[i] * weight[k] over those i and k with i * stride + k * dilation = o + padding, in
/// double precision. Slow: a position of the result asks every tap. REQUIRES: transposed, of a floating dtype, with its
/// strides read.
void run_transposed_by_definition(KernelContext& context, const Convolution& convolution);

}  // namespace berth::portable
