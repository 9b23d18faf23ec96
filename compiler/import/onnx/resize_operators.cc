// Resize and Upsample. Pictures whose height and width grow the way PyTorch's upsampling does become that operator;
// everything else is done axis by axis: rows picked by constant indices, weighted by constants, and added.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/resize.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

using lowering::resize_taps;
using lowering::ResizeAxis;
using lowering::ResizeRule;
using lowering::ResizeTaps;

struct Resize {
  ResizeRule rule;
  double extrapolation = 0;
  std::vector<int> axes;           // those that the scales or sizes are for
  std::vector<double> scales;      // one an axis; empty when sizes are given
  std::vector<int64_t> sizes;      // one an axis; empty when scales are given, or some are symbols
  DimList open_sizes;              // the same, where some are symbols
  std::vector<double> roi;         // starts, then ends, one each an axis; or empty
  std::string aspect = "stretch";  // keep_aspect_ratio_policy
};

std::vector<double> known_reals(NodeContext& n, size_t input, const char* what) {
  std::vector<double> numbers;
  const std::optional<Known> known = n.known(input);
  if (!known.has_value()) {
    n.unsupported(std::string(what) + " must be known when the model is compiled; here it depends on the data");
    return numbers;
  }
  for (const Number& number : known->elements) {
    numbers.push_back(known->floating() ? number.real : static_cast<double>(n.fixed(number.whole, what)));
  }
  return numbers;
}

bool is_empty(NodeContext& n, size_t input) {
  if (!n.has_input(input)) return true;
  const std::optional<Known> known = n.known(input);
  return known.has_value() && known->elements.empty();
}

void take_fixed_sizes(Resize& resize) {
  const auto fixed = [](Dim size) { return size.is_constant(); };
  if (!std::all_of(resize.open_sizes.begin(), resize.open_sizes.end(), fixed)) return;
  for (Dim size : resize.open_sizes) resize.sizes.push_back(size.value);
  resize.open_sizes.clear();
}

void read_targets(NodeContext& n, Resize& resize) {
  const size_t scales = n.opset() >= 11 ? 2 : 1;
  if (n.opset() >= 11 && !is_empty(n, 3)) {
    resize.open_sizes = n.known_dims(3, "sizes");
    take_fixed_sizes(resize);
  } else if (n.opset() < 9) {
    resize.scales = n.numbers("scales");
  } else {
    resize.scales = known_reals(n, scales, "scales");
  }
  for (int64_t size : resize.sizes) {
    if (size < 0 || size > INT32_MAX) return n.invalid("a size of " + std::to_string(size) + " is not possible");
  }
  if (resize.rule.coordinates == "tf_crop_and_resize") resize.roi = known_reals(n, 1, "roi");
  const size_t count = resize.axes.size();
  const size_t given = std::max({resize.sizes.size(), resize.open_sizes.size(), resize.scales.size()});
  if (n.ok() && (given != count || (!resize.roi.empty() && resize.roi.size() != 2 * count))) {
    n.invalid("expected " + std::to_string(count) + " scales or sizes, found " + std::to_string(given));
  }
}

Resize read_resize(NodeContext& n) {
  Resize resize;
  ResizeRule& rule = resize.rule;
  rule.mode = n.text("mode", "nearest");
  rule.nearest_in_floats = true;
  if (rule.mode == "bilinear") rule.mode = "linear";  // opset 7's word
  const int rank = n.rank(n.input(0));
  if (n.opset() < 11) {  // Upsample, and the first Resize
    rule.coordinates = "asymmetric";
    rule.nearest = "floor";
  } else {
    rule.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
    rule.nearest = n.text("nearest_mode", "round_prefer_floor");
    rule.cubic_a = n.number("cubic_coeff_a", -0.75);
    rule.exclude_outside = n.integer("exclude_outside", 0) != 0;
    rule.antialias = n.opset() >= 18 && n.integer("antialias", 0) != 0;
    resize.extrapolation = n.number("extrapolation_value", 0);
    if (n.opset() >= 18) resize.aspect = n.text("keep_aspect_ratio_policy", "stretch");
  }
  if (n.opset() >= 18 && n.has_attribute("axes")) {
    resize.axes = n.axes(n.integers("axes"), rank);
  } else {
    for (int axis = 0; axis < rank; ++axis) resize.axes.push_back(axis);
  }
  read_targets(n, resize);
  return resize;
}

// Sizes under keep_aspect_ratio_policy: one scale for all axes.
void keep_aspect(NodeContext& n, Resize& resize) {
  if (!n.ok() || resize.sizes.empty() || resize.aspect == "stretch") return;
  const bool smallest = resize.aspect == "not_larger";
  double scale = 0;
  std::vector<int64_t> in;
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    in.push_back(std::max<int64_t>(1, n.fixed(n.dim(n.input(0), resize.axes[i]), "a resized dimension")));
    const double ratio = static_cast<double>(resize.sizes[i]) / static_cast<double>(in[i]);
    scale = i == 0 ? ratio : smallest ? std::min(scale, ratio) : std::max(scale, ratio);
  }
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    resize.sizes[i] = static_cast<int64_t>(std::floor(scale * static_cast<double>(in[i]) + 0.5));
  }
  resize.scales.assign(resize.axes.size(), scale);
}

ResizeAxis read_axis(NodeContext& n, const Resize& resize, size_t i) {
  ResizeAxis axis;
  axis.in = n.fixed(n.dim(n.input(0), resize.axes[i]), "a resized dimension");
  const double in = static_cast<double>(axis.in);
  if (resize.sizes.empty()) {
    axis.scale = resize.scales[i];
    // In floats, as ONNX's own inference of shapes: 2.6 times 5 is 13 there, and a little less as doubles.
    const double out = std::floor(static_cast<float>(in) * static_cast<float>(axis.scale));
    axis.out = out >= 0 && out < 1e9 ? static_cast<int64_t>(out) : -1;
    // Between corners PyTorch and ONNX Runtime go by the size that there is, and ONNX by the one before it was rounded.
    if (n.state().by_pytorch && resize.rule.coordinates == "align_corners") {
      axis.scale = static_cast<double>(axis.out) / in;
    }
  } else {
    axis.out = resize.sizes[i];
    axis.scale = resize.scales.empty() ? static_cast<double>(axis.out) / in : resize.scales[i];
  }
  if (!resize.roi.empty()) {
    axis.roi_start = resize.roi[i];
    axis.roi_end = resize.roi[resize.axes.size() + i];
    // Cropping gives the result its size; the scale only says how many pixels.
    axis.scale = static_cast<double>(axis.out) / in;
  }
  return axis;
}

bool same_taps(const ResizeTaps& a, const ResizeTaps& b) {
  const auto value = [](const ResizeTaps& t, size_t i) {  // weight by source index, in order
    std::vector<std::pair<int64_t, double>> at;
    for (size_t k = 0; k < t.taps.size(); ++k) at.emplace_back(t.taps[k][i], t.weights[k][i]);
    std::sort(at.begin(), at.end());
    std::vector<std::pair<int64_t, double>> sum;
    for (const auto& [index, weight] : at) {
      if (!sum.empty() && sum.back().first == index) {
        sum.back().second += weight;
      } else {
        sum.emplace_back(index, weight);
      }
    }
    sum.erase(std::remove_if(sum.begin(), sum.end(), [](const auto& s) { return std::abs(s.second) < 1e-7; }),
              sum.end());
    return sum;
  };
  if (a.outside.size() != b.outside.size() || a.any_outside || b.any_outside) return false;
  for (size_t i = 0; i < a.outside.size(); ++i) {
    const auto left = value(a, i);
    const auto right = value(b, i);
    if (left.size() != right.size()) return false;
    for (size_t k = 0; k < left.size(); ++k) {
      if (left[k].first != right[k].first || std::abs(left[k].second - right[k].second) > 1e-6) return false;
    }
  }
  return true;
}

// Whether PyTorch's operator for pictures samples this axis as ONNX asks: its rules, in the same arithmetic.
bool as_pytorch(const ResizeAxis& axis, const ResizeTaps& wanted, const ResizeRule& theirs) {
  ResizeAxis plain = axis;
  plain.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
  const auto taps = resize_taps(theirs, plain);
  return taps.ok() && same_taps(wanted, *taps);
}

// The same of nearest elements: it multiplies by the inverse in floats, and takes each once or twice where it can.
bool nearest_as_pytorch(const ResizeAxis& axis, const ResizeTaps& wanted) {
  const float inverse = static_cast<float>(axis.in) / static_cast<float>(axis.out);
  for (int64_t i = 0; i < axis.out; ++i) {
    const int64_t scaled = std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * inverse)), axis.in - 1);
    const int64_t taken = axis.out == axis.in ? i : axis.out == 2 * axis.in ? i / 2 : scaled;
    if (wanted.any_outside || wanted.taps[0][i] != taken) return false;
  }
  return true;
}

// One of PyTorch's operators for the last two axes of a picture, when both are sampled alike; invalid otherwise.
ValueId picture_operator(NodeContext& n, const Resize& resize, ValueId x, const std::vector<ResizeAxis>& axes,
                         const std::vector<ResizeTaps>& taps) {
  if (n.rank(x) != 4 || n.dtype(x) != DType::kF32) return {};
  const ResizeAxis* picture[2] = {nullptr, nullptr};
  const ResizeTaps* picture_taps[2] = {nullptr, nullptr};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (resize.axes[i] >= 2) {
      picture[resize.axes[i] - 2] = &axes[i];
      picture_taps[resize.axes[i] - 2] = &taps[i];
    } else if (axes[i].in != axes[i].out) {
      return {};
    }
  }
  if (picture[0] == nullptr || picture[1] == nullptr) return {};
  const auto both = [&](const char* mode, const char* coordinates, const char* nearest) {
    ResizeRule rule;
    rule.mode = mode;
    rule.coordinates = coordinates;
    rule.nearest = nearest;
    return as_pytorch(*picture[0], *picture_taps[0], rule) && as_pytorch(*picture[1], *picture_taps[1], rule);
  };
  const DimList size = {Dim(picture[0]->out), Dim(picture[1]->out)};
  // Where a blend takes whole elements it still multiplies their neighbours by 0, and 0 times infinity is NaN.
  if (resize.rule.mode == "nearest") {
    const bool same =
        nearest_as_pytorch(*picture[0], *picture_taps[0]) && nearest_as_pytorch(*picture[1], *picture_taps[1]);
    return same ? n.op(OpId::upsample_nearest2d_vec_out, {x, size, None()}) : ValueId();
  }
  if (both("linear", "half_pixel", "floor")) return n.op(OpId::upsample_bilinear2d_vec_out, {x, size, false, None()});
  if (both("linear", "align_corners", "floor")) {
    return n.op(OpId::upsample_bilinear2d_vec_out, {x, size, true, None()});
  }
  return {};
}

// Halves, quarters and so on, in which no size is rounded.
bool is_binary(double scale) { return scale > 0 && scale < 1e6 && scale * 1024 == std::floor(scale * 1024); }

// Whether PyTorch finds the nearest elements at all sizes from `least` to `most`: it multiplies by the inverse in
// floats, but where the size stays or doubles, however it was rounded, it takes each element once or twice.
bool finds_nearest(double scale, int64_t least, int64_t most) {
  const auto step = static_cast<float>(1.0 / scale);
  const auto nearest = [&](int64_t i) { return static_cast<int64_t>(std::floor(static_cast<double>(i) / scale)); };
  const auto scaled = [&](int64_t size) { return static_cast<int64_t>(std::floor(static_cast<double>(size) * scale)); };
  if (most > 1 << 20 || scaled(most) > 1 << 20) return false;
  for (int64_t i = 0; i < scaled(most); ++i) {
    if (static_cast<int64_t>(std::floor(static_cast<float>(i) * step)) != nearest(i)) return false;
  }
  for (int64_t size = std::max<int64_t>(1, least); size <= most; ++size) {
    const int64_t out = scaled(size);
    if (scale == 1 || scale == 2 || (out != size && out != 2 * size)) continue;
    for (int64_t i = 0; i < out; ++i) {
      if (nearest(i) != i / (out / size)) return false;
    }
  }
  return true;
}

// Axis by axis, where no operator for pictures does it.
void import_open_axes(NodeContext& n, const Resize& resize, ValueId x) {
  if (!resize.roi.empty() || resize.aspect != "stretch") {
    return n.unsupported(
        "sizes that are not fixed are resized without a region and without keep_aspect_ratio_policy; give the input a "
        "fixed shape with --input-shape");
  }
  const DType type = n.dtype(x);
  const bool widen = !is_floating(type) && resize.rule.mode != "nearest";
  if (widen) x = n.cast(x, DType::kF32);
  for (size_t i = 0; i < resize.axes.size() && n.ok(); ++i) {
    const int axis = resize.axes[i];
    const Dim in = n.dim(x, axis);
    const auto scale = resize.scales.empty() ? std::optional<double>() : resize.scales[i];
    if (scale == 1) continue;
    const std::optional<Dim> out = scale.has_value()           ? lowering::scaled_size(n, in, *scale, true)
                                   : resize.open_sizes.empty() ? Dim(resize.sizes[i])
                                                               : resize.open_sizes[i];
    if (!out.has_value()) return;
    if (in == *out && !scale.has_value()) continue;
    if (!in.is_constant() || !out->is_constant()) {
      x = lowering::sampled_open(n, x, axis, resize.rule, *out, scale);
      continue;
    }
    const double ratio = static_cast<double>(out->value) / static_cast<double>(in.value);
    const auto taps = resize_taps(resize.rule, {in.value, out->value, scale.value_or(ratio)});
    if (!taps.ok()) return n.fail(taps.error().code, taps.error().message);
    x = lowering::sampled(n, x, axis, *taps);
  }
  n.output(0, widen ? n.cast(x, type) : x);
}

// Sizes that are symbols: PyTorch's operator where it takes the scales.
void import_symbolic(NodeContext& n, const Resize& resize, ValueId x) {
  const ResizeRule& rule = resize.rule;
  const size_t count = resize.scales.size();
  const bool plain = rule.coordinates == "asymmetric" && rule.nearest == "floor";
  bool fits = n.rank(x) == 4 && count >= 2 && resize.axes.back() == 3 && resize.axes[count - 2] == 2;
  for (size_t i = 0; i < count && fits; ++i) {
    const double scale = resize.scales[i];
    const bool whole = scale >= 1 && scale == std::floor(scale);
    fits = resize.axes[i] >= 2 ? is_binary(scale) && (whole || plain || rule.mode == "linear") : scale == 1;
    if (!fits || rule.mode != "nearest" || resize.axes[i] < 2) continue;
    const Dim size = n.dim(x, resize.axes[i]);
    fits = finds_nearest(scale, n.symbols().lower(size), n.symbols().upper(size));
  }
  const bool nearest = rule.mode == "nearest" && (rule.coordinates != "asymmetric" || rule.nearest == "floor") &&
                       (rule.coordinates != "half_pixel" || rule.nearest.rfind("round", 0) == 0) &&
                       (rule.coordinates == "asymmetric" || rule.coordinates == "half_pixel");
  const bool linear = rule.mode == "linear" && rule.coordinates == "half_pixel" && !rule.exclude_outside;
  if (!fits || !(nearest || linear)) return import_open_axes(n, resize, x);
  const ir::FloatList scales = {resize.scales[count - 2], resize.scales[count - 1]};
  n.output(0, nearest ? n.op(OpId::upsample_nearest2d_vec_out, {x, None(), scales})
                      : n.op(OpId::upsample_bilinear2d_vec_out, {x, None(), false, scales}));
}

// Axes that keep their size need nothing.
void drop_kept_axes(NodeContext& n, Resize& resize) {
  if (!resize.roi.empty() || resize.aspect != "stretch") return;
  std::vector<int> axes;
  DimList sizes;
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    if (resize.open_sizes[i] == n.dim(n.input(0), resize.axes[i])) continue;
    axes.push_back(resize.axes[i]);
    sizes.push_back(resize.open_sizes[i]);
  }
  resize.axes = std::move(axes);
  resize.open_sizes = std::move(sizes);
  take_fixed_sizes(resize);
}

// Whether `out` is, to one element, once, twice or three times `in` at all sizes: then PyTorch, which multiplies in
// floats, and ONNX Runtime, which divides, find the same nearest elements (tried for every size up to this).
bool is_nearly_a_multiple(ir::Symbols& sizes, Dim in, Dim out) {
  constexpr int64_t kMostTried = 2048;
  if (sizes.upper(in) > kMostTried) return false;
  for (const int64_t times : {1, 2, 3}) {
    const Dim whole = sizes.mul(in, Dim(times));
    if (sizes.is_at_most(out, sizes.add(whole, Dim(1))) && sizes.is_at_most(sizes.add(whole, Dim(-1)), out))
      return true;
  }
  return false;
}

// To sizes that are symbols, or from such: PyTorch's operators where they fit. Their sums of floats are those of the
// model that was exported.
void import_open_sizes(NodeContext& n, const Resize& resize, ValueId x) {
  const ResizeRule& rule = resize.rule;
  const int rank = n.rank(x);
  const bool signal = rank == 3;
  const std::vector<Dim> shape = n.shape(x);
  DimList sizes = {signal ? Dim(1) : shape[rank - 2], shape[rank - 1]};
  bool picture = (signal || rank == 4) && resize.roi.empty() && resize.aspect == "stretch" && !rule.antialias;
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    const Dim size = resize.open_sizes.empty() ? Dim(resize.sizes[i]) : resize.open_sizes[i];
    const int axis = resize.axes[i];
    if (size == shape[axis]) continue;
    picture = picture && axis >= 2 && (rule.mode != "nearest" || is_nearly_a_multiple(n.symbols(), shape[axis], size));
    // PyTorch's half pixels are ONNX's, but where ONNX calls them PyTorch's and there is one.
    const bool one = rule.coordinates == "pytorch_half_pixel" && n.symbols().lower(size) < 2;
    if (picture && !one) sizes[axis - (rank - 2)] = size;
    picture = picture && !one;
  }
  const bool nearest = rule.mode == "nearest" && rule.coordinates == "asymmetric" && rule.nearest == "floor";
  const bool halves = rule.coordinates == "half_pixel" || rule.coordinates == "pytorch_half_pixel";
  const bool aligned = rule.coordinates == "align_corners";
  const bool linear = rule.mode == "linear" && (halves || aligned) && n.dtype(x) == DType::kF32;
  if (!picture || !(nearest || linear)) return import_open_axes(n, resize, x);
  if (signal) x = n.view(x, {shape[0], shape[1], Dim(1), shape[2]});
  const ValueId y = nearest ? n.op(OpId::upsample_nearest2d_vec_out, {x, sizes, None()})
                            : n.op(OpId::upsample_bilinear2d_vec_out, {x, sizes, aligned, None()});
  n.output(0, signal ? n.view(y, {shape[0], shape[1], sizes[1]}) : y);
}

void import_resize(NodeContext& n) {
  Resize resize = read_resize(n);
  ValueId x = n.input(0);
  if (!n.ok()) return;
  if (!resize.open_sizes.empty()) drop_kept_axes(n, resize);
  const bool symbolic =
      std::any_of(resize.axes.begin(), resize.axes.end(), [&](int axis) { return !n.dim(x, axis).is_constant(); });
  if (symbolic && !resize.scales.empty()) {
    // An axis that keeps its size needs none of this.
    bool moves = false;
    for (size_t i = 0; i < resize.axes.size(); ++i) {
      moves = moves || (!n.dim(x, resize.axes[i]).is_constant() && resize.scales[i] != 1);
    }
    if (moves) return import_symbolic(n, resize, x);
  }
  if (!resize.open_sizes.empty() || (symbolic && !resize.sizes.empty())) return import_open_sizes(n, resize, x);
  keep_aspect(n, resize);
  std::vector<ResizeAxis> axes;
  std::vector<ResizeTaps> taps;
  std::vector<int> moved;
  for (size_t i = 0; i < resize.axes.size() && n.ok(); ++i) {
    if (resize.sizes.empty() && resize.scales[i] == 1 && resize.roi.empty()) continue;
    const ResizeAxis axis = read_axis(n, resize, i);
    auto sampled_at = resize_taps(resize.rule, axis);
    if (!n.ok()) return;
    if (!sampled_at.ok()) return n.fail(sampled_at.error().code, sampled_at.error().message);
    axes.push_back(axis);
    taps.push_back(std::move(sampled_at).value());
    moved.push_back(resize.axes[i]);
  }
  resize.axes = moved;
  if (const ValueId picture = picture_operator(n, resize, x, axes, taps); picture.valid()) {
    n.output(0, picture);
    return;
  }
  const DType type = n.dtype(x);
  const bool widen = !is_floating(type) && resize.rule.mode != "nearest";
  if (widen) x = n.cast(x, DType::kF32);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool same = axes[i].in == axes[i].out && axes[i].scale == 1 && resize.roi.empty();
    if (!same) x = lowering::sampled(n, x, resize.axes[i], taps[i], resize.extrapolation);
  }
  n.output(0, widen ? n.cast(x, type) : x);
}

constexpr OperatorRow kResizeRows[] = {
    {"Resize", 1, 4, import_resize},
    {"Upsample", 1, 2, import_resize},
};

}  // namespace

OperatorTable resize_operators() { return kResizeRows; }

}  // namespace berth::onnx
