#include "compiler/import/lowering/resize.h"

#include <algorithm>
#include <cmath>

namespace berth::lowering {
namespace {

// The place in the source, in pixels, of the middle of pixel `i` of the result.
double source_place(const std::string& coordinates, const ResizeAxis& axis, int64_t i) {
  const double x = static_cast<double>(i);
  const double in = static_cast<double>(axis.in);
  // What the scale makes of the source before it is cut to whole pixels.
  const double length = axis.scale * in;
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (coordinates == "pytorch_half_pixel") return length == 1 ? -0.5 : (x + 0.5) / axis.scale - 0.5;
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (coordinates == "half_pixel_symmetric") {
    // ONNX's in / 2 * (1 - out / length) + (x + 0.5) / scale - 0.5 about the middle: exact where its quotient is not,
    // so that ceil finds whole places whole.
    return (in - 1) / 2 + (x - static_cast<double>(axis.out - 1) / 2) / axis.scale;
  }
  if (coordinates == "tf_crop_and_resize") {
    const double span = axis.roi_end - axis.roi_start;
    if (axis.out == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
    return axis.roi_start * (in - 1) + x * span * (in - 1) / (length - 1);
  }
  return (x + 0.5) / axis.scale - 0.5;  // half_pixel
}

// The same in floats, each step rounded, where the result has the whole pixels that it has.
double source_place_in_floats(const std::string& coordinates, const ResizeAxis& axis, int64_t i) {
  const auto x = static_cast<float>(i);
  const auto in = static_cast<float>(axis.in);
  const auto out = static_cast<float>(axis.out);
  const auto scale = static_cast<float>(axis.scale);
  const float middle = (x + 0.5F) / scale;
  if (coordinates == "asymmetric") return x / scale;
  if (coordinates == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (coordinates == "tf_half_pixel_for_nn") return middle;
  if (coordinates == "pytorch_half_pixel" && axis.out == 1) return 0;
  return middle - 0.5F;
}

double nearest_place(const ResizeRule& rule, double place) {
  if (rule.nearest == "floor") return std::floor(place);
  if (rule.nearest == "ceil") return std::ceil(place);
  if (rule.nearest == "round_prefer_ceil") return std::floor(place + 0.5 + rule.tolerance());
  return std::ceil(place - 0.5 - rule.tolerance());  // round_prefer_floor
}

double linear_kernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys' cubic convolution kernel.
double cubic_kernel(double a, double x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
};

// Taps around `place` with the kernel stretched when antialiasing shrinks the picture.
Taps taps_at(const ResizeRule& rule, double scale, double place) {
  const double stretch = rule.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (rule.mode == "cubic" ? 2 : 1) / stretch;
  Taps taps;
  taps.first = static_cast<int64_t>(std::floor(place - reach)) + 1;
  const int64_t last = static_cast<int64_t>(std::ceil(place + reach)) - 1;
  double sum = 0;
  for (int64_t k = taps.first; k <= last; ++k) {
    const double x = (static_cast<double>(k) - place) * stretch;
    taps.weights.push_back(rule.mode == "cubic" ? cubic_kernel(rule.cubic_a, x) : linear_kernel(x));
    sum += taps.weights.back();
  }
  if (rule.antialias && sum != 0) {
    for (double& weight : taps.weights) weight /= sum;
  }
  return taps;
}

// Pixels outside get no weight, the others share it.
void exclude_outside(Taps& taps, int64_t in) {
  double sum = 0;
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const int64_t at = taps.first + static_cast<int64_t>(k);
    if (at < 0 || at >= in) taps.weights[k] = 0;
    sum += taps.weights[k];
  }
  if (sum == 0) return;
  for (double& weight : taps.weights) weight /= sum;
}

void put(ResizeTaps& taps, size_t tap, size_t i, size_t out, int64_t at, double weight, int64_t in) {
  if (taps.taps.size() <= tap) {
    taps.taps.resize(tap + 1, std::vector<int64_t>(out, 0));
    taps.weights.resize(tap + 1, std::vector<double>(out, 0));
  }
  taps.taps[tap][i] = std::clamp<int64_t>(at, 0, in - 1);
  taps.weights[tap][i] = weight;
}

bool known_mode(const ResizeRule& rule) {
  const auto one_of = [](const std::string& text, std::initializer_list<const char*> list) {
    return std::any_of(list.begin(), list.end(), [&](const char* item) { return text == item; });
  };
  return one_of(rule.mode, {"nearest", "linear", "cubic"}) &&
         one_of(rule.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                   "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}) &&
         one_of(rule.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}

}  // namespace

Expected<ResizeTaps> resize_taps(const ResizeRule& rule, const ResizeAxis& axis) {
  constexpr int64_t kMaxOut = int64_t{1} << 20;
  constexpr double kMaxReach = 4096;
  constexpr double kMaxTaps = 1 << 24;
  if (!known_mode(rule)) {
    return Failure{Error::kNotSupported, "",
                   "ONNX has no such resizing: " + rule.mode + ", " + rule.coordinates + ", " + rule.nearest};
  }
  const double reach = rule.antialias ? 4 / std::min(axis.scale, 1.0) : 4;
  if (axis.in < 1 || axis.out < 0 || axis.out > kMaxOut || !(axis.scale > 1e-9) || !(axis.scale < 1e9) ||
      (rule.antialias && axis.scale < 1 / kMaxReach) || reach * static_cast<double>(axis.out) > kMaxTaps) {
    return Failure{Error::kInvalidArgument, "",
                   "cannot resize " + std::to_string(axis.in) + " to " + std::to_string(axis.out) + " elements"};
  }
  ResizeTaps result;
  const size_t out = axis.out;
  result.outside.assign(out, false);
  for (size_t i = 0; i < out; ++i) {
    const auto index = static_cast<int64_t>(i);
    const double place = rule.in_floats() ? source_place_in_floats(rule.coordinates, axis, index)
                                          : source_place(rule.coordinates, axis, index);
    if (!std::isfinite(place)) return Failure{Error::kInvalidArgument, "", "the region to resize is not finite"};
    if (rule.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.in - 1))) {
      result.outside[i] = result.any_outside = true;
    }
    const double bounded = std::clamp(place, -1e15, 1e15);
    if (rule.mode == "nearest") {
      put(result, 0, i, out, static_cast<int64_t>(nearest_place(rule, bounded)), 1, axis.in);
      continue;
    }
    Taps taps = taps_at(rule, axis.scale, bounded);
    if (rule.exclude_outside) exclude_outside(taps, axis.in);
    for (size_t k = 0; k < taps.weights.size(); ++k) {
      put(result, k, i, out, taps.first + static_cast<int64_t>(k), taps.weights[k], axis.in);
    }
  }
  return result;
}

ValueId sampled(Lowering& n, ValueId x, int axis, const ResizeTaps& taps, double extrapolation) {
  const int rank = n.rank(x);
  const DType dtype = n.dtype(x);
  if (!n.ok()) return {};
  ValueId total;
  for (size_t k = 0; k < taps.taps.size() && n.ok(); ++k) {
    const std::vector<double>& weights = taps.weights[k];
    if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) continue;
    ValueId rows = n.op(OpId::index_select_out, {x, Dim(axis), n.ints(taps.taps[k])});
    if (!std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; })) {
      rows = n.op(OpId::mul_out, {rows, n.numbers(dtype, weights, rank, axis)});
    }
    total = total.valid() ? n.op(OpId::add_out, {total, rows}) : rows;
  }
  if (!total.valid()) {  // no element at all, or none that has a weight
    const std::vector<int64_t> anywhere(taps.outside.size(), 0);
    total = n.op(OpId::mul_Scalar_out, {n.op(OpId::index_select_out, {x, Dim(axis), n.ints(anywhere)}), Dim(0)});
  }
  if (!taps.any_outside) return total;
  std::vector<double> mask(taps.outside.begin(), taps.outside.end());
  return n.op(OpId::where_self_out,
              {n.numbers(DType::kBool, mask, rank, axis), n.splat(dtype, {}, extrapolation), total});
}

}  // namespace berth::lowering
