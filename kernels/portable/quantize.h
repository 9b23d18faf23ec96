// What the kernels of quantized_decomposed share. A quantised number q stands for (q - zero_point) * scale.
//
// Semantics are those of torch.ao's definitions (torch/ao/quantization/fx/_decomposed.py): rounding is to the nearest,
// ties to even; NaN becomes the smallest number. Where ExecuTorch's kernels differ, it is in the last bit before
// rounding.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/portable/elementwise.h"

namespace berth::portable {

/// The numbers that a quantised tensor may hold.
struct QuantRange {
  int64_t low;
  int64_t high;
};

/// InvalidArgument unless low <= high, the dtype named by `dtype` is that of `quantized`, and that is an integer type
/// which holds the range.
Error read_range(KernelContext& context, int64_t low, int64_t high, int64_t dtype, const Tensor& quantized,
                 QuantRange* range);

/// `value`, rounded, within the range.
template <typename T>
inline int64_t round_to_range(T value, int64_t low, int64_t high) {
  const T rounded = std::nearbyint(value);
  if (!(rounded > static_cast<T>(low))) return low;  // NaN too
  return rounded < static_cast<T>(high) ? static_cast<int64_t>(rounded) : high;
}

/// A tensor of one element a channel, a token, …, seen with sizes that broadcast to another tensor: a view on the
/// stack.
class ParameterView {
 public:
  /// `parameters` has as many elements as `like` has along `axis`.
  Error along(KernelContext& context, const Tensor& parameters, const Tensor& like, int64_t axis);
  /// `parameters` has one element for each row (last dimension) of `like`.
  Error for_rows(KernelContext& context, const Tensor& parameters, const Tensor& like);

  const Tensor& tensor() const { return view_; }

 private:
  Error make(KernelContext& context, const Tensor& parameters, int rank);

  int32_t sizes_[kMaxRank];
  uint8_t order_[kMaxRank];
  int64_t strides_[kMaxRank];
  Tensor view_;
};

/// The number in a scale or zero point that comes as a tensor of one element. InvalidArgument when it has more, or is
/// of no real dtype.
Error read_one(KernelContext& context, const Tensor& tensor, double* out);

}  // namespace berth::portable
