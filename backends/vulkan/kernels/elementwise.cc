// Element-wise operators: each is a chain of a few steps, and of whole numbers one of its own.
#include <cmath>

#include "backends/vulkan/kernels/chain.h"
#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/fused_elementwise.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/layout_sizes.h"

namespace berth::vulkan {

using elementwise::Op;

namespace {

bool is_whole(const Tensor& tensor) { return is_integer(tensor.dtype()); }

// A whole number times 1 or -1. The smallest wraps to itself.
int64_t signed_by(int factor, const EValue& number) {
  const auto bits = static_cast<uint64_t>(number.scalar_to<int64_t>());
  return static_cast<int64_t>(factor < 0 ? 0 - bits : bits);
}

}  // namespace

#define UNARY(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    Chain chain(context); \
    chain.step(op, chain.input(args.self)); \
    return chain.run(args.out); \
  }
UNARY(erf_out, Op::kErf)
UNARY(exp_out, Op::kExp)
UNARY(log_out, Op::kLog)
UNARY(reciprocal_out, Op::kReciprocal)
UNARY(relu_out, Op::kRelu)
UNARY(round_out, Op::kRound)
UNARY(rsqrt_out, Op::kRsqrt)
UNARY(sigmoid_out, Op::kSigmoid)
UNARY(sqrt_out, Op::kSqrt)
UNARY(tanh_out, Op::kTanh)
UNARY(acos_out, Function::kAcos)
UNARY(acosh_out, Function::kAcosh)
UNARY(asin_out, Function::kAsin)
UNARY(asinh_out, Function::kAsinh)
UNARY(atan_out, Function::kAtan)
UNARY(atanh_out, Function::kAtanh)
UNARY(ceil_out, Function::kCeil)
UNARY(cos_out, Function::kCos)
UNARY(cosh_out, Function::kCosh)
UNARY(expm1_out, Function::kExpm1)
UNARY(floor_out, Function::kFloor)
UNARY(log10_out, Function::kLog10)
UNARY(log1p_out, Function::kLog1p)
UNARY(log2_out, Function::kLog2)
UNARY(sign_out, Function::kSign)
UNARY(sin_out, Function::kSin)
UNARY(sinh_out, Function::kSinh)
UNARY(tan_out, Function::kTan)
UNARY(trunc_out, Function::kTrunc)
#undef UNARY

Error logit_out(KernelContext& context, const arguments::logit_out& args) {
  Chain chain(context);
  int x = chain.input(args.self);
  // As with PyTorch, a negative number limits nothing.
  const double eps = args.eps.value_or(-1);
  if (eps >= 0) {
    const int low = chain.constant(eps);
    x = chain.step(Op::kClamp, x, low, chain.constant(1 - eps));
  }
  chain.step(Function::kLogit, x);
  return chain.run(args.out);
}

#define UNARY(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    if (is_whole(args.self)) return Typed(context, TypedOp::op).tensor(args.self).run(args.out); \
    Chain chain(context); \
    chain.step(Op::op, chain.input(args.self)); \
    return chain.run(args.out); \
  }
UNARY(abs_out, kAbs)
UNARY(neg_out, kNeg)
#undef UNARY

#define BINARY(identifier, op, second) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    Chain chain(context); \
    const int first = chain.input(args.self); \
    chain.step(op, first, chain.input(args.second)); \
    return chain.run(args.out); \
  }
BINARY(div_out, Op::kDiv, other)
BINARY(pow_Tensor_Tensor_out, Op::kPow, exponent)
BINARY(atan2_out, Function::kAtan2, other)
BINARY(floor_divide_out, Function::kFloorDivide, other)
BINARY(fmod_Tensor_out, Function::kFmod, other)
BINARY(remainder_Tensor_out, Function::kRemainder, other)
#undef BINARY

#define BINARY(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    if (is_whole(args.self)) { \
      return Typed(context, TypedOp::op).tensor(args.self).tensor(args.other).run(args.out); \
    } \
    Chain chain(context); \
    const int first = chain.input(args.self); \
    chain.step(Op::op, first, chain.input(args.other)); \
    return chain.run(args.out); \
  }
BINARY(maximum_out, kMax)
BINARY(minimum_out, kMin)
BINARY(mul_out, kMul)
#undef BINARY

#define WITH_SCALAR(identifier, op, second) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    Chain chain(context); \
    const int first = chain.input(args.self); \
    chain.step(op, first, chain.constant(args.second.scalar_to<double>())); \
    return chain.run(args.out); \
  }
WITH_SCALAR(div_Scalar_out, Op::kDiv, other)
WITH_SCALAR(leaky_relu_out, Op::kLeakyRelu, negative_slope)
WITH_SCALAR(fmod_Scalar_out, Function::kFmod, other)
WITH_SCALAR(remainder_Scalar_out, Function::kRemainder, other)
#undef WITH_SCALAR

Error pow_Scalar_out(KernelContext& context, const arguments::pow_Scalar_out& args) {
  Chain chain(context);
  const int exponent = chain.input(args.exponent);
  chain.step(Op::kPow, chain.constant(args.self.scalar_to<double>()), exponent);
  return chain.run(args.out);
}

Error clamp_Tensor_out(KernelContext& context, const arguments::clamp_Tensor_out& args) {
  if (args.min == nullptr && args.max == nullptr) {
    return context.fail(Error::kInvalidArgument, "clamp takes a smallest or a largest number, or both");
  }
  Chain chain(context);
  int x = chain.input(args.self);
  if (args.min != nullptr) x = chain.step(Op::kMax, x, chain.input(*args.min));
  if (args.max != nullptr) x = chain.step(Op::kMin, x, chain.input(*args.max));
  return chain.run(args.out);
}

namespace {

// `other` is an operand of the chain.
template <typename Args>
Error divide_by(KernelContext& context, const Args& args, Chain& chain, int self, int other) {
  portable::Rounding rounding = portable::Rounding::kNone;
  BERTH_RETURN_IF_ERROR(portable::read_rounding(context, args.rounding_mode, &rounding));
  if (rounding == portable::Rounding::kFloor) {
    chain.step(Function::kFloorDivide, self, other);
  } else {
    const int quotient = chain.step(Op::kDiv, self, other);
    if (rounding == portable::Rounding::kTrunc) chain.step(Function::kTrunc, quotient);
  }
  return chain.run(args.out);
}

}  // namespace

// The second half's sigmoid first, then times the first half.
Error glu_out(KernelContext& context, const arguments::glu_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  portable::Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_glu(context, self, args.dim, &dim, &sizes));
  const Tensor* const both[] = {&self, &out};
  BERTH_RETURN_IF_ERROR(require_floats(context, both));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, sizes.span()));
  if (out.numel() == 0) return Error::kOk;
  Chain gates(context);
  gates.step(Op::kSigmoid, gates.input(self));
  gates.begin_at(out.size(dim) * self.stride(dim));
  BERTH_RETURN_IF_ERROR(gates.run_sized(out));
  Chain products(context);
  const int first = products.input(self);
  products.step(Op::kMul, first, products.input(out));
  return products.run_sized(out);
}

Error div_out_mode(KernelContext& context, const arguments::div_out_mode& args) {
  Chain chain(context);
  const int self = chain.input(args.self);
  return divide_by(context, args, chain, self, chain.input(args.other));
}

Error div_Scalar_mode_out(KernelContext& context, const arguments::div_Scalar_mode_out& args) {
  Chain chain(context);
  const int self = chain.input(args.self);
  return divide_by(context, args, chain, self, chain.constant(args.other.scalar_to<double>()));
}

namespace {

// self + alpha * other, with `factor` 1 or -1.
template <typename Args>
Error add(KernelContext& context, const Args& args, int factor) {
  if (is_whole(args.self)) {
    Typed typed(context, TypedOp::kAddMul);
    typed.tensor(args.self).tensor(args.other);
    return typed.whole(signed_by(factor, args.alpha)).run(args.out);
  }
  Chain chain(context);
  const int self = chain.input(args.self);
  const int other = chain.input(args.other);
  if (portable::is_one(args.alpha)) {
    chain.step(factor > 0 ? Op::kAdd : Op::kSub, self, other);
  } else {
    const int scaled = chain.step(Op::kMul, other, chain.constant(args.alpha.template scalar_to<double>()));
    chain.step(factor > 0 ? Op::kAdd : Op::kSub, self, scaled);
  }
  return chain.run(args.out);
}

template <typename Args>
Error add_number(KernelContext& context, const Args& args, int factor) {
  if (is_whole(args.self)) {
    Typed typed(context, TypedOp::kAddMul);
    typed.tensor(args.self).whole(args.other.template scalar_to<int64_t>());
    return typed.whole(signed_by(factor, args.alpha)).run(args.out);
  }
  Chain chain(context);
  const double added = factor * args.alpha.template scalar_to<double>() * args.other.template scalar_to<double>();
  const int self = chain.input(args.self);
  chain.step(Op::kAdd, self, chain.constant(added));
  return chain.run(args.out);
}

Error clamp(KernelContext& context, const Tensor& self, const EValue& low, const EValue& high, Tensor& out) {
  const portable::Scalars limits = portable::read_limits(low, high);
  if (is_whole(self)) {
    Typed typed(context, TypedOp::kClamp);
    return typed.tensor(self).whole(limits.whole[0]).whole(limits.whole[1]).run(out);
  }
  Chain chain(context);
  const int x = chain.input(self);
  const int from = chain.constant(limits.real[0]);
  chain.step(Op::kClamp, x, from, chain.constant(limits.real[1]));
  return chain.run(out);
}

}  // namespace

Error add_out(KernelContext& context, const arguments::add_out& args) { return add(context, args, 1); }
Error sub_out(KernelContext& context, const arguments::sub_out& args) { return add(context, args, -1); }
Error add_Scalar_out(KernelContext& context, const arguments::add_Scalar_out& args) {
  return add_number(context, args, 1);
}
Error sub_Scalar_out(KernelContext& context, const arguments::sub_Scalar_out& args) {
  return add_number(context, args, -1);
}

Error mul_Scalar_out(KernelContext& context, const arguments::mul_Scalar_out& args) {
  if (is_whole(args.self)) {
    return Typed(context, TypedOp::kMul).tensor(args.self).whole(args.other.scalar_to<int64_t>()).run(args.out);
  }
  Chain chain(context);
  const int first = chain.input(args.self);
  chain.step(Op::kMul, first, chain.constant(args.other.scalar_to<double>()));
  return chain.run(args.out);
}

Error rsub_Scalar_out(KernelContext& context, const arguments::rsub_Scalar_out& args) {
  if (is_whole(args.self)) {
    Typed typed(context, TypedOp::kAddMul);
    typed.whole(args.other.scalar_to<int64_t>()).tensor(args.self).whole(signed_by(-1, args.alpha));
    return typed.run(args.out);
  }
  Chain chain(context);
  const int self = chain.input(args.self);
  const int scaled = chain.step(Op::kMul, self, chain.constant(-args.alpha.scalar_to<double>()));
  chain.step(Op::kAdd, scaled, chain.constant(args.other.scalar_to<double>()));
  return chain.run(args.out);
}

Error clamp_out(KernelContext& context, const arguments::clamp_out& args) {
  BERTH_RETURN_IF_ERROR(portable::require_limit(context, !args.min.is_none() || !args.max.is_none()));
  return clamp(context, args.self, args.min, args.max, args.out);
}

Error hardtanh_out(KernelContext& context, const arguments::hardtanh_out& args) {
  return clamp(context, args.self, args.min_val, args.max_val, args.out);
}

Error pow_Tensor_Scalar_out(KernelContext& context, const arguments::pow_Tensor_Scalar_out& args) {
  using portable::ShortPower;
  const double exponent = args.exponent.scalar_to<double>();
  Chain chain(context);
  const int x = chain.input(args.self);
  switch (portable::short_power(exponent)) {
    case ShortPower::kNone: chain.step(Op::kPow, x, chain.constant(exponent)); break;
    case ShortPower::kSquare: chain.step(Op::kSquare, x); break;
    case ShortPower::kCube: chain.step(Op::kMul, chain.step(Op::kSquare, x), x); break;
    case ShortPower::kRoot: chain.step(Op::kSqrt, x); break;
    case ShortPower::kInverse: chain.step(Op::kReciprocal, x); break;
    case ShortPower::kInverseSquare: chain.step(Op::kReciprocal, chain.step(Op::kSquare, x)); break;
    case ShortPower::kInverseRoot: chain.step(Op::kRsqrt, x); break;
  }
  return chain.run(args.out);
}

Error gelu_out(KernelContext& context, const arguments::gelu_out& args) {
  bool is_tanh = false;
  BERTH_RETURN_IF_ERROR(portable::read_approximate(context, args.approximate, &is_tanh));
  Chain chain(context);
  chain.step(is_tanh ? Op::kGeluTanh : Op::kGelu, chain.input(args.self));
  return chain.run(args.out);
}

// x > 0 ? scale * x : scale * alpha * (e^(input_scale * x) - 1), as a sum of both halves.
Error elu_out(KernelContext& context, const arguments::elu_out& args) {
  const double alpha = args.alpha.scalar_to<double>();
  const double scale = args.scale.scalar_to<double>();
  const double input_scale = args.input_scale.scalar_to<double>();
  Chain chain(context);
  int x = chain.input(args.self);
  if (input_scale != 1) {
    // Only what is not positive is scaled.
    const int negative = chain.step(Op::kClamp, x, chain.constant(-HUGE_VAL), chain.constant(0));
    const int positive = chain.step(Op::kRelu, x);
    const int scaled = chain.step(Op::kMul, negative, chain.constant(input_scale));
    const int less = chain.step(Op::kSub, chain.step(Op::kExp, scaled), chain.constant(1));
    x = chain.step(Op::kAdd, chain.step(Op::kMul, less, chain.constant(alpha)), positive);
  } else {
    x = chain.step(Op::kElu, x, chain.constant(alpha));
  }
  if (scale != 1) chain.step(Op::kMul, x, chain.constant(scale));
  return chain.run(args.out);
}

Error fused_elementwise_out(KernelContext& context, const arguments::fused_elementwise_out& args) {
  bool flat = false;
  BERTH_RETURN_IF_ERROR(portable::prepare_elementwise(context, args, &flat));
  Chain chain(context);

  const auto constants = static_cast<int64_t>(args.constants.size());
  std::vector<int> operands;
  for (const Tensor& input : args.inputs) operands.push_back(chain.input(input));
  for (int64_t k = 0; k < constants; ++k) operands.push_back(chain.constant(args.constants[k]));
  for (size_t i = 0; i < args.code.size(); i += 4) {
    const Op op = static_cast<Op>(args.code[i]);
    const int used = elementwise::operands(op);
    int taken[3] = {-1, -1, -1};
    for (int k = 0; k < used; ++k) taken[k] = operands[args.code[i + 1 + k]];
    const bool known = op != Op::kSin && op != Op::kCos && op < Op::kLog1p;
    if (!known) return context.fail(Error::kNotSupported, "vulkan devices have no kernel for a step of this chain");
    operands.push_back(chain.step(op, taken[0], taken[1], taken[2]));
  }
  return chain.run_sized(args.out);
}

// (x - mean) / sqrt(variance + eps) * weight + bias, for each channel.
Error native_batch_norm_legit_no_training_out(KernelContext& context,
                                              const arguments::native_batch_norm_legit_no_training_out& args) {
  const Tensor& input = args.input;
  const Tensor* const parameters[] = {args.weight, args.bias, &args.running_mean, &args.running_var};
  if (input.rank() < 2 || input.rank() > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "batch_norm takes tensors of at least two dimensions");
  }
  for (const Tensor* parameter : parameters) {
    if (parameter == nullptr) continue;
    if (parameter->rank() != 1 || parameter->size(0) != input.size(1)) {
      return context.fail(Error::kInvalidArgument, "weight, bias and statistics must have one element a channel");
    }
  }
  const int32_t none[] = {0};
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out0, input.sizes()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, none));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, none));
  // The parameters as tensors that stretch along all but the channels.
  int32_t sizes[4][kMaxRank];
  int64_t strides[4][kMaxRank];
  uint8_t order[kMaxRank];
  Tensor stretched[4];
  Chain chain(context);
  int operands[4] = {-1, -1, -1, -1};
  const int x = chain.input(input);
  for (int k = 0; k < 4; ++k) {
    if (parameters[k] == nullptr) continue;
    for (int d = 0; d < input.rank(); ++d) {
      sizes[k][d] = d == 1 ? input.sizes()[1] : 1;
      order[d] = static_cast<uint8_t>(d);
    }
    stretched[k] = Tensor(parameters[k]->dtype(), input.rank(), sizes[k], order, strides[k], parameters[k]->raw());
    operands[k] = chain.input(stretched[k]);
  }
  const int deviation = chain.step(Op::kRsqrt, chain.step(Op::kAdd, operands[3], chain.constant(args.eps)));
  int y = chain.step(Op::kMul, chain.step(Op::kSub, x, operands[2]), deviation);
  if (operands[0] >= 0) y = chain.step(Op::kMul, y, operands[0]);
  if (operands[1] >= 0) chain.step(Op::kAdd, y, operands[1]);
  return chain.run_sized(args.out0);
}

}  // namespace berth::vulkan
