// Convolution as its definition says, for tests: one loop an index, in double. Not part of any library.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::testing {

struct ConvCase {
  int64_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;  // channels of all groups together
  std::vector<int64_t> in, kernel, stride, padding, dilation, output_padding;
  bool transposed = false;

  size_t spatial() const { return in.size(); }
  std::vector<int64_t> out() const {
    std::vector<int64_t> result;
    for (size_t i = 0; i < spatial(); ++i) {
      const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      result.push_back(transposed ? (in[i] - 1) * stride[i] + reach - 2 * padding[i] + output_padding[i]
                                  : (in[i] + 2 * padding[i] - reach) / stride[i] + 1);
    }
    return result;
  }
  std::vector<int32_t> input_sizes() const { return sizes(batch, in_channels, in); }
  std::vector<int32_t> output_sizes() const { return sizes(batch, out_channels, out()); }
  std::vector<int32_t> weight_sizes() const {
    return transposed ? sizes(in_channels, out_channels / groups, kernel)
                      : sizes(out_channels, in_channels / groups, kernel);
  }
  std::string text() const {
    const auto list = [](const std::vector<int64_t>& v) {
      std::string s = "[";
      for (const int64_t x : v) s += std::to_string(x) + " ";
      return s + "]";
    };
    return (transposed ? "transposed " : "") + std::string("batch ") + std::to_string(batch) + " groups " +
           std::to_string(groups) + " channels " + std::to_string(in_channels) + "->" + std::to_string(out_channels) +
           " in " + list(in) + " kernel " + list(kernel) + " stride " + list(stride) + " padding " + list(padding) +
           " dilation " + list(dilation) + " output_padding " + list(output_padding);
  }

 private:
  static std::vector<int32_t> sizes(int64_t a, int64_t b, const std::vector<int64_t>& rest) {
    std::vector<int32_t> result = {static_cast<int32_t>(a), static_cast<int32_t>(b)};
    for (const int64_t x : rest) result.push_back(static_cast<int32_t>(x));
    return result;
  }
};

/// All tensors in row-major order; `bias` may be empty. Each input element meets each tap: in a forward convolution the
/// position it is added to is (i + padding - k * dilation) / stride if that is whole, in a transposed one
/// i * stride - padding + k * dilation.
inline std::vector<double> reference_convolution(const ConvCase& c, const std::vector<double>& input,
                                                 const std::vector<double>& weight, const std::vector<double>& bias) {
  // Missing outer axes have size 1.
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{}, dilation{1, 1, 1};
  const std::vector<int64_t> out_sizes = c.out();
  for (size_t i = 0; i < c.spatial(); ++i) {
    const size_t a = 3 - c.spatial() + i;
    in[a] = c.in[i], out[a] = out_sizes[i], kernel[a] = c.kernel[i];
    stride[a] = c.stride[i], padding[a] = c.padding[i], dilation[a] = c.dilation[i];
  }
  const int64_t positions = in[0] * in[1] * in[2];
  const int64_t out_places = out[0] * out[1] * out[2];
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t group_in = c.in_channels / c.groups;
  const int64_t group_out = c.out_channels / c.groups;
  std::vector<double> result(c.batch * c.out_channels * out_places);
  for (size_t i = 0; i < result.size() && !bias.empty(); ++i) {
    result[i] = bias[i / static_cast<size_t>(out_places) % bias.size()];
  }
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const std::array<int64_t, 3> i{position / in[2] / in[1], position / in[2] % in[1], position % in[2]};
      const std::array<int64_t, 3> k{tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]};
      std::array<int64_t, 3> o{};
      bool hits = true;
      for (size_t a = 0; a < 3; ++a) {
        const int64_t scaled =
            c.transposed ? i[a] * stride[a] - padding[a] + k[a] * dilation[a] : i[a] + padding[a] - k[a] * dilation[a];
        hits = hits && scaled >= 0 && (c.transposed || scaled % stride[a] == 0);
        o[a] = c.transposed ? scaled : scaled / stride[a];
        hits = hits && o[a] < out[a];
      }
      if (!hits) continue;
      const int64_t out_place = (o[0] * out[1] + o[1]) * out[2] + o[2];
      for (int64_t n = 0; n < c.batch; ++n) {
        for (int64_t g = 0; g < c.groups; ++g) {
          for (int64_t x = 0; x < group_in; ++x) {
            for (int64_t y = 0; y < group_out; ++y) {
              const int64_t ic = g * group_in + x;
              const int64_t oc = g * group_out + y;
              const int64_t w = c.transposed ? ic * group_out + y : oc * group_in + x;
              result[at((n * c.out_channels + oc) * out_places + out_place)] +=
                  input[at((n * c.in_channels + ic) * positions + position)] * weight[at(w * taps + tap)];
            }
          }
        }
      }
    }
  }
  return result;
}

}  // namespace berth::testing
