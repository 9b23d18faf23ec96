// Matrix products: MatMul of every rank as mm or bmm, Gemm as addmm.
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

void import_matmul(NodeContext& n) { n.output(0, lowering::matmul(n, n.input(0), n.input(1))); }

void import_gemm(NodeContext& n) { n.output(0, gemm(n)); }

constexpr OperatorRow kMatmulRows[] = {
    {"Gemm", 2, 3, import_gemm},
    {"MatMul", 2, 2, import_matmul},
};

}  // namespace

ValueId gemm(NodeContext& n) {
  ValueId a = n.input(0);
  ValueId b = n.input(1);
  const double alpha = n.number("alpha", 1.0);
  const double beta = n.number("beta", 1.0);
  if (n.integer("transA", 0) != 0) a = n.permute(a, {1, 0});
  if (n.integer("transB", 0) != 0) b = n.permute(b, {1, 0});
  // Numbers that are whole stay whole: integer matrices take no float factor.
  const auto scalar = [](double x) {
    return std::abs(x) < 1e9 && x == std::trunc(x) ? Argument(Dim(static_cast<int64_t>(x))) : Argument(x);
  };
  if (!n.has_input(2) || beta == 0) {
    const ValueId product = n.op(OpId::mm_out, {a, b});
    return alpha == 1 ? product : n.op(OpId::mul_Scalar_out, {product, scalar(alpha)});
  }
  return n.op(OpId::addmm_out, {n.input(2), a, b, scalar(beta), scalar(alpha)});
}

OperatorTable matmul_operators() { return kMatmulRows; }

}  // namespace berth::onnx
