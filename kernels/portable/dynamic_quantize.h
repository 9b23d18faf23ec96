// berth::dynamic_quantize: the bytes of a tensor for the range of its own elements, as ONNX defines
// DynamicQuantizeLinear.
//
//   low, high         the smallest and largest element, and 0
//   out_scale         (high - low) / 255; 1 where that is 0
//   out_zero_point    -low / scale, within 0 and 255, rounded half to even
//   out               input / scale, rounded, plus the zero point, within 0 and 255
//
// Computed in f32, step by step. Of a tensor with an element that is NaN, scale is NaN and all else 0.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the outputs. Sets `*flat` to whether the
/// integers lie as the input does. InvalidArgument for a tensor without elements, which has no range.
Error prepare_dynamic_quantize(KernelContext& context, const arguments::dynamic_quantize_out& args, bool* flat);

struct DynamicRange {
  float scale;
  uint8_t zero_point;
};

/// What `low` and `high`, the smallest and the largest element, give; both NaN where an element is.
DynamicRange dynamic_range(float low, float high);

}  // namespace berth::portable
