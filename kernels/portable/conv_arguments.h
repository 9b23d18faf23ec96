// The arguments of a convolution, checked and in numbers.
#pragma once

#include <cstdint>

#include "kernels/portable/gemm.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::portable {

/// Three spatial axes always, outermost first; a convolution of fewer has leading axes of size 1.
struct Convolution {
  struct Axis {
    int64_t in = 1, out = 1, kernel = 1;
    int64_t stride = 1, padding = 0, dilation = 1, output_padding = 0;
    int64_t in_stride = 0, out_stride = 0, kernel_stride = 0;  // of the tensors, in elements
  };

  int spatial = 2;  // axes that the tensors have: 1, 2 or 3
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // of one group
  bool transposed = false;
  Axis axis[3];

  const Tensor* input = nullptr;
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;  // may be null
  Tensor* out = nullptr;
};

/// Reads and checks the arguments of aten::convolution.out: ranks, channels, dtypes, and every number so that what
/// follows neither overflows nor divides by zero. Does not look at the sizes of `out`, nor at any memory.
Error read_convolution(KernelContext& context, Span<EValue* const> args, Convolution* convolution);

/// The sizes of the result.
Sizes convolution_sizes(const Convolution& convolution);

/// Fills in the strides of all three tensors. REQUIRES: `out` has its sizes.
void read_convolution_strides(Convolution* convolution);

/// The convolution as a product; all batches and groups in one. REQUIRES: not transposed.
Product forward_product(const Convolution& convolution);

/// A transposed convolution writes each place o of an axis by those taps k for which o + padding - k * dilation is a
/// multiple of the stride. The places that are alike modulo the stride, a phase, use the same taps, so that each phase
/// is an ordinary convolution with some of the taps. phase[i] < min(stride, out) of axis i.
Product transposed_product(const Convolution& convolution, const int64_t (&phase)[3]);

}  // namespace berth::portable
