#include "compiler/fuse/formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr size_t kMaxFactors = 4;

// Whether formulas of it are read: f32, f16 or bf16.
bool is_float(const Context& context, ValueId value) {
  const ir::TensorType* type = context.method().value(value).tensor();
  return type != nullptr && (type->dtype == DType::kF32 || has_16_bits(type->dtype));
}

// Operand `k` of `node` when it has the type of the result and is as large.
ValueId operand(const Context& context, const Node& node, size_t k) {
  const ValueId* value = std::get_if<ValueId>(&node.args[k]);
  if (value == nullptr || !is_float(context, *value)) return {};
  const ir::TensorType& type = context.type(*value);
  const ir::TensorType& result = context.type(node.results[0]);
  return type.shape == result.shape && type.dtype == result.dtype ? *value : ValueId{};
}

void add_factors(const Context& context, ValueId value, Factors* out);

bool expand(const Context& context, const Node& node, Factors* out) {
  const bool product = node.is(OpId::mul_out) || node.is(OpId::mul_Scalar_out);
  const bool quotient = node.is(OpId::div_out) || node.is(OpId::div_Scalar_out);
  if (!product && !quotient) return false;
  for (size_t k = 0; k < 2; ++k) {
    if (quotient && k == 0) continue;
    const auto number = context.number(node.args[k]);
    const ValueId other = operand(context, node, 1 - k);
    if (!number || !other.valid()) continue;
    out->number *= product ? *number : 1 / *number;
    add_factors(context, other, out);
    return true;
  }
  if (!node.is(OpId::mul_out)) return false;
  const ValueId a = operand(context, node, 0);
  const ValueId b = operand(context, node, 1);
  if (!a.valid() || !b.valid() || out->values.size() + 2 > kMaxFactors) return false;
  add_factors(context, a, out);
  add_factors(context, b, out);
  return true;
}

void add_factors(const Context& context, ValueId value, Factors* out) {
  const Node* node = context.maker(value);
  if (node != nullptr && context.uses(value) == 1 && is_float(context, value) && expand(context, *node, out)) return;
  out->values.push_back(value);
}

}  // namespace

Factors factors_of(const Context& context, ValueId value) {
  Factors result;
  add_factors(context, value, &result);
  return result;
}

Factors factors_of(const Context& context, const Node& node) {
  Factors result;
  if (!is_float(context, node.results[0]) || !expand(context, node, &result)) return {1, {node.results[0]}};
  return result;
}

Sum sum_of(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  if (node == nullptr || !is_float(context, value)) return {};
  const bool add = node->is(OpId::add_out) || node->is(OpId::add_Scalar_out);
  const bool sub = node->is(OpId::sub_out) || node->is(OpId::sub_Scalar_out);
  if (!add && !sub) return {};
  const auto alpha = context.number(node->args[arg::add_out::alpha]);
  if (alpha != 1.0) return {};
  for (size_t k = 0; k < 2; ++k) {
    const auto number = context.number(node->args[k]);
    const ValueId other = operand(context, *node, 1 - k);
    if (!number || !other.valid() || (sub && k == 0)) continue;
    return {other, add ? *number : -*number};
  }
  return {};
}

Limits limits_of(const Context& context, ValueId value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Limits result{value, -kInfinity, kInfinity};
  while (const Node* node = context.maker(result.value)) {
    double low = -kInfinity;
    double high = kInfinity;
    if (node->is(OpId::relu_out)) {
      low = 0;
    } else if (node->is(OpId::clamp_out) || node->is(OpId::hardtanh_out)) {
      if (!ir::is_none(node->args[arg::clamp_out::min]))
        low = context.number(node->args[arg::clamp_out::min]).value_or(std::nan(""));
      if (!ir::is_none(node->args[arg::clamp_out::max]))
        high = context.number(node->args[arg::clamp_out::max]).value_or(std::nan(""));
    } else {
      break;
    }
    if (!(low <= high) || !is_float(context, result.value)) break;
    if (result.value != value && context.uses(result.value) != 1) break;
    // The inner limits, as the outer ones leave them.
    result.low = std::min(std::max(low, result.low), result.high);
    result.high = std::min(std::max(high, result.low), result.high);
    result.value = std::get<ValueId>(node->args[arg::clamp_out::self]);
  }
  return result;
}

bool near(double a, double b, DType type) {
  // Of each a unit in the last place, for the product of two rounded numbers.
  const double off = type == DType::kF16 ? 0x1p-10 : type == DType::kBF16 ? 0x1p-7 : 1e-6;
  return std::fabs(a - b) <= off * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace berth::fuse
