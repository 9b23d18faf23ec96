// Scales: integers q of 8 bits that stand for (q - zero_point) * scale.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/span.h"
#include "compiler/quantize/ranges.h"

namespace berth::quantize {

struct Scale {
  float scale = 1;
  int zero_point = 0;
  DType dtype = DType::kU8;

  int low() const { return dtype == DType::kU8 ? 0 : -128; }
  int high() const { return dtype == DType::kU8 ? 255 : 127; }
};

/// For numbers within `range`, which is widened to hold 0, so that a zero of padding is exact: the ends of the integers
/// stand for its ends, but that the zero point is rounded. A range of nothing but 0 has a scale of 1. REQUIRES: u8 or
/// i8; finite numbers.
Scale scale_of(Range range, DType dtype);

/// A weight in i8, with a scale for each channel: [outer, channels, inner], row-major.
struct Weight {
  std::vector<int8_t> integers;
  std::vector<float> scales;
};

/// The largest magnitude of each channel becomes 127, so that zero points are 0 and -128 is not used. Scales grow as
/// far as the biases need that have to fit i32 with scale `input_scale` times theirs; `bias` may be empty. Nothing for
/// weights that are not all finite.
bool quantize_weight(Span<const float> weight, size_t outer, size_t channels, size_t inner, float input_scale,
                     Span<const float> bias, Weight* out);

/// `bias` rounded to multiples of input_scale times the channel's scale: integers of 32 bits, as the numbers that they
/// stand for.
std::vector<float> rounded_bias(Span<const float> bias, float input_scale, const std::vector<float>& scales);

}  // namespace berth::quantize
