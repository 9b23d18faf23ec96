#include "compiler/import/lowering/number_operators.h"

#include <algorithm>

namespace berth::lowering {
namespace {

using ir::OpId;
using Last = NumberOperator::Last;

constexpr NumberOperator of_one(std::string_view name, std::optional<OpId> op, std::optional<DType> gives = {},
                                bool real = false) {
  return {name, 1, op, gives, real};
}

constexpr NumberOperator of_two(std::string_view name, OpId op, Last last = Last::kOperand, bool real = false) {
  return {name, 2, op, {}, real, last};
}

constexpr NumberOperator kOperators[] = {
    of_one("neg", OpId::neg_out),
    of_one("pos", {}),
    of_one("sym_not", OpId::logical_not_out),
    of_one("sym_float", {}, DType::kF64),
    of_one("sym_int", {}, DType::kI64),
    of_one("trunc", {}, DType::kI64),
    of_one("ceil", OpId::ceil_out, DType::kI64),
    of_one("floor", OpId::floor_out, DType::kI64),
    of_one("round", OpId::round_out, DType::kI64),
    of_one("sym_sqrt", OpId::sqrt_out, {}, true),
    of_one("_sym_sqrt", OpId::sqrt_out, {}, true),
    of_two("add", OpId::add_out, Last::kFactorOne),
    of_two("sub", OpId::sub_out, Last::kFactorOne),
    of_two("mul", OpId::mul_out),
    of_two("truediv", OpId::div_out, Last::kOperand, true),
    of_two("floordiv", OpId::div_out_mode, Last::kRoundedDown),
    of_two("mod", OpId::remainder_Tensor_out),
    of_two("fmod", OpId::fmod_Tensor_out),
    of_two("pow", OpId::pow_Tensor_Tensor_out),
    of_two("sym_max", OpId::maximum_out),
    of_two("sym_min", OpId::minimum_out),
    of_two("eq", OpId::eq_Tensor_out),
    of_two("ne", OpId::ne_Tensor_out),
    of_two("lt", OpId::lt_Tensor_out),
    of_two("le", OpId::le_Tensor_out),
    of_two("gt", OpId::gt_Tensor_out),
    of_two("ge", OpId::ge_Tensor_out),
    of_two("lshift", OpId::bitwise_left_shift_Tensor_out),
    of_two("rshift", OpId::bitwise_right_shift_Tensor_out),
    of_two("and_", OpId::bitwise_and_Tensor_out),
    of_two("__and__", OpId::bitwise_and_Tensor_out),
    of_two("or_", OpId::bitwise_or_Tensor_out),
};

}  // namespace

bool NumberOperator::takes_real(const std::vector<DType>& types) const {
  return real || std::find(types.begin(), types.end(), DType::kF64) != types.end();
}

std::vector<ir::Argument> NumberOperator::arguments(const std::vector<ir::ValueId>& values) const {
  std::vector<ir::Argument> args(values.begin(), values.end());
  if (last == Last::kFactorOne) args.emplace_back(ir::Dim(1));
  if (last == Last::kRoundedDown) args.emplace_back(std::string("floor"));
  return args;
}

const NumberOperator* find_number_operator(std::string_view name, size_t operands) {
  for (const NumberOperator& one : kOperators) {
    if (one.name == name && one.operands == operands) return &one;
  }
  return nullptr;
}

}  // namespace berth::lowering
