// Type: what a value of the IR is. A tensor type has a dtype, a shape, a dimension order and a device; a scalar type
// has a kind.
//
// Text: `f32[1,64,56,56]@cpu`, `f32[n,64]{1,0}@cuda:0` (dimension order when it is not 0,1,…), `i64[]@cpu`, `int`,
// `float`, `bool`.
#pragma once

#include <variant>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "compiler/ir/dim.h"

namespace berth::ir {

struct TensorType {
  DType dtype = DType::kF32;
  std::vector<Dim> shape;
  /// Dimensions from the outermost in memory to the innermost; empty means 0, 1, 2, …
  std::vector<uint8_t> dim_order;
  Device device;

  int rank() const { return static_cast<int>(shape.size()); }
  bool is_contiguous() const;
  bool is_static() const;  // every dimension is a constant

  friend bool operator==(const TensorType& a, const TensorType& b);
  friend bool operator!=(const TensorType& a, const TensorType& b) { return !(a == b); }
};

enum class ScalarKind : uint8_t { kInt, kFloat, kBool };

using Type = std::variant<TensorType, ScalarKind>;

/// Elements of `type` at the upper end of every symbol's range; saturates at 2^62.
int64_t max_numel(const TensorType& type, const Symbols& symbols);
/// Bytes of the same.
int64_t max_bytes(const TensorType& type, const Symbols& symbols);

}  // namespace berth::ir
