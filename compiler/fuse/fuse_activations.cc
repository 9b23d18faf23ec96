#include "compiler/fuse/fuse_activations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/fuse/formulas.h"
#include "compiler/fuse/wide_values.h"
#include "format/elementwise_code.h"

namespace berth::fuse {
namespace {

using elementwise::Op;
using ir::Node;
using ir::OpId;
using ir::ValueId;

struct Named {
  Op op;
  const char* name;
};

constexpr Named kNamed[] = {
    {Op::kRelu, "relu"}, {Op::kSigmoid, "sigmoid"},          {Op::kTanh, "tanh"},
    {Op::kSilu, "silu"}, {Op::kHardSigmoid, "hard_sigmoid"}, {Op::kHardSwish, "hard_swish"},
    {Op::kGelu, "gelu"}, {Op::kGeluTanh, "gelu_tanh"},
};

struct Found {
  Op op;
  ir::ValueList inputs;
};

// Up to the rounding of the type that `value` has.
bool is_near(const Context& context, ValueId value, double a, double b) {
  return near(a, b, context.type(value).dtype);
}

// min(max(x + 3, 0), 6): x; invalid when it is not.
ValueId limited_sum(const Context& context, ValueId value) {
  if (context.uses(value) != 1) return {};
  const Limits limits = limits_of(context, value);
  if (limits.low != 0 || limits.high != 6 || context.uses(limits.value) != 1) return {};
  const Sum sum = sum_of(context, limits.value);
  return sum.number == 3 ? sum.value : ValueId{};
}

// min(max(x / 6 + 1 / 2, 0), 1), as ONNX's HardSigmoid is in HardSwish: x; invalid when it is not.
ValueId limited_line(const Context& context, ValueId value) {
  const Limits limits = limits_of(context, value);
  if (limits.low != 0 || limits.high != 1 || context.uses(limits.value) != 1) return {};
  const Sum sum = sum_of(context, limits.value);
  if (!sum.value.valid() || sum.number != 0.5 || context.uses(sum.value) != 1) return {};
  const Factors factors = factors_of(context, sum.value);
  return factors.values.size() == 1 && is_near(context, value, factors.number, 1.0 / 6) ? factors.values[0] : ValueId{};
}

bool is_cube(const Context& context, const Factors& factors, ValueId x) {
  if (!is_near(context, x, factors.number, 0.044715)) return false;
  if (factors.values == ir::ValueList{x, x, x}) return true;
  if (factors.values.size() != 1) return false;
  const Node* power = context.maker(factors.values[0]);
  if (power == nullptr) return false;
  const bool raised = power->is(OpId::pow_Tensor_Scalar_out) || power->is(OpId::pow_Tensor_Tensor_out);
  return raised && power->args[arg::pow_Tensor_Scalar_out::self] == ir::Argument(x) &&
         context.number(power->args[arg::pow_Tensor_Scalar_out::exponent]) == 3.0;
}

// sqrt(2 / pi) * (x + 0.044715 x^3)
bool is_tanh_argument(const Context& context, ValueId value, ValueId x) {
  const Factors factors = factors_of(context, value);
  if (!is_near(context, x, factors.number, 0.7978845608028654) || factors.values.size() != 1) return false;
  const Node* sum = context.maker(factors.values[0]);
  if (sum == nullptr || !sum->is(OpId::add_out) || context.number(sum->args[arg::add_out::alpha]) != 1.0) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId* cube = std::get_if<ValueId>(&sum->args[1 - k]);
    if (sum->args[k] == ir::Argument(x) && cube != nullptr && is_cube(context, factors_of(context, *cube), x)) {
      return true;
    }
  }
  return false;
}

// 1 + erf(x / sqrt(2)), or its form with tanh.
std::optional<Op> gelu_gate(const Context& context, ValueId gate, ValueId x) {
  const Sum sum = sum_of(context, gate);
  const Node* inner = sum.value.valid() && sum.number == 1 ? context.maker(sum.value) : nullptr;
  if (inner == nullptr || context.uses(gate) != 1 || context.uses(sum.value) != 1) return std::nullopt;
  if (inner->is(OpId::erf_out)) {
    const Factors factors = factors_of(context, std::get<ValueId>(inner->args[arg::erf_out::self]));
    const bool half = is_near(context, x, factors.number, 0.7071067811865476) && factors.values == ir::ValueList{x};
    return half ? std::optional<Op>(Op::kGelu) : std::nullopt;
  }
  if (!inner->is(OpId::tanh_out)) return std::nullopt;
  const bool matches = is_tanh_argument(context, std::get<ValueId>(inner->args[arg::tanh_out::self]), x);
  return matches ? std::optional<Op>(Op::kGeluTanh) : std::nullopt;
}

// ln(1 + e^x) as importers write it, which is exact far from 0: max(x, 0) + log1p(e^-|x|).
bool is_softplus(const Context& context, ValueId value, ValueId x) {
  const auto read_once = [&](ValueId made, OpId op) {
    const Node* node = made.valid() && context.uses(made) == 1 ? context.maker(made) : nullptr;
    return node != nullptr && node->is(op) ? node : nullptr;
  };
  const auto inner = [](const Node* node) { return node == nullptr ? ValueId{} : value_argument(*node, 0); };
  const Node* sum = read_once(value, OpId::add_out);
  if (sum == nullptr || context.number(sum->args[arg::add_out::alpha]) != 1.0) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId power = inner(read_once(value_argument(*sum, k), OpId::log1p_out));
    const ValueId minus = inner(read_once(inner(read_once(power, OpId::exp_out)), OpId::neg_out));
    const ValueId above = inner(read_once(value_argument(*sum, 1 - k), OpId::relu_out));
    if (above == x && inner(read_once(minus, OpId::abs_out)) == x) return true;
  }
  return false;
}

// x * gate * number
std::optional<Op> gated(const Context& context, ValueId x, ValueId gate, double number) {
  if (context.uses(gate) != 1) return std::nullopt;
  if (is_near(context, x, number, 1)) {
    if (limited_line(context, gate) == x) return Op::kHardSwish;
    const Node* node = context.maker(gate);
    const auto activation = node == nullptr ? std::nullopt : activation_of(context, *node);
    if (!activation || activation->input != x) return std::nullopt;
    if (activation->name == "sigmoid") return Op::kSilu;
    return activation->name == "hard_sigmoid" ? std::optional<Op>(Op::kHardSwish) : std::nullopt;
  }
  if (is_near(context, x, number, 1.0 / 6) && limited_sum(context, gate) == x) return Op::kHardSwish;
  return is_near(context, x, number, 0.5) ? gelu_gate(context, gate, x) : std::nullopt;
}

bool is_finite(const Context& context, ValueId value) {
  const ir::Constant* constant = context.constant(ir::Argument(value));
  if (constant == nullptr || constant->type.dtype != DType::kF32 || !constant->type.is_contiguous()) return false;
  const std::vector<float> numbers = floats_of(*constant);
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

// x > 0 ? x : x * slope, or x >= 0: of finite slopes that makes no difference.
std::optional<Found> match_prelu(const Context& context, const Node& node) {
  const auto made_by = [&](const ir::Argument& argument) {
    const ValueId* value = std::get_if<ValueId>(&argument);
    return value == nullptr ? nullptr : context.maker(*value);
  };
  if (!node.is(OpId::where_self_out)) return std::nullopt;
  const ValueId* x = std::get_if<ValueId>(&node.args[arg::where_self_out::self]);
  const Node* test = made_by(node.args[arg::where_self_out::condition]);
  const Node* product = made_by(node.args[arg::where_self_out::other]);
  if (x == nullptr || test == nullptr || product == nullptr || !product->is(OpId::mul_out)) return std::nullopt;
  const bool or_equal = test->is(OpId::ge_Scalar_out);
  if (!or_equal && !test->is(OpId::gt_Scalar_out)) return std::nullopt;
  if (test->args[arg::gt_Scalar_out::self] != ir::Argument(*x) ||
      context.number(test->args[arg::gt_Scalar_out::other]) != 0.0 ||
      context.type(*x).shape != context.type(node.results[0]).shape) {
    return std::nullopt;
  }
  for (size_t k = 0; k < 2; ++k) {
    const ValueId slope = value_argument(*product, 1 - k);
    if (value_argument(*product, k) != *x || !slope.valid() || context.type(slope).dtype != DType::kF32) continue;
    if (!or_equal || is_finite(context, slope)) return Found{Op::kLeakyRelu, {*x, slope}};
  }
  return std::nullopt;
}

// x * tanh(ln(1 + e^x))
bool is_mish(const Context& context, const Factors& factors, size_t k) {
  const Node* gate = context.maker(factors.values[1 - k]);
  if (gate == nullptr || !gate->is(OpId::tanh_out) || context.uses(factors.values[1 - k]) != 1) return false;
  return factors.number == 1 && is_softplus(context, value_argument(*gate, 0), factors.values[k]);
}

// `rare`: whether the target has all steps of element-wise code.
std::optional<Found> match(const Context& context, const Node& node, bool rare) {
  if (const auto prelu = match_prelu(context, node)) return prelu;
  const Factors factors = factors_of(context, node);
  if (factors.values.size() == 1 && is_near(context, node.results[0], factors.number, 1.0 / 6)) {
    const ValueId x = limited_sum(context, factors.values[0]);
    if (x.valid()) return Found{Op::kHardSigmoid, {x}};
  }
  if (factors.values.size() != 2) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId x = factors.values[k];
    if (rare && is_mish(context, factors, k)) return Found{Op::kMish, {x}};
    if (const auto op = gated(context, x, factors.values[1 - k], factors.number)) return Found{*op, {x}};
  }
  return std::nullopt;
}

Expected<passes::Action> fuse_activation(Context& context, ir::Builder& build, ir::NodeId id) {
  const Node& node = context.node(id);
  const ir::TensorType* type = node.results.size() != 1 ? nullptr : context.method().value(node.results[0]).tensor();
  if (type == nullptr) return passes::Action::keep();
  const bool narrow = has_16_bits(type->dtype) && widens_halves(context.target(id));
  if (type->dtype != DType::kF32 && !narrow) return passes::Action::keep();
  const auto found = match(context, node, takes_bytes(context.target(id)));
  if (!found) return passes::Action::keep();
  context.remark(node, Reason::kFused, "an activation");
  const std::string source = node.source;
  const std::string name = context.method().value(node.results[0]).name;
  const ir::Dim second(found->inputs.size() > 1 ? 1 : 0);
  ir::DimList code = {ir::Dim(static_cast<int64_t>(found->op)), ir::Dim(0), second, ir::Dim(0)};
  if (narrow) {
    const auto step = static_cast<int64_t>(found->inputs.size());
    code.insert(code.end(),
                {ir::Dim(static_cast<int64_t>(to_half(type->dtype))), ir::Dim(step), ir::Dim(0), ir::Dim(0)});
  }
  BERTH_ASSIGN_OR_RETURN(
      const ValueId made,
      build.one(OpId::fused_elementwise_out, {found->inputs, std::move(code), ir::FloatList{}}, source, name));
  return context.replace(id, made);
}

// Perhaps with one behind it that rounds to the result's 16 bits.
std::optional<ActivationOf> one_step(const Node& node, DType type) {
  const auto& inputs = std::get<ir::ValueList>(node.args[arg::fused_elementwise_out::inputs]);
  const auto& code = std::get<ir::DimList>(node.args[arg::fused_elementwise_out::code]);
  if (inputs.size() != 1 || code.size() != (has_16_bits(type) ? 8 : 4)) return std::nullopt;
  for (const Named& named : kNamed) {
    if (code[0] == ir::Dim(static_cast<int64_t>(named.op))) return ActivationOf{inputs[0], named.name, 0, 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<ActivationOf> activation_of(const Context& context, const Node& node) {
  if (node.results.size() != 1) return std::nullopt;
  const ir::TensorType* type = context.method().value(node.results[0]).tensor();
  if (type == nullptr || (type->dtype != DType::kF32 && !has_16_bits(type->dtype))) return std::nullopt;
  if (node.is(OpId::fused_elementwise_out)) return one_step(node, type->dtype);
  const auto value_of = [&](size_t k) { return context.number(node.args[k]); };
  const ValueId* input = node.args.empty() ? nullptr : std::get_if<ValueId>(&node.args.front());
  if (input == nullptr || context.method().value(*input).tensor() == nullptr) return std::nullopt;
  if (context.type(*input).dtype != type->dtype) return std::nullopt;
  switch (node.op->id) {
    case OpId::relu_out: return ActivationOf{*input, "relu", 0, 0};
    case OpId::sigmoid_out: return ActivationOf{*input, "sigmoid", 0, 0};
    case OpId::tanh_out: return ActivationOf{*input, "tanh", 0, 0};
    case OpId::gelu_out: {
      const bool tanh = node.args[arg::gelu_out::approximate] == ir::Argument(std::string("tanh"));
      return ActivationOf{*input, tanh ? "gelu_tanh" : "gelu", 0, 0};
    }
    case OpId::leaky_relu_out:
      if (!value_of(1)) return std::nullopt;
      return ActivationOf{*input, "leaky_relu", *value_of(1), 0};
    case OpId::elu_out:
      if (!value_of(1) || value_of(2) != 1.0 || value_of(3) != 1.0) return std::nullopt;
      return ActivationOf{*input, "elu", *value_of(1), 0};
    case OpId::clamp_out:
    case OpId::hardtanh_out: {
      const Limits limits = limits_of(context, node.results[0]);
      if (limits.value == node.results[0]) return std::nullopt;
      if (limits.low == 0 && limits.high == std::numeric_limits<double>::infinity()) {
        return ActivationOf{limits.value, "relu", 0, 0};
      }
      return ActivationOf{limits.value, "clamp", limits.low, limits.high};
    }
    default: return std::nullopt;
  }
}

Expected<passes::Changed> fuse_activations(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_activation); });
}

}  // namespace berth::fuse
