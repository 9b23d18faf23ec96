// Array: a tensor on the host that owns its elements. What the evaluator takes and gives.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "compiler/ir/argument.h"

namespace berth::eval {

struct Array {
  DType dtype = DType::kF32;
  std::vector<int32_t> sizes;
  /// As in ir::TensorType: outermost dimension first; empty means 0, 1, 2, …
  std::vector<uint8_t> dim_order;
  /// The elements in the order that dim_order says.
  std::vector<uint8_t> bytes;

  int64_t numel() const;
};

/// What a method returns, and what its values are while it runs.
using Item = std::variant<ir::None, Array, int64_t, double, bool, std::string>;

/// A tensor over memory that it does not own; what kernels read. Sizes as in Array.
struct View {
  DType dtype = DType::kF32;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  const uint8_t* data = nullptr;
};

View view_of(const Array& array);

}  // namespace berth::eval
