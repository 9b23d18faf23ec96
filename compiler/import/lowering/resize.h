// How Resize samples one axis: for each index of the result, the source indices and their weights. Pure arithmetic,
// from the equations in ONNX's specification of Resize.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

struct ResizeRule {
  std::string mode = "nearest";  // nearest, linear, cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  /// Places of nearest elements as ONNX Runtime finds them: in floats, and what is nearer than a millionth to the
  /// middle of two elements is in the middle.
  bool nearest_in_floats = false;

  bool in_floats() const {
    const bool centred = coordinates == "half_pixel_symmetric" || coordinates == "tf_crop_and_resize";
    return nearest_in_floats && mode == "nearest" && !centred;
  }
  /// How far from the middle still is the middle.
  double tolerance() const { return in_floats() ? 1e-6 : 0; }
};

struct ResizeAxis {
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;      // as the model has it, or out / in
  double roi_start = 0;  // of tf_crop_and_resize
  double roi_end = 1;
};

/// taps[k][i] is the source index of tap k of result i, weights[k][i] its weight; for nearest there is one tap of
/// weight 1. Where `outside[i]`, the result is the extrapolation value (tf_crop_and_resize alone).
struct ResizeTaps {
  std::vector<std::vector<int64_t>> taps;
  std::vector<std::vector<double>> weights;
  std::vector<bool> outside;
  bool any_outside = false;
};

/// NotSupported for a mode that ONNX does not have.
Expected<ResizeTaps> resize_taps(const ResizeRule& rule, const ResizeAxis& axis);

/// `x` sampled along `axis`: rows picked by constant indices, weighted by constants, and added.
ValueId sampled(Lowering& n, ValueId x, int axis, const ResizeTaps& taps, double extrapolation = 0);

/// The same where the size of `axis`, or `out`, is open: by every rule but tf_crop_and_resize, without antialiasing.
/// `scale` is what the model says, if it does, or out / in.
ValueId sampled_open(Lowering& n, ValueId x, int axis, const ResizeRule& rule, Dim out, std::optional<double> scale);

/// `in` times `scale`, rounded down as floats or doubles give it; fails if no quotient of whole numbers is that at all
/// sizes of `in`.
std::optional<Dim> scaled_size(Lowering& n, Dim in, double scale, bool in_floats);

}  // namespace berth::lowering
