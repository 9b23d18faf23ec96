// Operators of com.microsoft that ONNX Runtime's optimiser and exporters write: sums of what is here already.
//
// Source: ONNX Runtime's page on its contrib operators.
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"
#include "compiler/import/onnx/recurrent.h"

namespace berth::onnx {
namespace {

ValueId plus(NodeContext& n, ValueId a, ValueId b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return n.op(OpId::add_out, {a, b});
}

ValueId input_plus(NodeContext& n, size_t bias) { return plus(n, n.input(0), optional_input(n, bias)); }

void import_exact_gelu(NodeContext& n) { n.output(0, n.op(OpId::gelu_out, {n.input(0), std::string("none")})); }
void import_bias_gelu(NodeContext& n) { n.output(0, n.op(OpId::gelu_out, {input_plus(n, 1), std::string("none")})); }
void import_fast_gelu(NodeContext& n) { n.output(0, n.op(OpId::gelu_out, {input_plus(n, 1), std::string("tanh")})); }

// x · sigmoid(alpha · x)
void import_quick_gelu(NodeContext& n) {
  const ValueId x = n.input(0);
  const double alpha = n.number("alpha", 1.702f);
  const ValueId gate = n.op(OpId::sigmoid_out, {alpha == 1 ? x : n.op(OpId::mul_Scalar_out, {x, alpha})});
  n.output(0, n.op(OpId::mul_out, {x, gate}));
}

ValueId transposed(NodeContext& n, ValueId x) {
  return n.rank(x) < 2 ? x : n.op(OpId::transpose_copy_int_out, {x, Dim(-2), Dim(-1)});
}

/// [rows, batches…, columns] as [batches…, rows, columns], where attribute `name` says so.
ValueId batches_first(NodeContext& n, ValueId x, const char* name) {
  const int rank = n.rank(x);
  if (n.integer(name, 0) == 0 || rank < 3) return x;
  std::vector<int64_t> order;
  for (int i = 1; i < rank - 1; ++i) order.push_back(i);
  order.insert(order.end(), {0, rank - 1});
  return n.permute(x, order);
}

void import_fused_matmul(NodeContext& n) {
  ValueId a = batches_first(n, n.input(0), "transBatchA");
  ValueId b = batches_first(n, n.input(1), "transBatchB");
  if (n.integer("transA", 0) != 0) a = transposed(n, a);
  if (n.integer("transB", 0) != 0) b = transposed(n, b);
  const double alpha = n.number("alpha", 1);
  if (alpha != 1) a = n.op(OpId::mul_Scalar_out, {a, alpha});
  n.output(0, lowering::matmul(n, a, b));
}

/// x + skip + bias: what the norm below is of, and the last output.
ValueId skipped(NodeContext& n, size_t bias) {
  const ValueId sum = plus(n, n.op(OpId::add_out, {n.input(0), n.input(1)}), optional_input(n, bias));
  n.output(3, sum);
  return sum;
}

void import_skip_layer_normalization(NodeContext& n) {
  const ValueId x = skipped(n, 4);
  const Argument beta = n.has_input(3) ? Argument(n.input(3)) : Argument(None());
  if (!n.ok() || n.rank(x) < 1) return n.invalid("expected at least one dimension");
  const std::vector<ValueId> results =
      n.ops(OpId::native_layer_norm_out,
            {x, DimList{n.dim(x, n.rank(x) - 1)}, n.input(2), beta, n.number("epsilon", 1e-12f)});
  if (!n.ok()) return;
  n.output(0, results[0]);
  for (size_t i = 1; i < results.size(); ++i) n.output(i, n.cast(results[i], DType::kF32));
}

// x / sqrt(mean(x²) + epsilon) · scale
void import_skip_rms_normalization(NodeContext& n) {
  const ValueId x = skipped(n, 3);
  const ValueId mean = n.op(OpId::mean_out, {n.op(OpId::mul_out, {x, x}), DimList{Dim(-1)}, true});
  const ValueId inverse = n.op(OpId::rsqrt_out, {n.op(OpId::add_Scalar_out, {mean, n.number("epsilon", 1e-12f)})});
  n.output(0, n.op(OpId::mul_out, {n.op(OpId::mul_out, {x, inverse}), n.input(2)}));
}

// The weight is [columns, blocks, bytes of a block], u8, elements of 2 or 4 bits with the low one first, or of 8; the
// row of a block is (q - zero point) · scale, the zero points packed as the elements are.
ValueId unpacked(NodeContext& n, ValueId packed, int64_t bits) {
  if (bits == 8) return packed;
  ValueList parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    ValueId part = packed;
    if (shift != 0) part = n.op(OpId::bitwise_right_shift_Tensor_Scalar_out, {part, Dim(shift)});
    if (shift + bits != 8) part = n.op(OpId::bitwise_and_Scalar_out, {part, Dim((1 << bits) - 1)});
    parts.push_back(part);
  }
  const ValueId beside = n.op(OpId::stack_out, {parts, Dim(-1)});
  std::vector<Dim> shape = n.shape(packed);
  if (!n.ok() || shape.empty()) return {};
  shape.back() = n.symbols().mul(shape.back(), Dim(8 / bits));
  return n.view(beside, shape);
}

void import_fused_conv(NodeContext& n) {
  const ValueId x = plus(n, convolved(n), optional_input(n, 3));
  const std::string name = n.text("activation", "");
  const std::vector<double> numbers = n.numbers("activation_params");
  const auto number = [&](size_t i, double fallback) { return i < numbers.size() ? numbers[i] : fallback; };
  if (name.empty()) return n.output(0, x);
  if (name == "Clip") return n.output(0, n.op(OpId::clamp_out, {x, number(0, -HUGE_VAL), number(1, HUGE_VAL)}));
  Activation activation = with_defaults(name);
  activation.alpha = number(0, activation.alpha);
  activation.beta = number(1, activation.beta);
  n.output(0, activate(n, activation, x));
}

void import_fused_gemm(NodeContext& n) {
  const ValueId x = gemm(n);
  const std::string name = n.text("activation", "");
  if (name.empty()) return n.output(0, x);
  Activation activation = with_defaults(name);
  activation.alpha = n.number("activation_alpha", activation.alpha);
  activation.beta = n.number("activation_beta", activation.beta);
  n.output(0, activate(n, activation, x));
}

// Half of the features, times the Gelu of the other half.
void import_bias_split_gelu(NodeContext& n) {
  const ValueId x = input_plus(n, 1);
  const int last = n.rank(x) - 1;
  const int64_t size = n.fixed(n.dim(x, last), "the number of features");
  if (n.ok() && size % 2 != 0) return n.invalid("expected an even number of features, found " + n.type_text(x));
  const ValueId gate = n.op(OpId::gelu_out, {n.slice(x, last, size / 2, size), std::string("none")});
  n.output(0, n.op(OpId::mul_out, {n.slice(x, last, 0, size / 2), gate}));
}

// `blocks` has a number for each block of `size` elements along `axis` of `x`: each as often as the block is long.
ValueId by_blocks(NodeContext& n, ValueId blocks, int axis, int64_t size, ValueId x) {
  const std::vector<Dim> shape = n.shape(blocks);
  if (!n.ok() || axis >= static_cast<int>(shape.size())) return {};
  std::vector<Dim> apart = shape;
  apart.insert(apart.begin() + axis + 1, Dim(1));
  std::vector<Dim> wide = apart;
  wide[axis + 1] = Dim(size);
  std::vector<Dim> joined = shape;
  joined[axis] = n.symbols().mul(shape[axis], Dim(size));
  const ValueId repeated = n.view(n.expand(n.view(blocks, apart), wide), joined);
  return n.dim(repeated, axis) == n.dim(x, axis) ? repeated : n.slice(repeated, axis, 0, n.dim(x, axis));
}

// Rows are picked while they are small, then unpacked and scaled.
void import_gather_block_quantized(NodeContext& n) {
  const ValueId data = n.input(0);
  const ValueId indices = n.cast(n.input(1), DType::kI64);
  const int rank = n.rank(data);
  const int gathered = n.axis(n.integer("gather_axis", 0), rank);
  const int quantized_axis = n.axis(n.integer("quantize_axis", 1), rank);
  const int64_t block = n.integer("block_size", 128);
  const int64_t bits = n.integer("bits", 4);
  const bool packed = n.ok() && n.dtype(data) == DType::kU8 && bits == 4;
  if (n.ok() && (gathered == quantized_axis || block < 1 || block > INT32_MAX || (bits != 4 && bits != 8))) {
    return n.invalid("the axes, 'block_size' or 'bits' are not what they may be");
  }
  if (packed && quantized_axis != rank - 1)
    return n.unsupported("packed elements in blocks along another axis than the last");
  const auto picked = [&](ValueId v) {
    ValueList where(gathered);
    where.push_back(indices);
    return n.op(OpId::index_Tensor_out, {v, where});
  };
  const DType type = n.dtype(n.input(2));
  const int axis = quantized_axis < gathered ? quantized_axis : quantized_axis + n.rank(indices) - 1;
  ValueId q = picked(data);
  if (packed) q = unpacked(n, q, 4);
  ValueId y = n.cast(q, type);
  if (n.has_input(3)) {
    ValueId zero = picked(n.input(3));
    const ValueId scale = picked(n.input(2));
    if (packed) {
      zero = unpacked(n, zero, 4);
      if (n.dim(zero, axis) != n.dim(scale, axis)) zero = n.slice(zero, axis, 0, n.dim(scale, axis));
    }
    y = n.op(OpId::sub_out, {y, by_blocks(n, n.cast(zero, type), axis, block, q)});
  } else if (n.ok() && n.dtype(data) == DType::kU8) {
    y = n.op(OpId::sub_Scalar_out, {y, bits == 4 ? 8.0 : 128.0});
  }
  n.output(0, n.op(OpId::mul_out, {y, by_blocks(n, picked(n.input(2)), axis, block, q)}));
}

void import_matmul_nbits(NodeContext& n) {
  const int64_t k = n.integer("K", 0);
  const int64_t columns = n.integer("N", 0);
  const int64_t bits = n.integer("bits", 4);
  const int64_t block = n.integer("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) {
    return n.unsupported("weights of 2, 4 or 8 bits only, found " + std::to_string(bits));
  }
  constexpr int64_t kMost = INT32_MAX;
  if (k < 1 || columns < 1 || block < 2 || block * bits % 8 != 0 || k > kMost || columns > kMost || block > kMost) {
    return n.invalid(
        "attributes 'K', 'N' and 'block_size' must be positive numbers of 32 bits, and a block whole bytes");
  }
  if (n.has_input(4)) return n.unsupported("columns in another order (g_idx)");
  const int64_t blocks = (k + block - 1) / block;
  ValueId q = unpacked(n, n.input(1), bits);
  if (n.ok() && n.dtype(n.input(1)) != DType::kU8) return n.invalid("the weight must be u8, found " + n.type_text(q));
  q = n.view(q, {Dim(columns), Dim(blocks), Dim(block)});
  const DType type = n.dtype(n.input(0));
  const ValueId scale = n.view(n.cast(n.input(2), type), {Dim(columns), Dim(blocks), Dim(1)});
  ValueId centred = n.cast(q, type);
  if (n.has_input(3)) {
    ValueId zero = n.input(3);
    if (n.ok() && !is_floating(n.dtype(zero))) {
      if (n.dtype(zero) != DType::kU8) return n.invalid("zero points must be u8, found " + n.type_text(zero));
      const int64_t bytes = (blocks * bits + 7) / 8;
      zero = unpacked(n, n.view(zero, {Dim(columns), Dim(bytes)}), bits);
      zero = n.slice(zero, 1, 0, blocks);
    }
    zero = n.view(n.cast(zero, type), {Dim(columns), Dim(blocks), Dim(1)});
    centred = n.op(OpId::sub_out, {centred, zero});
  } else {
    centred = n.op(OpId::sub_Scalar_out, {centred, bits == 2 ? 2.0 : bits == 4 ? 8.0 : 128.0});
  }
  ValueId weight = n.view(n.op(OpId::mul_out, {centred, scale}), {Dim(columns), Dim(blocks * block)});
  if (blocks * block != k) weight = n.slice(weight, 1, 0, k);
  const ValueId y = lowering::linear(n, n.input(0), weight, n.has_input(5) ? Argument(n.input(5)) : Argument(None()));
  n.output(0, y);
}

// Codes of 4 bits, the high one first, of the weight [N, K] row by row, each for a number of a table; a block of them
// has the magnitude of its largest as scale. NF4 are the quantiles of a normal distribution (Dettmers et al., QLoRA,
// 2023).
void import_matmul_bnb4(NodeContext& n) {
  const int64_t kind = n.integer("quant_type", 1);
  if (kind != 0 && kind != 1) {
    return n.invalid("attribute 'quant_type' must be 0 (FP4) or 1 (NF4), found " + std::to_string(kind));
  }
  const std::vector<double> positive = {0, 0.0625 / 12, 8.0 / 12, 1, 4.0 / 12, 6.0 / 12, 2.0 / 12, 3.0 / 12};
  std::vector<double> table = positive;
  for (const double number : positive) table.push_back(-number);
  if (kind == 1) {
    table = {-1,
             -0.6961928009986877,
             -0.5250730514526367,
             -0.39491748809814453,
             -0.28444138169288635,
             -0.18477343022823334,
             -0.09105003625154495,
             0,
             0.07958029955625534,
             0.16093020141124725,
             0.24611230194568634,
             0.33791524171829224,
             0.44070982933044434,
             0.5626170039176941,
             0.7229568362236023,
             1};
  }
  const int64_t k = n.integer("K", 0);
  const int64_t columns = n.integer("N", 0);
  const int64_t block = n.integer("block_size", 0);
  constexpr int64_t kMost = INT32_MAX;
  if (k < 1 || columns < 1 || block < 1 || k > kMost || columns > kMost || block > kMost) {
    return n.invalid("attributes 'K', 'N' and 'block_size' must be positive numbers of 32 bits");
  }
  if (n.integer("transB", 1) != 1) return n.unsupported("a weight that is not transposed (transB)");
  const ValueId packed = n.input(1);
  if (n.ok() && n.dtype(packed) != DType::kU8) return n.invalid("the weight must be u8, found " + n.type_text(packed));
  const ValueId high = n.op(OpId::bitwise_right_shift_Tensor_Scalar_out, {packed, Dim(4)});
  const ValueId low = n.op(OpId::bitwise_and_Scalar_out, {packed, Dim(15)});
  const int64_t count = (k * columns + 1) / 2;
  ValueId codes = n.op(OpId::stack_out, {ValueList{n.view(high, {Dim(count)}), n.view(low, {Dim(count)})}, Dim(-1)});
  codes = n.slice(n.view(n.cast(codes, DType::kI64), {Dim(2 * count)}), 0, 0, k * columns);
  const ValueId values =
      n.op(OpId::index_Tensor_out, {n.Lowering::numbers(DType::kF32, table, 1, 0), ValueList{codes}});
  const ValueId scale = by_blocks(n, n.cast(n.input(2), DType::kF32), 0, block, values);
  const ValueId weight = n.view(n.op(OpId::mul_out, {values, scale}), {Dim(columns), Dim(k)});
  n.output(0, lowering::linear(n, n.input(0), n.cast(weight, n.dtype(n.input(0))), None()));
}

constexpr OperatorRow kContribRows[] = {
    {"BiasGelu", 2, 2, import_bias_gelu},
    {"BiasSplitGelu", 2, 2, import_bias_split_gelu},
    {"FastGelu", 1, 2, import_fast_gelu},
    {"FusedConv", 2, 4, import_fused_conv},
    {"FusedGemm", 2, 3, import_fused_gemm},
    {"FusedMatMul", 2, 2, import_fused_matmul},
    {"GatherBlockQuantized", 3, 4, import_gather_block_quantized},
    {"Gelu", 1, 1, import_exact_gelu},
    {"MatMulBnb4", 3, 3, import_matmul_bnb4},
    {"MatMulNBits", 3, 6, import_matmul_nbits},
    {"QuickGelu", 1, 1, import_quick_gelu},
    {"SkipLayerNormalization", 3, 5, import_skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", 3, 4, import_skip_rms_normalization},
    {"TransposeMatMul", 2, 2, import_fused_matmul},
};

}  // namespace

OperatorTable contrib_operators() { return kContribRows; }

}  // namespace berth::onnx
