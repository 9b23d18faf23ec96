#include "compiler/quantize/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::quantize {

Scale scale_of(Range range, DType dtype) {
  Scale out;
  out.dtype = dtype;
  const double low = std::min(0.0, static_cast<double>(range.low));
  const double high = std::max(0.0, static_cast<double>(range.high));
  const double scale = (high - low) / 255;
  if (scale < std::numeric_limits<float>::min()) return out;
  out.scale = static_cast<float>(std::min<double>(scale, std::numeric_limits<float>::max()));
  const double zero = std::nearbyint(out.low() - low / static_cast<double>(out.scale));
  out.zero_point = static_cast<int>(std::clamp<double>(zero, out.low(), out.high()));
  return out;
}

bool quantize_weight(Span<const float> weight, size_t outer, size_t channels, size_t inner, float input_scale,
                     Span<const float> bias, Weight* out) {
  std::vector<double> largest(channels);
  for (size_t i = 0; i < weight.size(); ++i) {
    if (!std::isfinite(weight[i])) return false;
    double& of_channel = largest[i / inner % channels];
    of_channel = std::max(of_channel, std::fabs(static_cast<double>(weight[i])));
  }
  out->scales.assign(channels, 1);
  for (size_t c = 0; c < channels; ++c) {
    double scale = largest[c] / 127;
    if (!bias.empty()) {
      // Half of the integers are left for the sums that the bias is added to.
      scale = std::max(scale, std::fabs(static_cast<double>(bias[c])) / (input_scale * std::ldexp(1.0, 30)));
    }
    if (scale >= std::numeric_limits<float>::min()) out->scales[c] = static_cast<float>(scale);
  }
  out->integers.resize(weight.size());
  for (size_t i = 0; i < outer * channels * inner; ++i) {
    const double steps = std::nearbyint(static_cast<double>(weight[i]) / out->scales[i / inner % channels]);
    out->integers[i] = static_cast<int8_t>(std::clamp(steps, -127.0, 127.0));
  }
  return true;
}

std::vector<float> rounded_bias(Span<const float> bias, float input_scale, const std::vector<float>& scales) {
  std::vector<float> rounded;
  for (size_t c = 0; c < bias.size(); ++c) {
    const float scale = input_scale * scales[c];
    const double steps = scale > 0 ? std::nearbyint(static_cast<double>(bias[c]) / scale) : 0;
    const double most = std::numeric_limits<int32_t>::max();
    rounded.push_back(static_cast<float>(std::clamp(steps, -most, most)) * scale);
  }
  return rounded;
}

}  // namespace berth::quantize
