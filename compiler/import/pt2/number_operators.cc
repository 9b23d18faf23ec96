// Numbers that are known only at run time, as tensors without dimensions: whole ones are i64, others f64, truths bool.
// Sizes whose arithmetic the IR can say are Dims (symbol_operators.cc); this is for the rest: true quotients, roots,
// comparisons, choices, and what is computed from elements of tensors.
#include "compiler/import/lowering/number_operators.h"

#include <optional>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// The number that stands as argument `i`; nothing when it is not known.
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

ValueId apply(NodeContext& n, const lowering::NumberOperator& rule, std::vector<ValueId> x) {
  std::vector<DType> types;
  for (const ValueId value : x) types.push_back(n.dtype(value));
  if (rule.takes_real(types)) {
    for (ValueId& value : x) value = n.cast(value, DType::kF64);
  }
  const ValueId result = rule.op.has_value() ? n.op(*rule.op, rule.arguments(x)) : x[0];
  return rule.gives.has_value() ? n.cast(result, *rule.gives) : result;
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
  if (const lowering::NumberOperator* rule = lowering::find_number_operator(name, x.size())) {
    result = apply(n, *rule, x);
  }
  const bool chooses =
      x.size() == 3 && name == "sym_ite" && n.dtype(x[0]) == DType::kBool && n.dtype(x[1]) == n.dtype(x[2]);
  if (chooses) result = n.op(OpId::where_self_out, {x[0], x[1], x[2]});
  if (!n.ok()) return;
  if (!result.valid()) return n.unknown_output(0, "is a number that only the data tell");
  n.output(result);
}

}  // namespace berth::pt2
