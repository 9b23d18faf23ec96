#include "compiler/fuse/read_chain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/fuse/fuse_activations.h"
#include "compiler/fuse/quantized_pairs.h"
#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using elementwise::Op;
using ir::Node;
using ir::OpId;
using ir::ValueId;
using Chain = ElementChain;
using Operand = ChainOperand;

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

// Those that targets beside cpu and sim have no step for.
std::optional<Op> rare_op(const Node& node) {
  switch (node.op->id) {
    case OpId::sin_out: return Op::kSin;
    case OpId::cos_out: return Op::kCos;
    case OpId::log1p_out: return Op::kLog1p;
    case OpId::expm1_out: return Op::kExpm1;
    case OpId::floor_out: return Op::kFloor;
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
  if (quantises(node)) return 6;
  if (dequantises(node)) return 2;
  return node.is(OpId::fused_elementwise_out)
             ? std::get<ir::DimList>(node.args[arg::fused_elementwise_out::code]).size() / 4
             : 1;
}

// (bytes - number) * number
constexpr size_t kDequantising = 2;

class Reader {
 public:
  /// `use.halves`: those of f16 and bf16 are computed as f32, and are rounded where they end or go on in f32.
  /// `read_often`: bytes whose readers are more than the nodes say.
  /// `shallow`: for chains that only_dequantises() is asked about: bytes are inputs, whatever makes them, and what
  /// takes more steps is not read to its end.
  Reader(const Context& context, ChainUse use, const std::set<ValueId>& read_often, bool shallow)
      : context_(context),
        use_(use),
        bytes_(use.bytes != ByteUse::kNone),
        halves_(use.halves),
        read_often_(read_often),
        shallow_(shallow) {}

  bool only_dequantises(const Chain& chain) const {
    if (chain.inputs.size() != 1 || !is_byte(type_of(chain.inputs[0])) || chain.steps.size() > kDequantising) {
      return false;
    }
    return std::all_of(chain.steps.begin(), chain.steps.end(),
                       [](const ChainStep& step) { return step.op == Op::kSub || step.op == Op::kMul; });
  }

  // Appends the steps of `node` and of what it takes along, with room for `after` more of those that read it. False
  // when it is not an element-wise operator.
  bool read(const Node& node, size_t after, Chain* chain, Operand* result) const {
    if (node.results.size() != 1) return false;
    ++chain->nodes;
    after += steps_of(node);
    if (node.is(OpId::fused_elementwise_out)) return inline_code(node, after, chain, result);
    if (bytes_ && is_cast(node)) return cast(node, after, chain, result);
    if (bytes_ && quantises(node)) return quantised(node, after, chain, result);
    if (bytes_ && dequantises(node)) return dequantised(node, after, chain, result);
    if (!is_float(node.results[0]) || !takes_floats(node)) return false;
    if (const auto op = unary(node)) {
      *result = chain->step(*op, operand(node, 0, after, chain));
      return true;
    }
    if (open_number(node, 0) || open_number(node, 1)) return false;
    if (const auto op = binary_op(node)) {
      const bool scaled = *op == Op::kAdd || *op == Op::kSub;
      if (scaled && context_.number(node.args[arg::add_out::alpha]) != 1.0) return false;
      const Operand a = operand(node, 0, after, chain);
      const Operand b = operand(node, 1, after, chain);
      *result = chain->step(*op, a, b);
      return true;
    }
    if (node.is(OpId::rsub_Scalar_out)) {
      if (context_.number(node.args[arg::rsub_Scalar_out::alpha]) != 1.0) return false;
      const Operand x = operand(node, 0, after, chain);
      *result = chain->step(Op::kSub, operand(node, 1, after, chain), x);
      return true;
    }
    if (node.is(OpId::clamp_out) || node.is(OpId::hardtanh_out)) return limits(node, after, chain, result);
    return activation(node, after, chain, result);
  }

 private:
  DType type_of(ValueId value) const {
    const ir::TensorType* type = context_.method().value(value).tensor();
    return type == nullptr ? DType::kBool : type->dtype;
  }
  bool is_f32(ValueId value) const { return type_of(value) == DType::kF32; }
  bool is_float(ValueId value) const { return is_f32(value) || (halves_ && has_16_bits(type_of(value))); }

  static bool is_cast(const Node& node) { return node.is(OpId::to_dim_order_copy_out) || node.is(OpId::to_copy_out); }

  // Numbers that are widened take no step, but room in a chain that others are to join.
  size_t steps_of(const Node& node) const { return shallow_ && is_cast(node) ? 0 : own_steps(node); }

  // Whether `steps` more fit beside those that the chain has.
  bool has_room(const Chain& chain, size_t steps) const {
    return chain.steps.size() + steps <= (shallow_ ? kDequantising : elementwise::kMaxSteps);
  }

  std::optional<Op> unary(const Node& node) const {
    if (node.is(OpId::round_out)) return Op::kRound;
    const auto op = unary_op(node);
    return op || use_.bytes != ByteUse::kWanted ? op : rare_op(node);
  }

  // To f32, or to 16 bits on the way, which need no step, or from f32 to bytes.
  bool cast(const Node& node, size_t after, Chain* chain, Operand* result) const {
    const ValueId from = value_argument(node, 0);
    const ir::TensorType& before = context_.type(from);
    const ir::TensorType& now = context_.type(node.results[0]);
    if (before.shape != now.shape || before.dim_order != now.dim_order) return false;
    const bool widens = now.dtype == DType::kF32 && before.dtype != DType::kF32;
    const bool narrows = before.dtype == DType::kF32 && is_byte(now.dtype);
    const bool passes = halves_ && has_16_bits(now.dtype) && is_float(from);
    if (!narrows && !passes && !(widens && elementwise::is_input_type(before.dtype))) return false;
    *result = value(from, node, after, chain);
    if (narrows) *result = chain->step(to_byte(now.dtype), *result);
    return true;
  }

  static Op to_byte(DType dtype) { return dtype == DType::kU8 ? Op::kToU8 : Op::kToI8; }

  // As kernels/portable/quantize.cc computes it.
  bool quantised(const Node& node, size_t after, Chain* chain, Operand* result) const {
    const ValueId x = value_argument(node, 0);
    const DType dtype = type_of(node.results[0]);
    const auto scale = context_.number(node.args[arg::quantize_per_tensor_out::scale]);
    const auto zero = context_.number(node.args[arg::quantize_per_tensor_out::zero_point]);
    const auto low = context_.number(node.args[arg::quantize_per_tensor_out::quant_min]);
    const auto high = context_.number(node.args[arg::quantize_per_tensor_out::quant_max]);
    if (!is_f32(x) || !is_byte(dtype) || !scale || !zero || !low || !high) return false;
    Operand y = chain->step(Op::kMul, value(x, node, after, chain), chain->constant(1 / *scale));
    y = chain->step(Op::kAdd, chain->step(Op::kRound, y), chain->constant(*zero));
    y = chain->step(Op::kClamp, y, chain->constant(*low), chain->constant(*high));
    *result = chain->step(to_byte(dtype), chain->step(Op::kNanTo, y, chain->constant(*low)));
    return true;
  }

  // As kernels/portable/dequantize.cc computes it: the distance is exact there, and in f32 for such zero points.
  bool dequantised(const Node& node, size_t after, Chain* chain, Operand* result) const {
    constexpr double kMostZero = 1 << 23;
    const ValueId x = value_argument(node, 0);
    const auto scale = context_.number(node.args[arg::dequantize_per_tensor_out::scale]);
    const auto zero = context_.number(node.args[arg::dequantize_per_tensor_out::zero_point]);
    const bool fits = scale && zero && std::fabs(*zero) <= kMostZero;
    if (!fits || !is_byte(type_of(x)) || !is_f32(node.results[0])) return false;
    const Operand distance = chain->step(Op::kSub, value(x, node, after, chain), chain->constant(*zero));
    *result = chain->step(Op::kMul, distance, chain->constant(*scale));
    return true;
  }

  bool takes_floats(const Node& node) const {
    bool all = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) { all = all && is_float(value); });
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

  bool activation(const Node& node, size_t after, Chain* chain, Operand* result) const {
    if (!node.is(OpId::gelu_out) && !node.is(OpId::leaky_relu_out) && !node.is(OpId::elu_out)) return false;
    const auto found = activation_of(context_, node);
    if (!found) return false;
    const Operand x = operand(node, 0, after, chain);
    if (node.is(OpId::gelu_out)) {
      *result = chain->step(found->name == "gelu" ? Op::kGelu : Op::kGeluTanh, x);
    } else {
      const Op op = node.is(OpId::elu_out) ? Op::kElu : Op::kLeakyRelu;
      *result = chain->step(op, x, chain->constant(found->alpha));
    }
    return true;
  }

  // Whether argument `k` is a number that only a run knows, a size: the code of a chain has no place for it.
  bool open_number(const Node& node, size_t k) const {
    return k < node.args.size() && std::holds_alternative<ir::Dim>(node.args[k]) && !context_.number(node.args[k]);
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
    const bool room = maker != nullptr && has_room(*chain, steps_of(*maker) + after);
    if (!room || context_.type(value).shape != context_.type(reader.results[0]).shape) return chain->input(value);
    if (shallow_ && is_byte(type_of(value))) return chain->input(value);
    const bool alone = context_.uses(value) == 1 && read_often_.count(value) == 0;
    Chain longer = *chain;
    Operand result;
    if (alone ? read(*maker, after, &longer, &result) : read_bytes(*maker, after, &longer, &result)) {
      if (leaves_halves(value, reader) && result.kind == Operand::Kind::kStep) {
        result = longer.step(to_half(type_of(value)), result);
      }
      if (longer.fits()) {
        *chain = std::move(longer);
        return result;
      }
    }
    return chain->input(value);
  }

  // Whether `reader` computes in another type than that of 16 bits which `value` has: it gets what that can hold.
  bool leaves_halves(ValueId value, const Node& reader) const {
    return halves_ && has_16_bits(type_of(value)) && !has_16_bits(type_of(reader.results[0]));
  }

  // Of bytes that are made numbers for several readers, each reads the bytes: they are a quarter of what the numbers
  // are. They are an input for each, whatever makes them.
  bool read_bytes(const Node& maker, size_t after, Chain* chain, Operand* result) const {
    Chain own;
    if (!bytes_ || !maker.is(OpId::fused_elementwise_out) || own_steps(maker) > kDequantising) return false;
    // Within a chain that is read for bytes alone, what comes after counts too, so that nothing is read to its
    // beginning.
    if (!Reader(context_, use_, read_often_, true).read(maker, shallow_ ? after : 0, &own, result)) return false;
    if (!only_dequantises(own)) return false;
    ++chain->nodes;
    chain->read_often.push_back(own.inputs[0]);
    append_code(maker, {chain->input(own.inputs[0])}, chain, result);
    return true;
  }

  bool inline_code(const Node& node, size_t after, Chain* chain, Operand* result) const {
    const auto& inputs = std::get<ir::ValueList>(node.args[arg::fused_elementwise_out::inputs]);
    std::vector<Operand> known;
    for (ValueId input : inputs) known.push_back(value(input, node, after, chain));
    append_code(node, std::move(known), chain, result);
    return true;
  }

  // The steps of a chain whose inputs are `known`, but for a last one that rounds to 16 bits.
  static void append_code(const Node& node, std::vector<Operand> known, Chain* chain, Operand* result) {
    const auto& code = std::get<ir::DimList>(node.args[arg::fused_elementwise_out::code]);
    const auto& constants = std::get<ir::FloatList>(node.args[arg::fused_elementwise_out::constants]);
    for (double constant : constants) known.push_back(chain->constant(constant));
    for (size_t i = 0; i + 3 < code.size(); i += 4) {
      const Op op = static_cast<Op>(code[i].value);
      if (i + 4 == code.size() && has_16_bits(elementwise::result_type(op))) {
        *result = known[code[i + 1].value];
        return;
      }
      std::array<Operand, 3> own{};
      for (int k = 0; k < elementwise::operands(op); ++k) {
        own[k] = known[code[i + 1 + k].value];
      }
      known.push_back(chain->step(op, own[0], own[1], own[2]));
    }
    *result = known.back();
  }

  const Context& context_;
  const ChainUse use_;
  const bool bytes_;
  const bool halves_;
  const std::set<ValueId>& read_often_;
  const bool shallow_;
};

}  // namespace

bool quantises(const Node& node) {
  return node.is(OpId::quantize_per_tensor_out) || node.is(OpId::quantize_per_tensor_Tensor_out);
}

bool dequantises(const Node& node) {
  return node.is(OpId::dequantize_per_tensor_out) || node.is(OpId::dequantize_per_tensor_Tensor_out);
}

// Bytes that are made numbers stay bytes in memory where they are wanted, for those who read the numbers may read them
// instead: then what makes the bytes is not taken along.
bool read_chain(const Context& context, const Node& node, ChainUse use, const std::set<ValueId>& read_often,
                size_t after, ElementChain* chain, ChainOperand* last) {
  if (use.bytes == ByteUse::kWanted) {
    const Reader shallow(context, use, read_often, true);
    if (shallow.read(node, 0, chain, last) && shallow.only_dequantises(*chain)) return true;
    *chain = ElementChain();
  }
  return Reader(context, use, read_often, false).read(node, after, chain, last);
}

}  // namespace berth::fuse
