// Which elements of an axis a position of a larger or smaller one shows, by PyTorch's rules: for every kernel of
// upsampling.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/portable/upsample_arguments.h"

namespace berth::portable {

/// Kernels have a table of so many columns of the result at a time, whatever its sizes become. Even.
inline constexpr int64_t kTableColumns = 4096;

/// Columns of the table for a result like `out`.
inline int64_t table_columns(const Tensor& out) {
  const bool is_static = out.dynamism() == ShapeDynamism::kStatic;
  return std::min(kTableColumns, is_static ? out.size(out.rank() - 1) : out.capacity());
}

/// Calls f(first, count) for the columns that a table is made for at a time.
template <typename F>
void for_each_table(int64_t width, F&& f) {
  for (int64_t first = 0; first < width; first += kTableColumns) f(first, std::min(kTableColumns, width - first));
}

/// The element that `position` shows, counted in f32 as PyTorch does. `factor` is 0 when none was given.
inline int64_t nearest_element(const WindowAxis& axis, double factor, int64_t position) {
  if (axis.out == axis.in) return position;
  if (axis.out == 2 * axis.in) return position / 2;
  const float step =
      factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  const float source = static_cast<float>(position) * step;
  return source < static_cast<float>(axis.in - 1) ? static_cast<int64_t>(source) : axis.in - 1;
}

/// Between which two elements a position lies: first * (1 - weight) + second * weight.
template <typename S>
struct Between {
  int32_t first = 0, second = 0;
  S weight = 0;
};

/// Where the positions of an axis lie: at the same share of the way between the first and the last element
/// (`align_corners`), or of the whole axis.
template <typename S>
class Positions {
 public:
  Positions(const WindowAxis& axis, double factor, bool align_corners) : axis_(axis), align_corners_(align_corners) {
    if (align_corners) {
      step_ = axis.out > 1 ? static_cast<S>(axis.in - 1) / static_cast<S>(axis.out - 1) : S{0};
    } else {
      step_ = factor > 0 ? static_cast<S>(1.0 / factor) : static_cast<S>(axis.in) / static_cast<S>(axis.out);
    }
  }

  Between<S> operator()(int64_t position) const {
    const S half = static_cast<S>(0.5);
    const S exact =
        align_corners_ ? step_ * static_cast<S>(position) : step_ * (static_cast<S>(position) + half) - half;
    const S source = std::clamp(exact, S{0}, static_cast<S>(axis_.in - 1));
    Between<S> between;
    between.first = static_cast<int32_t>(std::min<int64_t>(static_cast<int64_t>(source), axis_.in - 1));
    between.second = static_cast<int32_t>(std::min<int64_t>(between.first + 1, axis_.in - 1));
    between.weight = std::clamp(source - static_cast<S>(between.first), S{0}, S{1});
    return between;
  }

 private:
  WindowAxis axis_;
  bool align_corners_;
  S step_;
};

}  // namespace berth::portable
