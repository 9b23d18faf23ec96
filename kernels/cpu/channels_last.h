// Channels-last tensors.
#pragma once

#include "runtime/tensor.h"

namespace berth::cpu {

/// Whether `tensor` is of rank 4 in dimension order 0, 2, 3, 1.
inline bool is_channels_last(const Tensor& tensor) {
  if (tensor.rank() != 4) return false;
  const Span<const uint8_t> order = tensor.dim_order();
  return order[0] == 0 && order[1] == 2 && order[2] == 3 && order[3] == 1;
}

inline bool is_channels_last_f32(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 && is_channels_last(tensor);
}

/// Whether all of them are contiguous f32.
template <typename... Tensors>
bool are_dense_f32(const Tensors&... tensors) {
  return ((tensors.dtype() == DType::kF32 && tensors.is_contiguous()) && ...);
}

}  // namespace berth::cpu
