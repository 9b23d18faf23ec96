#include "compiler/ir/type.h"

#include <algorithm>

#include "base/math.h"

namespace berth::ir {

bool TensorType::is_contiguous() const {
  for (size_t i = 0; i < dim_order.size(); ++i) {
    if (dim_order[i] != i) return false;
  }
  return true;
}

bool TensorType::is_static() const {
  return std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.is_constant(); });
}

bool operator==(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.device != b.device) return false;
  return (a.is_contiguous() && b.is_contiguous()) || a.dim_order == b.dim_order;
}

int64_t max_numel(const TensorType& type, const Symbols& symbols) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t numel = 1;
  for (Dim dim : type.shape) {
    if (!checked_mul(numel, symbols.upper(dim), &numel) || numel > kLimit) return kLimit;
  }
  return numel;
}

int64_t max_bytes(const TensorType& type, const Symbols& symbols) {
  int64_t bytes = 0;
  constexpr int64_t kLimit = int64_t{1} << 62;
  if (!checked_mul(max_numel(type, symbols), static_cast<int64_t>(element_size(type.dtype)), &bytes)) return kLimit;
  return std::min(bytes, kLimit);
}

}  // namespace berth::ir
