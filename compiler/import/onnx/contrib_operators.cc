// Operators of com.microsoft that ONNX Runtime's optimiser and exporters write: sums of what is here already.
//
// Source: ONNX Runtime's page on its contrib operators.
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

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

void import_fused_matmul(NodeContext& n) {
  if (n.integer("transBatchA", 0) != 0 || n.integer("transBatchB", 0) != 0) {
    return n.unsupported("batches that are transposed (transBatchA, transBatchB)");
  }
  ValueId a = n.input(0);
  ValueId b = n.input(1);
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

// The weight is [columns, blocks, bytes of a block], elements of 4 bits with the low one first, or of 8; the row of a
// block is (q - zero point) · scale, the zero points packed as the elements are.
ValueId unpacked(NodeContext& n, ValueId packed, int64_t bits) {
  if (bits == 8) return packed;
  const ValueId low = n.op(OpId::bitwise_and_Scalar_out, {packed, Dim(15)});
  const ValueId high = n.op(OpId::bitwise_right_shift_Tensor_Scalar_out, {packed, Dim(4)});
  const ValueId pairs = n.op(OpId::stack_out, {ValueList{low, high}, Dim(-1)});
  std::vector<Dim> shape = n.shape(packed);
  if (!n.ok() || shape.empty()) return {};
  shape.back() = n.symbols().mul(shape.back(), Dim(2));
  return n.view(pairs, shape);
}

void import_matmul_nbits(NodeContext& n) {
  const int64_t k = n.integer("K", 0);
  const int64_t columns = n.integer("N", 0);
  const int64_t bits = n.integer("bits", 4);
  const int64_t block = n.integer("block_size", 0);
  if (bits != 4 && bits != 8) return n.unsupported("weights of 4 or 8 bits only, found " + std::to_string(bits));
  constexpr int64_t kMost = INT32_MAX;
  if (k < 1 || columns < 1 || block < 2 || block % 2 != 0 || k > kMost || columns > kMost || block > kMost) {
    return n.invalid("attributes 'K', 'N' and 'block_size' must be positive numbers of 32 bits, block_size even");
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
    if (!is_floating(n.dtype(zero))) {
      const int64_t bytes = bits == 8 ? blocks : (blocks + 1) / 2;
      zero = unpacked(n, n.view(zero, {Dim(columns), Dim(bytes)}), bits);
      zero = n.slice(zero, 1, 0, blocks);
    }
    zero = n.view(n.cast(zero, type), {Dim(columns), Dim(blocks), Dim(1)});
    centred = n.op(OpId::sub_out, {centred, zero});
  } else {
    centred = n.op(OpId::sub_Scalar_out, {centred, bits == 4 ? 8.0 : 128.0});
  }
  ValueId weight = n.view(n.op(OpId::mul_out, {centred, scale}), {Dim(columns), Dim(blocks * block)});
  if (blocks * block != k) weight = n.slice(weight, 1, 0, k);
  const ValueId y = lowering::linear(n, n.input(0), weight, n.has_input(5) ? Argument(n.input(5)) : Argument(None()));
  n.output(0, y);
}

constexpr OperatorRow kContribRows[] = {
    {"BiasGelu", 2, 2, import_bias_gelu},
    {"FastGelu", 1, 2, import_fast_gelu},
    {"FusedMatMul", 2, 2, import_fused_matmul},
    {"Gelu", 1, 1, import_exact_gelu},
    {"MatMulNBits", 3, 6, import_matmul_nbits},
    {"QuickGelu", 1, 1, import_quick_gelu},
    {"SkipLayerNormalization", 3, 5, import_skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", 3, 4, import_skip_rms_normalization},
};

}  // namespace

OperatorTable contrib_operators() { return kContribRows; }

}  // namespace berth::onnx
