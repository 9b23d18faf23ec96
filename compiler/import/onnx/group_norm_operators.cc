// Normalisation by groups, instances, channels and root mean squares; and Mish.
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

ValueId group_norm(NodeContext& n, ValueId x, ValueId weight, ValueId bias, Dim groups, double epsilon) {
  const std::vector<Dim> shape = n.shape(x);
  if (shape.size() < 2) {
    n.invalid("expected at least 2 dimensions, found " + n.type_text(x));
    return x;
  }
  const Dim inner = n.product(shape, 2, static_cast<int>(shape.size()));
  return n.op(OpId::native_group_norm_out, {x, weight, bias, shape[0], shape[1], inner, groups, epsilon});
}

void import_instance_normalization(NodeContext& n) {
  const ValueId x = n.input(0);
  n.output(0, group_norm(n, x, n.input(1), n.input(2), n.dim(x, 1), n.number("epsilon", 1e-5f)));
}

// Before opset 21 scale and bias have an element a group; since then one a channel, as the operator wants them.
void import_group_normalization(NodeContext& n) {
  const ValueId x = n.input(0);
  const int64_t groups = n.integer("num_groups", 0);
  const int64_t channels = n.fixed(n.dim(x, 1), "the number of channels");
  if (n.ok() && (groups < 1 || channels % groups != 0)) return n.invalid("num_groups does not divide the channels");
  const auto per_channel = [&](ValueId v) {
    if (n.opset() >= 21 || groups == channels) return v;
    const ValueId repeated = n.expand(n.view(v, {Dim(groups), Dim(1)}), {Dim(groups), Dim(channels / groups)});
    return n.view(repeated, {Dim(channels)});
  };
  if (!n.ok()) return;
  const ValueId scale = per_channel(n.input(1));
  const ValueId bias = per_channel(n.input(2));
  n.output(0, group_norm(n, x, scale, bias, Dim(groups), n.number("epsilon", 1e-5f)));
}

// x / sqrt(mean(x²) + epsilon) · scale, in f32 where the type is narrower.
void import_rms_normalization(NodeContext& n) {
  ValueId x = n.input(0);
  const DType type = n.dtype(x);
  const int first = n.axis(n.integer("axis", -1), n.rank(x));
  const bool widen = has_16_bits(type) && n.integer("stash_type", 1) == 1;
  DimList axes;
  for (int axis = first; axis < n.rank(x); ++axis) axes.push_back(Dim(axis));
  if (widen) x = n.cast(x, DType::kF32);
  const ValueId mean = n.op(OpId::mean_out, {n.op(OpId::mul_out, {x, x}), axes, true});
  const ValueId inverse = n.op(OpId::rsqrt_out, {n.op(OpId::add_Scalar_out, {mean, n.number("epsilon", 1e-5f)})});
  ValueId y = n.op(OpId::mul_out, {x, inverse});
  if (widen) y = n.cast(y, type);
  n.output(0, n.op(OpId::mul_out, {y, n.input(1)}));
}

// The sum of squares over neighbouring channels is a pooling along the channels: [N, C, …] → [N, 1, C, rest].
void import_lrn(NodeContext& n) {
  const ValueId x = n.input(0);
  const int64_t size = n.integer("size", 1);
  const std::vector<Dim> shape = n.shape(x);
  if (n.ok() && (size < 1 || shape.size() < 2)) return n.invalid("size must be at least 1 and X have 2 dimensions");
  const Dim rest = n.product(shape, 2, static_cast<int>(shape.size()));
  const ValueId squares = n.view(n.op(OpId::mul_out, {x, x}), {n.dim(x, 0), Dim(1), n.dim(x, 1), rest});
  const int64_t before = (size - 1) / 2;
  ValueId padded = squares;
  int64_t padding = before;
  if (size % 2 == 0) {  // one more after than before
    padded =
        n.op(OpId::constant_pad_nd_out, {squares, DimList{Dim(0), Dim(0), Dim(before), Dim(size - 1 - before)}, 0.0});
    padding = 0;
  }
  const ValueId mean = n.op(OpId::avg_pool2d_out, {padded, DimList{Dim(size), Dim(1)}, DimList{Dim(1), Dim(1)},
                                                   DimList{Dim(padding), Dim(0)}, false, true});
  const ValueId base =
      n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {mean, n.number("alpha", 1e-4f)}), n.number("bias", 1)});
  const ValueId power = n.op(OpId::pow_Tensor_Scalar_out, {base, n.number("beta", 0.75)});
  n.output(0, n.op(OpId::div_out, {x, n.view(power, shape)}));
}

// x · tanh(softplus(x)), with softplus(x) = max(x, 0) + log(1 + exp(-|x|)).
void import_mish(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId tail = n.op(OpId::exp_out, {n.op(OpId::neg_out, {n.op(OpId::abs_out, {x})})});
  const ValueId softplus = n.op(OpId::add_out, {n.op(OpId::relu_out, {x}), n.op(OpId::log1p_out, {tail})});
  n.output(0, n.op(OpId::mul_out, {x, n.op(OpId::tanh_out, {softplus})}));
}

constexpr OperatorRow kGroupNormRows[] = {
    {"GroupNormalization", 3, 3, import_group_normalization},
    {"InstanceNormalization", 3, 3, import_instance_normalization},
    {"LRN", 1, 1, import_lrn},
    {"Mish", 1, 1, import_mish},
    {"RMSNormalization", 2, 2, import_rms_normalization},
    {"SimplifiedLayerNormalization", 2, 2, import_rms_normalization},  // as ONNX Runtime wrote it before opset 23
};

}  // namespace

OperatorTable group_norm_operators() { return kGroupNormRows; }

}  // namespace berth::onnx
