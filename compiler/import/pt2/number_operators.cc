// Numbers that are known only at run time, as tensors without dimensions: whole ones are i64, others f64, truths bool.
// Sizes whose arithmetic the IR can say are Dims (symbol_operators.cc); this is for the rest: true quotients, roots,
// comparisons, choices, and what is computed from elements of tensors.
#include <optional>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// The number that stands as argument `i`; nothing when it cannot be told.
std::optional<IrArgument> number_at(NodeContext& n, size_t i) {
  const Argument& a = n.node().inputs[i].value;
  if (!a.names.empty() && !a.names[0].empty()) {
    const auto found = n.scope().find(a.names[0]);
    if (found == n.scope().end() || !found->second.unknown.empty()) return std::nullopt;
    return found->second.value;
  }
  switch (a.kind) {
    case ArgumentKind::kInt:
    case ArgumentKind::kSymInt: return IrArgument(Dim(a.ints[0]));
    case ArgumentKind::kFloat:
    case ArgumentKind::kSymFloat: return IrArgument(a.floats[0]);
    case ArgumentKind::kBool:
    case ArgumentKind::kSymBool: return IrArgument(a.ints[0] != 0);
    default: return std::nullopt;
  }
}

ValueId in_tensor(NodeContext& n, const IrArgument& number) {
  if (const ValueId* value = std::get_if<ValueId>(&number)) {
    const DType dtype = n.dtype(*value);
    return n.cast(*value, is_floating(dtype) ? DType::kF64 : dtype == DType::kBool ? dtype : DType::kI64);
  }
  if (const double* real = std::get_if<double>(&number)) return n.splat(DType::kF64, {}, *real);
  if (const bool* truth = std::get_if<bool>(&number)) return n.splat(DType::kBool, {}, *truth ? 1 : 0);
  return n.op(OpId::full_out, {DimList{}, number, number_of(DType::kI64)});
}

ValueId apply_unary(NodeContext& n, const std::string& name, ValueId x) {
  if (name == "neg") return n.op(OpId::neg_out, {x});
  if (name == "pos") return x;
  if (name == "sym_not") return n.op(OpId::logical_not_out, {x});
  if (name == "sym_float") return n.cast(x, DType::kF64);
  if (name == "sym_int" || name == "trunc") return n.cast(x, DType::kI64);
  if (name == "sym_sqrt" || name == "_sym_sqrt") return n.op(OpId::sqrt_out, {n.cast(x, DType::kF64)});
  const bool known = name == "ceil" || name == "floor" || name == "round";
  if (!known) return {};
  const OpId op = name == "ceil" ? OpId::ceil_out : name == "floor" ? OpId::floor_out : OpId::round_out;
  return n.cast(n.op(op, {x}), DType::kI64);
}

constexpr struct {
  const char* name;
  OpId op;
} kBinary[] = {
    {"mul", OpId::mul_out},
    {"mod", OpId::remainder_Tensor_out},
    {"pow", OpId::pow_Tensor_Tensor_out},
    {"truediv", OpId::div_out},
    {"sym_max", OpId::maximum_out},
    {"sym_min", OpId::minimum_out},
    {"eq", OpId::eq_Tensor_out},
    {"ne", OpId::ne_Tensor_out},
    {"lt", OpId::lt_Tensor_out},
    {"le", OpId::le_Tensor_out},
    {"gt", OpId::gt_Tensor_out},
    {"ge", OpId::ge_Tensor_out},
    {"lshift", OpId::bitwise_left_shift_Tensor_out},
    {"rshift", OpId::bitwise_right_shift_Tensor_out},
    {"and_", OpId::bitwise_and_Tensor_out},
    {"__and__", OpId::bitwise_and_Tensor_out},
    {"or_", OpId::bitwise_or_Tensor_out},
};

ValueId apply_binary(NodeContext& n, const std::string& name, ValueId a, ValueId b) {
  const bool real = name == "truediv" || n.dtype(a) == DType::kF64 || n.dtype(b) == DType::kF64;
  if (real) {
    a = n.cast(a, DType::kF64);
    b = n.cast(b, DType::kF64);
  }
  if (name == "add") return n.op(OpId::add_out, {a, b, Dim(1)});
  if (name == "sub") return n.op(OpId::sub_out, {a, b, Dim(1)});
  if (name == "floordiv") return n.op(OpId::div_out_mode, {a, b, std::string("floor")});
  for (const auto& [known, op] : kBinary) {
    if (name == known) return n.op(op, {a, b});
  }
  return {};
}

}  // namespace

void import_number(NodeContext& n) {
  const std::string& target = n.node().target;
  const size_t dot = target.rfind('.');
  const std::string name = dot == std::string::npos ? target : target.substr(dot + 1);
  std::vector<ValueId> x;
  for (size_t i = 0; i < n.node().inputs.size() && i < 3; ++i) {
    const auto number = number_at(n, i);
    if (!number.has_value()) return n.unknown_output(0, "is computed from what only the data tell");
    x.push_back(in_tensor(n, *number));
    if (!n.ok()) return;
  }
  ValueId result;
  if (x.size() == 1) result = apply_unary(n, name, x[0]);
  if (x.size() == 2) result = apply_binary(n, name, x[0], x[1]);
  const bool chooses =
      x.size() == 3 && name == "sym_ite" && n.dtype(x[0]) == DType::kBool && n.dtype(x[1]) == n.dtype(x[2]);
  if (chooses) result = n.op(OpId::where_self_out, {x[0], x[1], x[2]});
  if (!n.ok()) return;
  if (!result.valid()) return n.unknown_output(0, "is a number that only the data tell");
  n.output(result);
}

}  // namespace berth::pt2
