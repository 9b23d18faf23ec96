// Numbers that are known only at run time, as tensors without dimensions: whole ones are i64, others f64, truths bool.
//
// What sizes give is a Dim wherever the IR can say it: sums, products, quotients that are rounded down. Beside their
// tensor, true quotients of sizes are remembered, since rounding makes sizes of them again.
#include <cmath>

#include "compiler/import/pte/method_importer.h"

namespace berth::pte {
namespace {

// Integers up to here are exact in a double, and so is the rounding of their quotients.
constexpr int64_t kExact = int64_t{1} << 52;

// With the operator that takes a tensor where it has a number.
constexpr struct {
  OpId with_number, with_tensor;
} kNumberOperators[] = {
    {OpId::add_Scalar_out, OpId::add_out},
    {OpId::sub_Scalar_out, OpId::sub_out},
    {OpId::mul_Scalar_out, OpId::mul_out},
    {OpId::div_Scalar_out, OpId::div_out},
    {OpId::div_Scalar_mode_out, OpId::div_out_mode},
    {OpId::fmod_Scalar_out, OpId::fmod_Tensor_out},
    {OpId::remainder_Scalar_out, OpId::remainder_Tensor_out},
    {OpId::pow_Tensor_Scalar_out, OpId::pow_Tensor_Tensor_out},
    {OpId::eq_Scalar_out, OpId::eq_Tensor_out},
    {OpId::ne_Scalar_out, OpId::ne_Tensor_out},
    {OpId::lt_Scalar_out, OpId::lt_Tensor_out},
    {OpId::le_Scalar_out, OpId::le_Tensor_out},
    {OpId::gt_Scalar_out, OpId::gt_Tensor_out},
    {OpId::ge_Scalar_out, OpId::ge_Tensor_out},
    {OpId::fill_Scalar_out, OpId::fill_Tensor_out},
};

Dim dtype_number(DType dtype) { return Dim(static_cast<int64_t>(dtype)); }

// over / 2^n for a number with a short binary fraction.
bool as_fraction(double number, int64_t* over, int64_t* under) {
  *under = 1;
  while (number != std::floor(number) && *under < (int64_t{1} << 20)) {
    number *= 2;
    *under *= 2;
  }
  *over = static_cast<int64_t>(std::abs(number) < 1e9 ? number : 0);
  return number == std::floor(number) && std::abs(number) < 1e9;
}

bool is_power_of_two(Dim d) { return d.is_constant() && d.value > 0 && (d.value & (d.value - 1)) == 0; }

}  // namespace

Expected<ValueId> MethodImporter::as_type(ValueId value, DType dtype) {
  if (method_.tensor(value).dtype == dtype) return value;
  return one(OpId::to_copy_out, {value, false, ir::None(), dtype_number(dtype)}, method_.value(value).name);
}

// A number as a tensor of its kind.
Expected<ValueId> MethodImporter::in_tensor(const Argument& number) {
  if (const ValueId* value = std::get_if<ValueId>(&number)) {
    const DType dtype = method_.tensor(*value).dtype;
    return as_type(*value, is_floating(dtype) ? DType::kF64 : dtype == DType::kBool ? dtype : DType::kI64);
  }
  if (const Dim* dim = std::get_if<Dim>(&number)) {
    return one(OpId::full_out, {DimList(), *dim, dtype_number(DType::kI64)}, "size");
  }
  ir::Builder build(module_, method_, *graph_);
  if (const double* real = std::get_if<double>(&number)) return build.splat(DType::kF64, {}, *real);
  if (const bool* truth = std::get_if<bool>(&number)) return build.splat(DType::kBool, {}, *truth ? 1 : 0);
  return invalid("expected a number");
}

const MethodImporter::Quotient* MethodImporter::quotient_of(const Argument& number) const {
  const ValueId* value = std::get_if<ValueId>(&number);
  const auto found = value == nullptr ? quotients_.end() : quotients_.find(value->index);
  return found == quotients_.end() ? nullptr : &found->second;
}

// The quotient of sizes that `name` gives, if it is one.
std::optional<MethodImporter::Quotient> MethodImporter::exact_quotient(const std::string& name,
                                                                       const std::vector<Argument>& in) {
  ir::Symbols& symbols = module_.symbols;
  const auto fraction = [&](const Argument& number) -> std::optional<Quotient> {
    if (const Dim* dim = std::get_if<Dim>(&number)) return Quotient{*dim, Dim(1)};
    if (const Quotient* known = quotient_of(number)) return *known;
    const double* real = std::get_if<double>(&number);
    int64_t over = 0, under = 1;
    if (real == nullptr || !as_fraction(*real, &over, &under)) return std::nullopt;
    return Quotient{Dim(over), Dim(under)};
  };
  const auto a = fraction(in[0]);
  if (!a.has_value()) return std::nullopt;
  if (name == "sym_float") return a;
  if (in.size() != 2 || !is_power_of_two(a->under)) return std::nullopt;
  const auto b = fraction(in[1]);
  if (!b.has_value() || !is_power_of_two(b->under)) return std::nullopt;
  constexpr int kMaxTerms = 64;
  for (const Dim d : {a->over, a->under, b->over, b->under}) {
    if (symbols.terms(d) > kMaxTerms) return std::nullopt;
  }
  if (name == "mul") return Quotient{symbols.mul(a->over, b->over), symbols.mul(a->under, b->under)};
  if (name != "truediv") return std::nullopt;
  return Quotient{symbols.mul(a->over, b->under), symbols.mul(a->under, b->over)};
}

// The size that rounding a quotient gives, where doubles would give the same.
std::optional<Dim> MethodImporter::rounded(const std::string& name, const Quotient& q) {
  ir::Symbols& symbols = module_.symbols;
  const bool small = symbols.lower(q.over) >= 0 && symbols.upper(q.over) < kExact && symbols.lower(q.under) > 0 &&
                     symbols.upper(q.under) < kExact;
  if (!small) return std::nullopt;
  if (name == "ceil") return symbols.ceil_div(q.over, q.under);
  if (name == "trunc" || name == "sym_int") return symbols.floor_div(q.over, q.under);
  return std::nullopt;
}

// Arithmetic that is done at run time.
Expected<Argument> MethodImporter::apply_at_run_time(const std::string& name, const std::vector<Argument>& in) {
  if (const Quotient* q = in.size() == 1 ? quotient_of(in[0]) : nullptr) {
    if (const auto size = rounded(name, *q)) return Argument(*size);
  }
  std::vector<ValueId> x;
  for (const Argument& number : in) {
    BERTH_ASSIGN_OR_RETURN(const ValueId value, in_tensor(number));
    x.push_back(value);
  }
  const auto exact = exact_quotient(name, in);
  // The remainder is C's here.
  const lowering::NumberOperator* rule = lowering::find_number_operator(name == "mod" ? "fmod" : name, x.size());
  if (rule == nullptr && name != "sym_ite") return unsupported("is an operator that Berth does not have");
  auto result = rule == nullptr ? choose(x) : apply_operator(*rule, x);
  if (!result.ok()) return result.error();
  if (exact.has_value()) quotients_[result->index] = *exact;
  return Argument(*result);
}

Expected<ValueId> MethodImporter::apply_operator(const lowering::NumberOperator& rule, std::vector<ValueId> x) {
  std::vector<DType> types;
  types.reserve(x.size());
  for (const ValueId value : x) types.push_back(method_.tensor(value).dtype);
  for (ValueId& value : x) {
    if (!rule.takes_real(types)) break;
    BERTH_ASSIGN_OR_RETURN(value, as_type(value, DType::kF64));
  }
  ValueId result = x[0];
  if (rule.op.has_value()) {
    BERTH_ASSIGN_OR_RETURN(result, one(*rule.op, rule.arguments(x), "number"));
  }
  return rule.gives.has_value() ? as_type(result, *rule.gives) : Expected<ValueId>(result);
}

// sym_ite
Expected<ValueId> MethodImporter::choose(const std::vector<ValueId>& x) {
  const bool fits = x.size() == 3 && method_.tensor(x[0]).dtype == DType::kBool &&
                    method_.tensor(x[1]).dtype == method_.tensor(x[2]).dtype;
  if (!fits) return unsupported("chooses between numbers of different kinds, which is known only at run time");
  return one(OpId::where_self_out, {x[0], x[1], x[2]}, "number");
}

// Operators that get, as a number, what is read from a tensor: the same with a tensor without dimensions. True when
// `op` and `args` were made so; `out` is its result's type.
Expected<bool> MethodImporter::give_tensors(OpId* op, std::vector<Argument>* args, const ir::TensorType& out) {
  std::vector<size_t> numbers;
  const ir::Operator& row = ir::operator_of(*op);
  for (size_t i = 0; i < args->size(); ++i) {
    if (row.parameters[i].type == ir::ParameterType::kScalar && std::holds_alternative<ValueId>((*args)[i])) {
      numbers.push_back(i);
    }
  }
  if (numbers.empty()) return false;
  const auto refuse = [&] {
    return unsupported("gets a number that is read from a tensor, as its argument '" +
                       std::string(row.parameters[numbers[0]].name) + "': it is known only at run time");
  };
  if (numbers.size() != 1) return refuse();
  const ValueId number = std::get<ValueId>((*args)[numbers[0]]);
  if (*op == OpId::scalar_tensor_out || *op == OpId::full_out || *op == OpId::full_like_out) {
    BERTH_ASSIGN_OR_RETURN(const ValueId value, as_type(number, out.dtype));
    DimList sizes;
    if (*op == OpId::full_out) {
      const DimList* given = std::get_if<DimList>(&(*args)[0]);
      if (given == nullptr) return refuse();
      sizes = *given;
    }
    if (*op == OpId::full_like_out) {
      const ValueId* like = std::get_if<ValueId>(&(*args)[0]);
      if (like == nullptr) return refuse();
      sizes = method_.tensor(*like).shape;
    }
    *op = OpId::expand_copy_out;
    *args = {value, std::move(sizes), false};
    return true;
  }
  for (const auto& [with_number, with_tensor] : kNumberOperators) {
    if (*op != with_number) continue;
    // A factor (alpha) stays a number where the other operand is a tensor.
    const ValueId* self = std::get_if<ValueId>(&(*args)[0]);
    if (self == nullptr || numbers[0] != 1) return refuse();
    BERTH_ASSIGN_OR_RETURN((*args)[1],
                           as_type(number, number_type(method_.tensor(number).dtype, method_.tensor(*self).dtype)));
    *op = with_tensor;
    return true;
  }
  return refuse();
}

}  // namespace berth::pte
