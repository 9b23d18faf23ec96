// Values of 16 bits as f32 and back, around operators whose kernels compute in f32.
#pragma once

#include <optional>
#include <string>

#include "compiler/fuse/context.h"
#include "format/elementwise_code.h"

namespace berth::fuse {

/// Whether products and chains of 16 bits are those of f32 for this target, rounded at their ends.
inline bool widens_halves(const targets::Target& target) { return target.narrow_weights && !target.narrow_tensors; }

/// The step of element-wise code whose result is of `type`. REQUIRES: has_16_bits(type).
constexpr elementwise::Op to_half(DType type) {
  return type == DType::kF16 ? elementwise::Op::kToF16 : elementwise::Op::kToBF16;
}

/// What `value`, of type `to`, was cast from, if that has type `from` and the same order.
std::optional<ir::ValueId> cast_of(const Context& context, ir::ValueId value, DType from, DType to);

/// `value` in f32. What was rounded from f32 to bf16 a moment ago is taken before that.
Expected<ir::ValueId> wide_value(Context& context, ir::Builder& build, ir::ValueId value, const std::string& source);

/// A constant in f32; what is not a constant as it is.
ir::Argument wide_constant(Context& context, ir::Builder& build, const ir::Argument& argument);

/// `value`, of f32, as `type`.
Expected<ir::ValueId> narrowed_value(ir::Builder& build, ir::ValueId value, DType type, const std::string& source,
                                     const std::string& name);

}  // namespace berth::fuse
