// Resizing an axis whose size, or whose new size, is known only at run time: the equations of resize.cc, in the same
// order and in the same types, as operators on vectors with a number for each element of the result.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/resize.h"

namespace berth::lowering {
namespace {

ValueId plus(Lowering& n, ValueId x, Argument number) { return n.op(OpId::add_Scalar_out, {x, std::move(number)}); }
ValueId times(Lowering& n, ValueId x, Argument number) { return n.op(OpId::mul_Scalar_out, {x, std::move(number)}); }
ValueId over(Lowering& n, ValueId x, ValueId y) { return n.op(OpId::div_out, {x, y}); }

struct OpenAxis {
  Dim in;
  Dim out;
  DType type = DType::kF64;  // of places and the scale
  ValueId scale = {};        // [1]

  ValueId in_reals(Lowering& n, Dim size) const {
    return n.cast(times(n, n.splat(DType::kF64, {Dim(1)}, 1), size), type);
  }
  /// What the scale makes of the source before it is cut to whole pixels.
  ValueId length(Lowering& n) const { return times(n, scale, in); }
};

ValueId half_pixels(Lowering& n, ValueId steps, ValueId scale) {
  return plus(n, over(n, plus(n, steps, 0.5), scale), -0.5);
}

/// The places in the source, in pixels, of the middles of all pixels of the result; empty for a rule that is not
/// supported.
ValueId source_places(Lowering& n, const std::string& coordinates, const OpenAxis& axis) {
  ir::Symbols& s = n.symbols();
  const ValueId steps =
      n.cast(n.op(OpId::arange_start_out, {Dim(0), axis.out, Dim(1), number_of(DType::kI64)}), axis.type);
  if (coordinates == "asymmetric") return over(n, steps, axis.scale);
  if (coordinates == "half_pixel") return half_pixels(n, steps, axis.scale);
  if (coordinates == "tf_half_pixel_for_nn") {
    // Alone of all rules it moves the pixels of an axis that keeps its size; those stay, as at fixed sizes.
    const ValueId kept = n.op(OpId::eq_Scalar_out, {axis.scale, 1.0});
    return n.op(OpId::where_self_out, {kept, steps, over(n, plus(n, steps, 0.5), axis.scale)});
  }
  if (coordinates == "align_corners") {
    // A single pixel is the first: 0 over anything.
    const ValueId length = axis.type == DType::kF32 ? axis.in_reals(n, axis.out) : axis.length(n);
    const ValueId gaps = n.op(OpId::clamp_out, {plus(n, length, -1.0), 1e-9, None()});
    return over(n, mul(n, steps, axis.in_reals(n, s.sub(axis.in, Dim(1)))), gaps);
  }
  if (coordinates == "pytorch_half_pixel") {
    const bool in_floats = axis.type == DType::kF32;
    const ValueId single = n.op(OpId::eq_Scalar_out, {in_floats ? axis.in_reals(n, axis.out) : axis.length(n), 1.0});
    const ValueId places = half_pixels(n, steps, axis.scale);
    return n.op(OpId::where_self_out, {single, n.splat(axis.type, {Dim(1)}, in_floats ? 0 : -0.5), places});
  }
  if (coordinates == "half_pixel_symmetric") {
    const ValueId middle = times(n, axis.in_reals(n, s.sub(axis.out, Dim(1))), 0.5);
    const ValueId centre = times(n, axis.in_reals(n, s.sub(axis.in, Dim(1))), 0.5);
    return add(n, centre, over(n, sub(n, steps, middle), axis.scale));
  }
  return {};
}

ValueId nearest_places(Lowering& n, const ResizeRule& rule, ValueId places) {
  if (rule.nearest == "floor") return n.op(OpId::floor_out, {places});
  if (rule.nearest == "ceil") return n.op(OpId::ceil_out, {places});
  places = n.cast(places, DType::kF64);
  if (rule.nearest == "round_prefer_ceil") return n.op(OpId::floor_out, {plus(n, places, 0.5 + rule.tolerance())});
  return n.op(OpId::ceil_out, {plus(n, places, -0.5 - rule.tolerance())});
}

/// c[0] x^3 + c[1] x^2 + c[2] x + c[3].
ValueId cubic(Lowering& n, ValueId x, const double (&c)[4]) {
  ValueId y = plus(n, times(n, x, c[0]), c[1]);
  y = plus(n, mul(n, y, x), c[2]);
  return plus(n, mul(n, y, x), c[3]);
}

/// One of the taps around each place: how many pixels after the one at or before the place, and its weights.
struct OpenTap {
  int pixel;
  ValueId weights;
};

std::vector<OpenTap> open_taps(Lowering& n, const ResizeRule& rule, ValueId part) {
  const ValueId rest = plus(n, times(n, part, -1.0), 1.0);
  if (rule.mode == "linear") return {{0, rest}, {1, part}};
  const double a = rule.cubic_a;
  const double near[] = {a + 2, -(a + 3), 0, 1};
  const double far[] = {a, -5 * a, 8 * a, -4 * a};
  return {{-1, cubic(n, plus(n, part, 1.0), far)},
          {0, cubic(n, part, near)},
          {1, cubic(n, rest, near)},
          {2, cubic(n, plus(n, rest, 1.0), far)}};
}

}  // namespace

ValueId sampled_open(Lowering& n, ValueId x, int axis, const ResizeRule& rule, Dim out, std::optional<double> scale) {
  OpenAxis open{n.dim(x, axis), out};
  if (rule.in_floats()) open.type = DType::kF32;
  open.scale = scale.has_value() ? n.splat(open.type, {Dim(1)}, *scale)
                                 : over(n, open.in_reals(n, out), open.in_reals(n, open.in));
  const ValueId places = source_places(n, rule.coordinates, open);
  if (!places.valid() || rule.antialias) {
    n.unsupported("sizes that are not fixed are not resized with antialiasing or by " + rule.coordinates +
                  "; give the input a fixed shape with --input-shape");
  }
  const auto inside = [&](ValueId pixels) {
    return n.op(OpId::clamp_out, {pixels, Dim(0), n.symbols().sub(open.in, Dim(1))});
  };
  const auto rows = [&](ValueId pixels) {
    return n.op(OpId::index_select_out, {x, Dim(axis), n.cast(pixels, DType::kI64)});
  };
  if (!n.ok()) return {};
  if (rule.mode == "nearest") return rows(inside(nearest_places(n, rule, places)));
  const ValueId first = n.op(OpId::floor_out, {places});
  std::vector<OpenTap> taps = open_taps(n, rule, sub(n, places, first));
  std::vector<ValueId> pixels;
  ValueId sum;
  for (OpenTap& tap : taps) {
    const ValueId wanted = plus(n, first, static_cast<double>(tap.pixel));
    pixels.push_back(inside(wanted));
    if (!rule.exclude_outside) continue;
    tap.weights = mul(n, tap.weights, n.cast(n.op(OpId::eq_Tensor_out, {wanted, pixels.back()}), DType::kF64));
    sum = sum.valid() ? add(n, sum, tap.weights) : tap.weights;
  }
  std::vector<Dim> along(n.rank(x), Dim(1));
  along[axis] = out;
  ValueId total;
  for (size_t i = 0; i < taps.size(); ++i) {
    const ValueId weights = sum.valid() ? over(n, taps[i].weights, sum) : taps[i].weights;
    const ValueId part = mul(n, rows(pixels[i]), n.cast(n.view(weights, along), n.dtype(x)));
    total = total.valid() ? add(n, total, part) : part;
  }
  return total;
}

std::optional<Dim> scaled_size(Lowering& n, Dim in, double scale, bool in_floats) {
  constexpr int64_t kMostSizes = 1 << 20;
  constexpr int kMostParts = 1024;
  ir::Symbols& s = n.symbols();
  const int64_t least = s.lower(in);
  const int64_t most = s.upper(in);
  const auto floored = [&](int64_t size) {
    return static_cast<int64_t>(in_floats ? std::floor(static_cast<float>(size) * static_cast<float>(scale))
                                          : std::floor(static_cast<double>(size) * scale));
  };
  const bool few = scale > 0 && scale < 1e6 && most < kMostSizes && static_cast<double>(most) * scale < kMostSizes;
  if (few && in.is_constant()) return Dim(floored(in.value));
  for (int parts = 1; parts <= kMostParts && few; ++parts) {
    const auto whole = static_cast<int64_t>(std::round(scale * parts));
    if (whole == 0 || std::abs(static_cast<double>(whole) / parts - scale) > 1e-6 * scale) continue;
    bool same = true;
    for (int64_t size = least; size <= most && same; ++size) same = floored(size) == size * whole / parts;
    if (same) return s.floor_div(s.mul(in, Dim(whole)), Dim(parts));
  }
  n.unsupported("no quotient of whole numbers is " + s.text(in) + " times " + std::to_string(scale) +
                " at all its sizes; give the input a fixed shape with --input-shape");
  return {};
}

}  // namespace berth::lowering
