// The optimisers of ai.onnx.preview.training: one step each, over any number of tensors.
//
// Inputs: the learning rate, how many steps there were, then for each kind of tensor (parameters, gradients, what the
// optimiser keeps) as many as are trained. Outputs: the same kinds without the gradients, after the step.
//
// Source: the pages of ONNX on Adagrad, Adam and Momentum.
#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

using lowering::add;
using lowering::mul;
using lowering::sub;

ValueId times(NodeContext& n, ValueId x, double factor) {
  return factor == 1 ? x : n.op(OpId::mul_Scalar_out, {x, factor});
}
ValueId plus(NodeContext& n, ValueId x, double number) { return n.op(OpId::add_Scalar_out, {x, number}); }
ValueId divided(NodeContext& n, ValueId a, ValueId b) { return n.op(OpId::div_out, {a, b}); }
ValueId root(NodeContext& n, ValueId x, double epsilon) { return plus(n, n.op(OpId::sqrt_out, {x}), epsilon); }

/// The learning rate and the number of steps, both as numbers of the parameters' type.
struct Step {
  ValueId rate;
  ValueId count;
  ValueId begun;  // bool: whether there was a step before
};

Step read_step(NodeContext& n) {
  Step s;
  const DType type = n.dtype(n.input(2));
  s.rate = n.cast(scalar_input(n, 0, "the learning rate"), type);
  const ValueId count = scalar_input(n, 1, "the number of steps");
  s.count = n.cast(count, type);
  s.begun = n.op(OpId::gt_Scalar_out, {count, Dim(0)});
  return s;
}

/// How many tensors are trained, where each has `kinds` inputs.
size_t trained(NodeContext& n, size_t kinds) {
  const size_t tensors = n.input_count() - 2;
  if (n.input_count() < 2 + kinds || tensors % kinds != 0) {
    n.invalid("expected " + std::to_string(kinds) + " tensors for each that is trained, behind the rate and the count");
    return 0;
  }
  return tensors / kinds;
}

ValueId regularised(NodeContext& n, ValueId x, ValueId gradient) {
  const double norm = n.number("norm_coefficient", 0);
  return norm == 0 ? gradient : add(n, times(n, x, norm), gradient);
}

void import_adagrad(NodeContext& n) {
  const size_t count = trained(n, 3);
  if (!n.ok()) return;
  const Step step = read_step(n);
  const ValueId rate = divided(n, step.rate, plus(n, times(n, step.count, n.number("decay_factor", 0)), 1));
  for (size_t i = 0; i < count && n.ok(); ++i) {
    const ValueId x = n.input(2 + i);
    const ValueId g = regularised(n, x, n.input(2 + count + i));
    const ValueId h = add(n, n.input(2 + 2 * count + i), mul(n, g, g));
    const ValueId down = divided(n, mul(n, rate, g), root(n, h, n.number("epsilon", 1e-6f)));
    n.output(i, sub(n, x, down));
    n.output(count + i, h);
  }
}

void import_adam(NodeContext& n) {
  const size_t count = trained(n, 4);
  if (!n.ok()) return;
  const Step step = read_step(n);
  const double alpha = n.number("alpha", 0.9f);
  const double beta = n.number("beta", 0.999f);
  const auto left = [&](double base) {  // 1 - base^count
    return plus(n, n.op(OpId::neg_out, {n.op(OpId::pow_Scalar_out, {base, step.count})}), 1);
  };
  const ValueId corrected = divided(n, mul(n, step.rate, n.op(OpId::sqrt_out, {left(beta)})), left(alpha));
  const ValueId rate = n.op(OpId::where_self_out, {step.begun, corrected, step.rate});
  for (size_t i = 0; i < count && n.ok(); ++i) {
    const ValueId x = n.input(2 + i);
    const ValueId g = regularised(n, x, n.input(2 + count + i));
    const ValueId v = add(n, times(n, n.input(2 + 2 * count + i), alpha), times(n, g, 1 - alpha));
    const ValueId h = add(n, times(n, n.input(2 + 3 * count + i), beta), times(n, mul(n, g, g), 1 - beta));
    const ValueId down = mul(n, rate, divided(n, v, root(n, h, n.number("epsilon", 1e-6f))));
    n.output(i, times(n, sub(n, x, down), 1 - n.number("norm_coefficient_post", 0)));
    n.output(count + i, v);
    n.output(2 * count + i, h);
  }
}

void import_momentum(NodeContext& n) {
  const size_t count = trained(n, 3);
  const std::string mode = n.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") return n.invalid("attribute 'mode' is \"" + mode + "\"");
  if (!n.ok()) return;
  const Step step = read_step(n);
  const double alpha = n.number("alpha", 0);
  const DType type = n.dtype(step.rate);
  const ValueId beta =
      n.op(OpId::where_self_out, {step.begun, n.splat(type, {}, n.number("beta", 0)), n.splat(type, {}, 1)});
  for (size_t i = 0; i < count && n.ok(); ++i) {
    const ValueId x = n.input(2 + i);
    const ValueId g = regularised(n, x, n.input(2 + count + i));
    const ValueId v = add(n, times(n, n.input(2 + 2 * count + i), alpha), mul(n, beta, g));
    const ValueId down = mode == "nesterov" ? add(n, g, times(n, v, alpha)) : v;
    n.output(i, sub(n, x, mul(n, step.rate, down)));
    n.output(count + i, v);
  }
}

constexpr OperatorRow kTrainingRows[] = {
    {"Adagrad", 5, kVariadic, import_adagrad},
    {"Adam", 6, kVariadic, import_adam},
    {"Momentum", 5, kVariadic, import_momentum},
};

}  // namespace

OperatorTable training_operators() { return kTrainingRows; }

}  // namespace berth::onnx
