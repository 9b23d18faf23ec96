#include "compiler/fuse/fuse_elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "format/elementwise_code.h"

namespace berth::fuse {
namespace {

using elementwise::Op;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// What a step reads: an input, a constant or a step before, by its place among those of its kind.
struct Operand {
  enum class Kind : uint8_t { kInput, kConstant, kStep } kind = Kind::kInput;
  size_t index = 0;
};

struct Step {
  Op op;
  std::array<Operand, 3> operands;
};

struct Chain {
  std::vector<ValueId> inputs;
  std::vector<double> constants;
  std::vector<Step> steps;

  Operand input(ValueId value) {
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found == inputs.end()) inputs.push_back(value);
    return {Operand::Kind::kInput,
            static_cast<size_t>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin())};
  }
  Operand constant(double number) {
    // -0 is another number than 0: one divides to -inf.
    const auto same = [&](double other) { return other == number && std::signbit(other) == std::signbit(number); };
    const auto found = std::find_if(constants.begin(), constants.end(), same);
    const size_t at = found - constants.begin();
    if (found == constants.end()) constants.push_back(number);
    return {Operand::Kind::kConstant, at};
  }
  Operand step(Op op, Operand a, Operand b = {}, Operand c = {}) {
    steps.push_back({op, {a, b, c}});
    return {Operand::Kind::kStep, steps.size() - 1};
  }
  bool fits() const {
    return !inputs.empty() && inputs.size() <= elementwise::kMaxInputs &&
           constants.size() <= elementwise::kMaxConstants && steps.size() <= elementwise::kMaxSteps;
  }
  int64_t number_of(Operand operand) const {
    const size_t first = operand.kind == Operand::Kind::kInput      ? 0
                         : operand.kind == Operand::Kind::kConstant ? inputs.size()
                                                                    : inputs.size() + constants.size();
    return static_cast<int64_t>(first + operand.index);
  }
  ir::DimList code() const {
    ir::DimList code;
    for (const Step& step : steps) {
      code.push_back(ir::Dim(static_cast<int64_t>(step.op)));
      for (int k = 0; k < 3; ++k) {
        const bool used = k < elementwise::operands(step.op);
        code.push_back(ir::Dim(used ? number_of(step.operands[k]) : 0));
      }
    }
    return code;
  }
};

std::optional<Op> unary_op(const Node& node) {
  switch (node.op->id) {
    case OpId::neg_out: return Op::kNeg;
    case OpId::abs_out: return Op::kAbs;
    case OpId::exp_out: return Op::kExp;
    case OpId::log_out: return Op::kLog;
    case OpId::sqrt_out: return Op::kSqrt;
    case OpId::rsqrt_out: return Op::kRsqrt;
    case OpId::reciprocal_out: return Op::kReciprocal;
    case OpId::tanh_out: return Op::kTanh;
    case OpId::sigmoid_out: return Op::kSigmoid;
    case OpId::erf_out: return Op::kErf;
    case OpId::relu_out: return Op::kRelu;
    default: return std::nullopt;
  }
}

std::optional<Op> binary_op(const Node& node) {
  switch (node.op->id) {
    case OpId::add_out:
    case OpId::add_Scalar_out: return Op::kAdd;
    case OpId::sub_out:
    case OpId::sub_Scalar_out: return Op::kSub;
    case OpId::mul_out:
    case OpId::mul_Scalar_out: return Op::kMul;
    case OpId::div_out:
    case OpId::div_Scalar_out: return Op::kDiv;
    case OpId::minimum_out: return Op::kMin;
    case OpId::maximum_out: return Op::kMax;
    default: return std::nullopt;
  }
}

// Steps that a node becomes by itself.
size_t own_steps(const Node& node) {
  return node.is(OpId::fused_elementwise_out)
             ? std::get<ir::DimList>(node.args[arg::fused_elementwise_out::code]).size() / 4
             : 1;
}

class Reader {
 public:
  explicit Reader(const Context& context) : context_(context) {}

  bool is_f32(ValueId value) const {
    const ir::TensorType* type = context_.method().value(value).tensor();
    return type != nullptr && type->dtype == DType::kF32;
  }

  // Appends the steps of `node` and of what it takes along, with room for `after` more of those that read it. False
  // when it is not an element-wise operator.
  bool read(const Node& node, size_t after, Chain* chain, Operand* result) const {
    if (node.results.size() != 1 || !is_f32(node.results[0]) || !takes_f32(node)) return false;
    after += own_steps(node);
    if (node.is(OpId::fused_elementwise_out)) return inline_code(node, after, chain, result);
    if (const auto op = unary_op(node)) {
      *result = chain->step(*op, operand(node, 0, after, chain));
      return true;
    }
    if (const auto op = binary_op(node)) {
      const bool scaled = *op == Op::kAdd || *op == Op::kSub;
      if (scaled && context_.number(node.args[arg::add_out::alpha]) != 1.0) return false;
      const Operand a = operand(node, 0, after, chain);
      const Operand b = operand(node, 1, after, chain);
      *result = chain->step(*op, a, b);
      return true;
    }
    if (node.is(OpId::clamp_out) || node.is(OpId::hardtanh_out)) return limits(node, after, chain, result);
    return false;
  }

 private:
  bool takes_f32(const Node& node) const {
    bool all = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) { all = all && is_f32(value); });
    }
    return all;
  }

  bool limits(const Node& node, size_t after, Chain* chain, Operand* result) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double bounds[2] = {-kInfinity, kInfinity};
    for (size_t k = 0; k < 2; ++k) {
      if (ir::is_none(node.args[1 + k])) continue;
      const auto number = context_.number(node.args[1 + k]);
      if (!number) return false;
      bounds[k] = *number;
    }
    const Operand x = operand(node, 0, after, chain);
    *result = chain->step(Op::kClamp, x, chain->constant(bounds[0]), chain->constant(bounds[1]));
    return true;
  }

  Operand operand(const Node& node, size_t k, size_t after, Chain* chain) const {
    const ValueId* own = std::get_if<ValueId>(&node.args[k]);
    const auto number = context_.number(node.args[k]);
    if (own == nullptr || (number && is_whole(node, 1 - k))) return chain->constant(*number);
    return value(*own, node, after, chain);
  }

  // Whether argument `k` alone says how large the result is. Without such a one a constant of equal elements is not
  // just a number, for others stretch to it.
  bool is_whole(const Node& node, size_t k) const {
    const ValueId* value = k < node.args.size() ? std::get_if<ValueId>(&node.args[k]) : nullptr;
    return value != nullptr && !context_.number(node.args[k]) &&
           context_.type(*value).shape == context_.type(node.results[0]).shape;
  }

  // What is nearest is taken first, as long as there is room: without that bound each node of a long chain would read
  // all that is before it.
  Operand value(ValueId value, const Node& reader, size_t after, Chain* chain) const {
    const Node* maker = context_.maker(value);
    const bool alone = context_.uses(value) == 1;
    const bool room = maker != nullptr && chain->steps.size() + own_steps(*maker) + after <= elementwise::kMaxSteps;
    if (room && alone && context_.type(value).shape == context_.type(reader.results[0]).shape) {
      Chain longer = *chain;
      Operand result;
      if (read(*maker, after, &longer, &result) && longer.fits()) {
        *chain = std::move(longer);
        return result;
      }
    }
    return chain->input(value);
  }

  bool inline_code(const Node& node, size_t after, Chain* chain, Operand* result) const {
    const auto& inputs = std::get<ir::ValueList>(node.args[arg::fused_elementwise_out::inputs]);
    const auto& code = std::get<ir::DimList>(node.args[arg::fused_elementwise_out::code]);
    const auto& constants = std::get<ir::FloatList>(node.args[arg::fused_elementwise_out::constants]);
    std::vector<Operand> known;
    for (ValueId input : inputs) known.push_back(value(input, node, after, chain));
    for (double constant : constants) known.push_back(chain->constant(constant));
    for (size_t i = 0; i + 3 < code.size(); i += 4) {
      const Op op = static_cast<Op>(code[i].value);
      std::array<Operand, 3> own{};
      for (int k = 0; k < elementwise::operands(op); ++k) {
        own[k] = known[code[i + 1 + k].value];
      }
      known.push_back(chain->step(op, own[0], own[1], own[2]));
    }
    *result = known.back();
    return true;
  }

  const Context& context_;
};

Expected<passes::Action> fuse_chain(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  Chain chain;
  Operand last;
  if (!Reader(context).read(node, 0, &chain, &last)) return passes::Action::keep();
  if (chain.steps.size() <= own_steps(node)) return passes::Action::keep();
  if (!chain.fits()) return passes::Action::keep();
  context.remark(node, Reason::kFused, "berth::elementwise");
  const std::string source = node.source;
  const std::string name = context.method().value(node.results[0]).name;
  BERTH_ASSIGN_OR_RETURN(const ValueId made,
                         build.one(OpId::fused_elementwise_out,
                                   {chain.inputs, chain.code(), ir::FloatList(chain.constants)}, source, name));
  return context.replace(id, made);
}

}  // namespace

Expected<passes::Changed> fuse_elementwise(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_chain); });
}

}  // namespace berth::fuse
