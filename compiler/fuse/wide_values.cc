#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::OpId;
using ir::ValueId;

Expected<ValueId> cast(ir::Builder& build, ValueId value, DType type, const std::string& source,
                       const std::string& name = "") {
  const Argument number = ir::Dim(static_cast<int64_t>(type));
  return build.one(OpId::to_dim_order_copy_out, {value, false, ir::None{}, number}, source, name);
}

}  // namespace

std::optional<ValueId> cast_of(const Context& context, ValueId value, DType from, DType to) {
  const Node* node = context.maker(value);
  if (node == nullptr || !node->is(OpId::to_dim_order_copy_out)) return std::nullopt;
  const ValueId given = std::get<ValueId>(node->args[0]);
  const ir::TensorType& type = context.type(given);
  const ir::TensorType& cast = context.type(value);
  if (type.dtype != from || cast.dtype != to || type.dim_order != cast.dim_order) return std::nullopt;
  return given;
}

Expected<ValueId> wide_value(Context& context, ir::Builder& build, ValueId value, const std::string& source) {
  const DType type = context.type(value).dtype;
  if (type == DType::kF32) return value;
  if (type == DType::kBF16) {
    if (const auto given = cast_of(context, value, DType::kF32, type)) return *given;
  }
  return cast(build, value, DType::kF32, source);
}

Argument wide_constant(Context& context, ir::Builder& build, const Argument& argument) {
  const ir::Constant* constant = context.constant(argument);
  if (constant == nullptr || constant->type.dtype == DType::kF32) return argument;
  std::vector<int64_t> sizes;
  for (const ir::Dim& dim : constant->type.shape) sizes.push_back(dim.value);
  return float_constant(build, sizes, floats_of(*constant), constant->name);
}

Expected<ValueId> narrowed_value(ir::Builder& build, ValueId value, DType type, const std::string& source,
                                 const std::string& name) {
  if (type == DType::kF32) return value;
  return cast(build, value, type, source, name);
}

}  // namespace berth::fuse
