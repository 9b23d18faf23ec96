// Upsampling. Pictures by nearest and bilinear are operators; everything else is done axis by axis: rows picked by
// constant indices, weighted by constants, and added.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/resize.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr double kMaxScale = 1e6;

struct Upsample {
  const char* mode;
  const char* nearest;  // rounding of nearest
  bool antialias;
};

/// Factors that the model says, one an axis; empty when it says sizes alone.
std::vector<double> read_scales(NodeContext& n, size_t rank) {
  std::vector<double> scales = n.numbers("scale_factors");
  if (scales.empty()) {
    constexpr const char* kNames[3][3] = {
        {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
    for (size_t i = 0; i < rank; ++i) {
      if (n.has(kNames[rank - 1][i])) scales.push_back(n.number(kNames[rank - 1][i], 1));
    }
  }
  if (n.ok() && !scales.empty() && scales.size() != rank) n.invalid("expected a scale factor for each dimension");
  for (double scale : scales) {
    if (!(scale > 0) || !(scale < kMaxScale)) n.invalid("a scale factor must lie above 0 and below a million");
  }
  return scales;
}

/// Sizes of the result's last dimensions; empty where symbols leave them to the operator.
DimList read_sizes(NodeContext& n, ValueId x, const std::vector<double>& scales, size_t rank) {
  DimList sizes = n.dims("output_size");
  if (n.ok() && !sizes.empty() && sizes.size() != rank)
    n.invalid("'output_size' does not have one number for each dimension");
  for (size_t i = 0; i < rank && sizes.size() < rank && n.ok(); ++i) {
    if (scales.empty()) n.invalid("neither sizes nor scale factors are given");
    const Dim in = n.dim(x, static_cast<int>(i) + 2);
    if (!in.is_constant() || !n.ok()) return {};
    sizes.emplace_back(static_cast<int64_t>(std::floor(static_cast<double>(in.value) * scales[i])));
  }
  return sizes;
}

// PyTorch's own operators for pictures.
ValueId by_operator(NodeContext& n, const Upsample& how, ValueId x, const DimList& sizes,
                    const std::vector<double>& scales, bool corners) {
  const std::string mode = how.mode;
  const bool nearest = mode == "nearest" && std::string(how.nearest) == "floor";
  if (n.rank(x) != 4 || how.antialias || (!nearest && mode != "linear") || !is_floating(n.dtype(x))) return {};
  const bool by_scales = !scales.empty();
  // Of open sizes the operator knows the products with halves, quarters and so on, and their parts.
  const auto known = [](double scale) {
    return scale * 1024 == std::floor(scale * 1024) || 1 / scale == std::floor(1 / scale);
  };
  if (sizes.empty() && !std::all_of(scales.begin(), scales.end(), known)) return {};
  const IrArgument size = by_scales ? IrArgument(None()) : IrArgument(sizes);
  const IrArgument scale = by_scales ? IrArgument(ir::FloatList(scales)) : IrArgument(None());
  if (by_scales && !sizes.empty()) {
    // The operator floors the product itself; it must come to the size that the file says.
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Dim in = n.dim(x, static_cast<int>(i) + 2);
      if (!in.is_constant() || Dim(static_cast<int64_t>(static_cast<double>(in.value) * scales[i])) != sizes[i]) {
        return {};
      }
    }
  }
  if (nearest) return n.op(OpId::upsample_nearest2d_vec_out, {x, size, scale});
  return n.op(OpId::upsample_bilinear2d_vec_out, {x, size, corners, scale});
}

ValueId by_axis(NodeContext& n, const Upsample& how, ValueId x, const DimList& sizes, const std::vector<double>& scales,
                bool corners) {
  lowering::ResizeRule rule;
  rule.mode = how.mode;
  rule.nearest = how.nearest;
  rule.antialias = how.antialias;
  rule.exclude_outside = how.antialias;
  rule.cubic_a = how.antialias ? -0.5 : -0.75;
  const bool floor = rule.mode == "nearest" && rule.nearest == "floor";
  // With antialiasing, corners change how far samples are apart, and not where the first one is.
  const bool wide = corners && how.antialias;
  rule.coordinates = corners && !wide ? "align_corners" : floor ? "asymmetric" : "half_pixel";
  for (size_t i = 0; i < sizes.size() && n.ok(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Dim in = n.dim(x, axis);
    const bool open = !in.is_constant() || !sizes[i].is_constant();
    if (wide && (open || sizes[i] == Dim(1))) n.unsupported("antialiasing between corners is for fixed sizes above 1");
    if (!n.ok()) return {};
    if (open) {
      const bool by_scale = !scales.empty() && !corners;
      const auto scale = by_scale ? std::optional<double>(scales[i]) : std::nullopt;
      if (in != sizes[i] || by_scale) x = lowering::sampled_open(n, x, axis, rule, sizes[i], scale);
      continue;
    }
    lowering::ResizeAxis a;
    a.in = in.value;
    a.out = sizes[i].value;
    if (a.in < 1) return {};
    a.scale = static_cast<double>(a.out) / static_cast<double>(a.in);
    if (!scales.empty() && !corners) a.scale = scales[i];
    if (wide && a.in > 1) a.scale = static_cast<double>(a.out - 1) / static_cast<double>(a.in - 1);
    if (a.in == a.out && (corners || a.scale == 1)) continue;
    const auto taps = lowering::resize_taps(rule, a);
    if (!taps.ok()) {
      n.fail_with(taps.error());
      return {};
    }
    x = lowering::sampled(n, x, axis, *taps);
  }
  return x;
}

void upsample(NodeContext& n, const Upsample& how, size_t rank) {
  const ValueId x = n.tensor(n.argument("self") != nullptr ? "self" : "input");
  if (n.ok() && n.rank(x) != static_cast<int>(rank) + 2)
    return n.invalid("needs [N, C, spatial…], found " + n.type_text(x));
  const std::vector<double> scales = read_scales(n, rank);
  DimList sizes = read_sizes(n, x, scales, rank);
  const bool corners = n.truth("align_corners", false);
  if (!n.ok()) return;
  const ValueId y = by_operator(n, how, x, sizes, scales, corners);
  if (y.valid() || !n.ok()) return n.output(y);
  for (size_t i = 0; i < rank && sizes.size() < rank; ++i) {
    const auto size = lowering::scaled_size(n, n.dim(x, static_cast<int>(i) + 2), scales[i], false);
    if (!size.has_value()) return;
    sizes.push_back(*size);
  }
  n.output(by_axis(n, how, x, sizes, scales, corners));
}

void import_grid_sampler(NodeContext& n) {
  const ValueId x = n.tensor("input");
  const int rank = n.rank(x);
  const int64_t mode = n.integer("interpolation_mode", 0);
  if (n.ok() && rank != 4 && rank != 5) return n.invalid("needs [N, C, spatial…] of two or three spatial dimensions");
  if (n.ok() && rank == 5 && mode == 2) return n.invalid("cubic sampling is of pictures alone");
  n.output(n.op(rank == 5 ? OpId::grid_sampler_3d_out : OpId::grid_sampler_2d_out,
                {x, n.tensor("grid"), Dim(mode), n.dim("padding_mode", Dim(0)), n.truth("align_corners", false)}));
}

constexpr Upsample kNearest{"nearest", "floor", false};
constexpr Upsample kExact{"nearest", "round_prefer_ceil", false};
constexpr Upsample kLinear{"linear", "floor", false};
constexpr Upsample kCubic{"cubic", "floor", false};
constexpr Upsample kSmoothLinear{"linear", "floor", true};
constexpr Upsample kSmoothCubic{"cubic", "floor", true};

template <const Upsample& how, size_t rank>
void import_upsample(NodeContext& n) {
  upsample(n, how, rank);
}

constexpr OperatorRow kResizeRows[] = {
    {"_upsample_bicubic2d_aa", import_upsample<kSmoothCubic, 2>},
    {"_upsample_bilinear2d_aa", import_upsample<kSmoothLinear, 2>},
    {"_upsample_nearest_exact1d", import_upsample<kExact, 1>},
    {"_upsample_nearest_exact2d", import_upsample<kExact, 2>},
    {"_upsample_nearest_exact3d", import_upsample<kExact, 3>},
    {"grid_sampler", import_grid_sampler},
    {"upsample_bicubic2d", import_upsample<kCubic, 2>},
    {"upsample_bilinear2d", import_upsample<kLinear, 2>},
    {"upsample_linear1d", import_upsample<kLinear, 1>},
    {"upsample_nearest1d", import_upsample<kNearest, 1>},
    {"upsample_nearest2d", import_upsample<kNearest, 2>},
    {"upsample_nearest3d", import_upsample<kNearest, 3>},
    {"upsample_trilinear3d", import_upsample<kLinear, 3>},
};

}  // namespace

OperatorTable resize_operators() { return kResizeRows; }

}  // namespace berth::pt2
