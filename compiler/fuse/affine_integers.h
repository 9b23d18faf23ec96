// Integers of at most 8 bits that a model widens: (integers - zero) · scale, however it says so. Reads casts, products,
// differences and dequantize operators. What moves elements between them, such as views, transpositions and slices, is
// done to the integers, the scales and the zero points each.
#pragma once

#include <optional>
#include <vector>

#include "compiler/fuse/broadcast_numbers.h"
#include "compiler/fuse/known_tensor.h"

namespace berth::fuse {

/// (integers - zero) · scale.
struct AffineIntegers {
  KnownTensor integers;  // i8, u8, i4 or u4
  Broadcast scale = {{}, {1}};
  Broadcast zero = {{}, {0}};
  bool scaled = false;  // whether anything was multiplied: no zero point is taken off behind that

  std::vector<int64_t> sizes() const { return integers.sizes(); }
};

/// `value` as such integers; nothing where it is anything else. `type`, f32 or one of 16 bits, is what the model
/// computes in: what it rounds to 16 bits on the way is not rounded.
std::optional<AffineIntegers> read_affine_integers(Context& context, ir::ValueId value, DType type);

}  // namespace berth::fuse
