// Matrix products.
#include <algorithm>

#include "compiler/import/lowering/einsum.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

void import_linear(NodeContext& n) {
  n.output(lowering::linear(n, n.tensor("input"), n.tensor("weight"), n.optional_tensor("bias")));
}

void import_matmul(NodeContext& n) { n.output(lowering::matmul(n, n.tensor("self"), n.tensor("other"))); }

void import_mv(NodeContext& n) { n.output(lowering::matmul(n, n.tensor("self"), n.tensor("vec"))); }

void import_dot(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor(n.argument("other") != nullptr ? "other" : "tensor");
  n.output(lowering::matmul(n, a, b));
}

void import_outer(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("vec2");
  n.output(n.op(OpId::mul_out, {n.view(a, {n.dim(a, 0), Dim(1)}), b}));
}

bool is(const IrArgument& number, int64_t value) {
  const Dim* whole = std::get_if<Dim>(&number);
  const double* real = std::get_if<double>(&number);
  return (whole != nullptr && *whole == Dim(value)) || (real != nullptr && *real == static_cast<double>(value));
}

// beta self + alpha product; with a beta of 0 NaN and infinities of self are ignored, too. REQUIRES: self stretches to
// the product.
ValueId combined(NodeContext& n, ValueId self, ValueId product) {
  const IrArgument beta = n.scalar("beta", Dim(1));
  const IrArgument alpha = n.scalar("alpha", Dim(1));
  if (!is(alpha, 1)) product = n.op(OpId::mul_Scalar_out, {product, alpha});
  if (is(beta, 0)) return product;
  if (!is(beta, 1)) self = n.op(OpId::mul_Scalar_out, {self, beta});
  return n.op(OpId::add_out, {self, product});
}

void import_baddbmm(NodeContext& n) {
  const ValueId product = n.op(OpId::bmm_out, {n.tensor("batch1"), n.tensor("batch2")});
  n.output(combined(n, n.tensor("self"), product));
}

void import_addbmm(NodeContext& n) {
  const ValueId product = n.op(OpId::bmm_out, {n.tensor("batch1"), n.tensor("batch2")});
  const ValueId sum = n.op(OpId::sum_IntList_out, {product, DimList{Dim(0)}, false});
  n.output(combined(n, n.tensor("self"), sum));
}

void import_addmv(NodeContext& n) {
  n.output(combined(n, n.tensor("self"), lowering::matmul(n, n.tensor("mat"), n.tensor("vec"))));
}

void import_addr(NodeContext& n) {
  const ValueId a = n.tensor("vec1");
  const ValueId product = n.op(OpId::mul_out, {n.view(a, {n.dim(a, 0), Dim(1)}), n.tensor("vec2")});
  n.output(combined(n, n.tensor("self"), product));
}

// A path, the order of products, changes nothing.
void import_einsum(NodeContext& n) { n.output(lowering::einsum(n, n.text("equation", ""), n.tensors("tensors"))); }

// x1 W x2 for each of the outputs: sum over both, with W [out, in1, in2].
void import_bilinear(NodeContext& n) {
  const ValueId y =
      lowering::einsum(n, "...i,oij,...j->...o", {n.tensor("input1"), n.tensor("weight"), n.tensor("input2")});
  n.output(n.has("bias") ? n.op(OpId::add_out, {y, n.tensor("bias")}) : y);
}

// Σ i1 i2 i3 over sumdim, each first given dimensions of size 1 at its own expand list.
void import_trilinear(NodeContext& n) {
  ValueId product;
  for (const auto& [input, places] :
       {std::pair("i1", "expand1"), std::pair("i2", "expand2"), std::pair("i3", "expand3")}) {
    ValueId x = n.tensor(input);
    std::vector<int64_t> where = n.integers(places);
    if (where.size() > kMaxRank) return n.invalid("'" + std::string(places) + "' does not fit");
    std::sort(where.begin(), where.end());
    std::vector<Dim> shape = n.shape(x);
    for (int64_t at : where) {
      if (at < 0 || at > static_cast<int64_t>(shape.size()))
        return n.invalid("'" + std::string(places) + "' does not fit");
      shape.insert(shape.begin() + at, Dim(1));
    }
    x = n.view(x, shape);
    product = product.valid() ? n.op(OpId::mul_out, {product, x}) : x;
  }
  n.output(n.op(OpId::sum_IntList_out, {product, n.dims("sumdim"), false}));
}

// a · b / (|a| |b|), neither length below eps.
void import_cosine_similarity(NodeContext& n) {
  const ValueId a = n.tensor("x1");
  const ValueId b = n.tensor("x2");
  const DimList axis{n.dim("dim", Dim(1))};
  const double eps = n.number("eps", 1e-8);
  const auto length = [&](ValueId x) {
    const ValueId sum = n.op(OpId::sum_IntList_out, {n.op(OpId::mul_out, {x, x}), axis, true});
    return n.op(OpId::clamp_out, {n.op(OpId::sqrt_out, {sum}), eps, None()});
  };
  const ValueId product =
      n.op(OpId::mul_out, {n.op(OpId::div_out, {a, length(a)}), n.op(OpId::div_out, {b, length(b)})});
  n.output(n.op(OpId::sum_IntList_out, {product, axis, false}));
}

void import_cdist(NodeContext& n) {
  n.output(n.op(OpId::cdist_forward_out,
                {n.tensor("x1"), n.tensor("x2"), n.number("p", 2), n.scalar("compute_mode", None())}));
}

// [rows, k] × [k, columns] of i8, in i32. f32 holds the sum of 2^10 products exactly, f64 that of any.
void import_int_mm(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("mat2");
  if (!n.ok()) return;
  if (n.rank(a) != 2 || n.rank(b) != 2 || n.dtype(a) != DType::kI8 || n.dtype(b) != DType::kI8 ||
      n.dim(a, 1) != n.dim(b, 0)) {
    return n.invalid("expected matrices of i8 that fit each other, found " + n.type_text(a) + " and " + n.type_text(b));
  }
  const int64_t k = n.fixed(n.dim(a, 1), "what is summed over");
  constexpr int64_t kExact = 1 << 10;
  constexpr int64_t kMostParts = 64;
  const bool narrow = k <= kExact * kMostParts;
  const DType type = narrow ? DType::kF32 : DType::kF64;
  ValueId sum;
  for (int64_t at = 0; at < std::max<int64_t>(k, 1) && n.ok(); at += narrow ? kExact : k) {
    const int64_t end = narrow ? std::min(k, at + kExact) : k;
    const ValueId left = n.cast(k > kExact ? n.slice(a, 1, at, end) : a, type);
    const ValueId right = n.cast(k > kExact ? n.slice(b, 0, at, end) : b, type);
    const ValueId part = n.cast(n.op(OpId::mm_out, {left, right}), DType::kI32);
    sum = sum.valid() ? n.op(OpId::add_out, {sum, part}) : part;
  }
  n.output(sum);
}

constexpr OperatorRow kLinearRows[] = {
    {"_int_mm", import_int_mm},
    {"_trilinear", import_trilinear},
    {"addbmm", import_addbmm},
    {"addmv", import_addmv},
    {"addr", import_addr},
    {"baddbmm", import_baddbmm},
    {"bilinear", import_bilinear},
    {"cdist", import_cdist},
    {"cosine_similarity", import_cosine_similarity},
    {"dot", import_dot},
    {"einsum", import_einsum},
    {"ger", import_outer},
    {"linalg_matmul", import_matmul},
    {"linear", import_linear},
    {"matmul", import_matmul},
    {"mv", import_mv},
    {"outer", import_outer},
    {"vdot", import_dot},
};

}  // namespace

OperatorTable linear_operators() { return kLinearRows; }

}  // namespace berth::pt2
