// fuse_quantized: convolutions and matrix products of quantised numbers, on the integers themselves.
//
//     dequantised(%x), dequantised(weight)
//     %c = aten::convolution(…), aten::mm, aten::addmm        →   berth::quantized_conv or berth::quantized_linear
//     + bias, + residual, activation, quantised                   the same operator
//     + dequantised(%r), where %c was quantised before            the same operator, rounded in the middle
//     sums of integers * scale                                    the same operator (integer_sums.h)
//
// Weights and their scales are constants; the input's scale may be one of the run. Where a result of 8 bits has nothing
// but limits behind it, its scale and the limits go into the scale of the sums and the range, as in ONNX Runtime's
// QLinearConv. For targets that multiply bytes (multiplies_bytes()); products of two tensors that are computed, as in
// attention, only for those that take bytes everywhere (takes_bytes()). What is not matched stays as it is, and folding
// makes numbers of its constants afterwards.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_quantized(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
