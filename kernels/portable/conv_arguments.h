// The arguments of a convolution, checked and in numbers.
#pragma once

#include <cstdint>

#include "kernels/portable/gemm.h"
#include "kernels/portable/layout_arguments.h"
#include "runtime/arguments.h"

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
  bool checked_types = false;  // the caller has checked the dtypes, which may differ
  Axis axis[3];

  const Tensor* input = nullptr;
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;  // may be null
  Tensor* out = nullptr;
};

/// A convolution's lists hold one number for all axes, or one for each.
struct ConvolutionLists {
  IntList stride;
  IntList padding;
  IntList dilation;
  IntList output_padding;
};

/// Reads `lists` and checks ranks, channels, dtypes, and every number so that what follows neither overflows nor
/// divides by zero. Does not look at the sizes of `out`, nor at any memory. REQUIRES: the convolution has its tensors,
/// `groups` and `transposed`.
Error read_convolution_lists(KernelContext& context, const ConvolutionLists& lists, Convolution* convolution);

/// The same for arguments named like those of aten::convolution, with this bias and result.
template <typename Args>
Error read_convolution(KernelContext& context, const Args& args, const Tensor* bias, Tensor& out, Convolution* c) {
  c->input = &args.input;
  c->weight = &args.weight;
  c->bias = bias;
  c->out = &out;
  c->transposed = args.transposed;
  c->groups = args.groups;
  return read_convolution_lists(context, {args.stride, args.padding, args.dilation, args.output_padding}, c);
}

/// Resizes the result and computes it; what read_convolution() has filled in is enough (conv.cc).
Error run_convolution(KernelContext& context, Convolution convolution);
/// What that takes of temporary memory, padding included (temp_bytes.h).
size_t run_convolution_temp_bytes(Convolution convolution, int threads);

/// The sizes of the result.
Sizes convolution_sizes(const Convolution& convolution);

/// Fills in the strides of all three tensors. REQUIRES: `out` has its sizes.
void read_convolution_strides(Convolution* convolution);

/// The convolution as a product; all batches and groups in one. REQUIRES: not transposed.
Product forward_product(const Convolution& convolution);

/// A transposed convolution writes each position o of an axis by those taps k for which o + padding - k * dilation is a
/// multiple of the stride. The positions that are alike modulo the stride, a phase, use the same taps, so that each
/// phase is an ordinary convolution with some of the taps. phase[i] < min(stride, out) of axis i.
Product transposed_product(const Convolution& convolution, const int64_t (&phase)[3]);

}  // namespace berth::portable
