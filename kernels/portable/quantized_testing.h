// For tests: calls of berth::quantized_linear and berth::quantized_conv with random arguments. Not part of any library.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/portable/kernel_testing.h"

namespace berth::testing {

struct QuantizedCase {
  bool conv = false;
  Array input{DType::kU8, {0}}, weight{DType::kI8, {0}}, scale{DType::kF32, {0}}, out{DType::kF32, {0}};
  std::optional<Array> input_scale, input_zero, weight_zero, bias, residual;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  std::string activation = "none";
  double alpha = 0, beta = 0;
  double middle_scale = 0;
  int64_t middle_zero = 0;
  double residual_scale = 1;
  int64_t residual_zero = 0;
  double out_scale = 1;
  int64_t out_zero = 0, out_min = 0, out_max = 0;
  std::string rounding = "divide";

  /// With another result than `out`, and perhaps another weight.
  std::vector<Arg> args(const Array& to, const Array& used, const std::string& packing) const {
    const auto optional = [](const std::optional<Array>& array) { return array ? Arg(*array) : Arg(nullptr); };
    std::vector<Arg> all = {input, optional(input_scale), optional(input_zero), used, optional(weight_zero),
                            scale, optional(bias),        optional(residual)};
    if (conv) {
      for (const auto* list : {&stride, &padding, &dilation}) all.emplace_back(*list);
      all.emplace_back(groups);
    }
    for (const Arg& arg :
         {Arg(activation.c_str()), Arg(alpha), Arg(beta), Arg(middle_scale), Arg(middle_zero), Arg(residual_scale),
          Arg(residual_zero), Arg(out_scale), Arg(out_zero), Arg(out_min), Arg(out_max), Arg(rounding.c_str()),
          Arg(static_cast<int64_t>(out.tensor().dtype())), Arg(packing.c_str()), Arg(to)}) {
      all.push_back(arg);
    }
    return all;
  }
  std::vector<Arg> args() const { return args(out, weight, ""); }
};

/// Makes cases whose results are spread over the numbers of 8 bits, many of them halfway between two.
class QuantizedCases {
 public:
  explicit QuantizedCases(unsigned seed) : random_(seed) {}

  /// Now and then a scale is 0, infinite, NaN or negative where `hostile`.
  QuantizedCase linear(int32_t rows, int32_t depth, int32_t columns, bool hostile = false) {
    QuantizedCase c;
    c.input = bytes({rows, depth});
    c.weight = bytes({depth, columns});
    finish(c, rows, columns, depth, {rows, columns}, {}, hostile);
    return c;
  }

  /// A product of two matrices for each of a batch.
  QuantizedCase matrices(int32_t batch, int32_t rows, int32_t depth, int32_t columns, bool hostile = false) {
    QuantizedCase c;
    c.input = bytes({batch, rows, depth});
    c.weight = bytes({batch, depth, columns});
    finish(c, 1, columns, depth, {batch, rows, columns}, {}, hostile);
    return c;
  }

  struct Image {
    int32_t batch = 1, groups = 1, in = 1, out = 1;  // channels of a group
    std::vector<int32_t> size, kernel;
    std::vector<int64_t> stride, padding, dilation;
  };
  /// Empty where the window does not fit.
  std::optional<QuantizedCase> convolution(const Image& image, const std::vector<uint8_t>& order,
                                           bool hostile = false) {
    QuantizedCase c;
    c.conv = true;
    c.groups = image.groups;
    c.stride = image.stride;
    c.padding = image.padding;
    c.dilation = image.dilation;
    std::vector<int32_t> in = {image.batch, image.groups * image.in};
    std::vector<int32_t> window = {image.groups * image.out, image.in};
    std::vector<int32_t> out = {image.batch, image.groups * image.out};
    int64_t depth = image.in;
    for (size_t i = 0; i < image.size.size(); ++i) {
      const int64_t room = image.size[i] + 2 * image.padding[i] - ((image.kernel[i] - 1) * image.dilation[i] + 1);
      if (room < 0) return std::nullopt;
      in.push_back(image.size[i]);
      window.push_back(image.kernel[i]);
      out.push_back(static_cast<int32_t>(room / image.stride[i] + 1));
      depth *= image.kernel[i];
    }
    c.input = bytes(in, order);
    c.weight = bytes(window);
    finish(c, 1, image.groups * image.out, depth, out, order, hostile);
    return c;
  }

  int32_t whole(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  bool truth() { return whole(0, 1) == 0; }
  bool seldom() { return whole(0, 4) == 0; }
  std::mt19937& random() { return random_; }

 private:
  Array bytes(std::vector<int32_t> sizes, const std::vector<uint8_t>& order = {}) {
    const Array array(truth() ? DType::kU8 : DType::kI8, std::move(sizes), {}, order);
    uint8_t* data = array.tensor().data<uint8_t>();
    const bool extreme = seldom();  // nothing but the ends of the range, where narrow sums would saturate
    for (int64_t i = 0; i < array.tensor().numel(); ++i) {
      data[i] = extreme ? (truth() ? 0x7F : truth() ? 0x80 : 0xFF) : static_cast<uint8_t>(random_());
    }
    return array;
  }
  static int64_t lowest(DType dtype) { return dtype == DType::kI8 ? -128 : 0; }
  int64_t number_of(DType dtype) { return whole(0, 255) + lowest(dtype); }

  std::optional<Array> zeros(DType of, int32_t count) {
    if (truth()) return std::nullopt;
    const Array array(truth() ? of : DType::kI32, {truth() ? 1 : count});
    std::vector<int64_t> values(array.tensor().numel());
    for (int64_t& value : values) value = number_of(of);
    array.set_integers(values);
    return array;
  }
  double number(double around, bool hostile) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double specials[] = {0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -around, 1e-38};
    if (hostile && seldom()) return specials[whole(0, 5)];
    if (truth()) return std::exp2(std::round(std::log2(around)));
    return around * std::uniform_real_distribution<double>(0.3, 3)(random_);
  }
  Array numbers(int32_t count, double around, bool hostile) {
    std::vector<double> values(count);
    for (double& value : values) value = number(around, hostile);
    return f32({count}, values);
  }

  void finish(QuantizedCase& c, int32_t rows, int32_t columns, int64_t depth, const std::vector<int32_t>& sizes,
              const std::vector<uint8_t>& order, bool hostile) {
    const DType types[] = {DType::kU8, DType::kI8, DType::kF32};
    const DType dtype = types[whole(0, 2)];
    c.out = Array(dtype, sizes, {}, order);
    c.input_zero = zeros(c.input.tensor().dtype(), rows);
    c.weight_zero = zeros(c.weight.tensor().dtype(), columns);
    const double one = 1 / (5500 * std::sqrt(static_cast<double>(depth) + 1));  // scales t to about 1
    const double many = seldom() ? 1 : 50;
    const bool apart = truth();
    if (apart) c.input_scale = numbers(truth() ? 1 : rows, 1.0 / 64, hostile);
    c.scale = numbers(truth() ? 1 : columns, one * many * (apart ? 64 : 1), hostile);
    if (seldom()) {
      c.bias = numbers(columns, many / 4, hostile);
    } else if (truth()) {
      c.bias = i32({columns});
      std::vector<int64_t> values(columns);
      for (int64_t& value : values) value = seldom() ? static_cast<int32_t>(random_()) : whole(-9000, 9000);
      c.bias->set_integers(values);
    }
    if (truth()) {
      c.residual = Array(types[whole(0, 2)], sizes, {}, truth() ? order : std::vector<uint8_t>{});
      std::vector<double> values(c.residual->tensor().numel());
      const DType of = c.residual->tensor().dtype();
      const bool whole_numbers = of != DType::kF32;
      for (double& value : values) value = whole_numbers ? static_cast<double>(number_of(of)) : whole(-999, 999) / 16.0;
      c.residual->set(values);
      c.residual_scale = number(many / 64, hostile);
      c.residual_zero = number_of(of);
      if (!whole_numbers) c.residual_zero = 0;
    }
    const char* activations[] = {"relu", "clamp", "leaky_relu", "hard_swish", "gelu", "sigmoid"};
    if (truth()) c.activation = activations[truth() ? whole(0, 1) : whole(2, 5)];
    c.alpha = c.activation == "clamp" ? -3 : 0.125;
    c.beta = 30.5;
    if (dtype == DType::kF32) return seldom() ? numbers_of_bytes(c, many, hostile) : void();
    if (seldom()) {
      c.middle_scale = number(many / 64, hostile);
      c.middle_zero = number_of(dtype);
    }
    if (truth()) c.out_scale = number(many / 64, hostile);
    c.out_zero = truth() ? number_of(dtype) : dtype == DType::kU8 ? 128 : 0;
    c.out_min = lowest(dtype);
    c.out_max = lowest(dtype) + 255;
    if (seldom()) {
      c.out_min = number_of(dtype);
      c.out_max = std::max(c.out_min, number_of(dtype));
    }
    if (truth()) c.rounding = "inverse";
  }

  // Floats that stand for bytes.
  void numbers_of_bytes(QuantizedCase& c, double many, bool hostile) {
    const DType bytes = truth() ? DType::kU8 : DType::kI8;
    c.middle_scale = number(many / 64, hostile);
    c.middle_zero = number_of(bytes);
    c.out_min = truth() ? lowest(bytes) : number_of(bytes);
    c.out_max = truth() ? lowest(bytes) + 255 : std::max(c.out_min, number_of(bytes));
    if (truth()) c.rounding = "inverse";
    if (c.rounding == "inverse" && truth()) c.out_scale = number(many / 64, hostile);
  }

  std::mt19937 random_;
};

/// Empty if the results are the same to the bit (a NaN is as good as another), else where they differ first.
inline std::string first_difference(const Array& expected, const Array& found) {
  const std::vector<double> a = expected.values();
  const std::vector<double> b = found.values();
  if (a.size() != b.size()) return "sizes";
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])) || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    return "element " + std::to_string(i) + " of " + std::to_string(a.size()) + ": expected " + std::to_string(a[i]) +
           ", found " + std::to_string(b[i]);
  }
  return found.intact() ? "" : "bytes behind the result";
}

}  // namespace berth::testing
