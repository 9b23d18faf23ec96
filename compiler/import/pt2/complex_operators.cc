// Operators on complex tensors. The IR computes with pairs of real tensors instead (lowering/complex.h).
#include <algorithm>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/einsum.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

// Each does to real parts and to imaginary parts what it does to real numbers.
constexpr std::string_view kByParts[] = {
    "T",
    "_neg_view",
    "_reshape_alias",
    "_unsafe_index",
    "_unsafe_index_put",
    "_unsafe_view",
    "add",
    "alias",
    "broadcast_to",
    "cat",
    "chunk",
    "clone",
    "concat",
    "concatenate",
    "constant_pad_nd",
    "contiguous",
    "copy",
    "cumsum",
    "detach",
    "detach_",
    "diagonal",
    "dropout",
    "empty",
    "empty_like",
    "expand",
    "expand_as",
    "fft_fftshift",
    "fft_ifftshift",
    "flatten",
    "flip",
    "full",
    "full_like",
    "gather",
    "hstack",
    "index",
    "index_add",
    "index_copy",
    "index_put",
    "index_select",
    "lift_fresh",
    "lift_fresh_copy",
    "mT",
    "masked_fill",
    "mean",
    "moveaxis",
    "movedim",
    "narrow",
    "neg",
    "negative",
    "new_empty",
    "new_full",
    "new_zeros",
    "numpy_T",
    "pad",
    "permute",
    "permute_copy",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "roll",
    "rot90",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "select",
    "select_scatter",
    "slice",
    "slice_scatter",
    "split",
    "split_with_sizes",
    "squeeze",
    "stack",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "view",
    "view_as",
    "vstack",
    "where",
    "zero",
    "zeros",
    "zeros_like",
};

/// A number becomes a tensor of the type of the operand that is one.
Complex operand(NodeContext& n, std::string_view name, std::string_view beside) {
  const Argument* other = n.argument(beside);
  ValueId like;
  if (other != nullptr && other->kind == ArgumentKind::kTensor) like = n.complex(beside).real;
  return n.complex(name, like);
}

Complex self_of(NodeContext& n) { return operand(n, "self", "other"); }
Complex other_of(NodeContext& n) { return operand(n, "other", "self"); }

void import_multiply(NodeContext& n) { n.output(0, lowering::multiply(n, self_of(n), other_of(n))); }

void import_complex_divide(NodeContext& n) {
  if (n.has("rounding_mode")) return n.unsupported("complex numbers are not rounded");
  n.output(0, lowering::divide(n, self_of(n), other_of(n)));
}

void import_reciprocal(NodeContext& n) {
  const Complex x = n.complex("self");
  n.output(0, lowering::divide(n, {n.splat(n.dtype(x.real), {}, 1), {}}, x));
}

void import_complex_square(NodeContext& n) {
  const Complex x = n.complex("self");
  n.output(0, lowering::multiply(n, x, x));
}

// By products where the exponent is a small whole number, by angle and magnitude otherwise.
void import_power(NodeContext& n) {
  const Complex x = n.complex("self");
  constexpr double kMostProducts = 4;
  const double exponent = n.number("exponent", 1);
  if (!n.ok()) return;
  if (exponent >= 1 && exponent <= kMostProducts && exponent == static_cast<int>(exponent)) {
    Complex y = x;
    for (int i = 1; i < static_cast<int>(exponent); ++i) y = lowering::multiply(n, y, x);
    return n.output(0, y);
  }
  const ValueId radius = n.op(OpId::pow_Tensor_Scalar_out, {lowering::magnitude(n, x), exponent});
  const ValueId turned = n.op(OpId::mul_Scalar_out, {lowering::angle(n, x), exponent});
  n.output(0, lowering::polar(n, radius, turned));
}

void import_square_root(NodeContext& n) {
  const Complex x = n.complex("self");
  const ValueId radius = n.op(OpId::sqrt_out, {lowering::magnitude(n, x)});
  n.output(0, lowering::polar(n, radius, n.op(OpId::mul_Scalar_out, {lowering::angle(n, x), 0.5})));
}

void import_exponential(NodeContext& n) {
  const Complex x = lowering::with_both(n, n.complex("self"));
  n.output(0, lowering::polar(n, n.op(OpId::exp_out, {x.real}), x.imaginary));
}

void import_logarithm(NodeContext& n) {
  const Complex x = n.complex("self");
  n.output(0, Complex{n.op(OpId::log_out, {lowering::magnitude(n, x)}), lowering::angle(n, x)});
}

// x / |x|, and 0 of 0.
void import_sign(NodeContext& n) {
  const Complex x = lowering::with_both(n, n.complex("self"));
  const ValueId radius = lowering::magnitude(n, x);
  const ValueId zero = n.op(OpId::eq_Scalar_out, {radius, Dim(0)});
  const auto part = [&](ValueId v) {
    return n.op(OpId::masked_fill_Scalar_out, {n.op(OpId::div_out, {v, radius}), zero, Dim(0)});
  };
  const ValueId real = part(x.real);
  n.output(0, Complex{real, part(x.imaginary)});
}

void import_magnitude(NodeContext& n) { n.output(lowering::magnitude(n, n.complex("self"))); }

// Of real numbers: 0, π of negative ones, NaN of NaN.
void import_angle(NodeContext& n) {
  const Complex x = n.complex("self");
  if (x.imaginary.valid()) return n.output(lowering::angle(n, x));
  constexpr double kPi = 3.14159265358979323846;
  const ValueId negative = n.op(OpId::lt_Scalar_out, {x.real, Dim(0)});
  const ValueId y = n.op(OpId::mul_Scalar_out, {n.cast(negative, n.dtype(x.real)), kPi});
  n.output(n.op(OpId::where_self_out, {n.op(OpId::isnan_out, {x.real}), x.real, y}));
}

/// A tensor that is real, or a complex one's conjugate.
void import_conjugate(NodeContext& n) {
  const Complex x = n.complex("self");
  if (!x.imaginary.valid()) return n.output(n.tensor("self"));
  n.output(0, lowering::conjugate(n, x));
}

void import_unchanged(NodeContext& n) {
  const Complex x = n.complex("self");
  if (!x.imaginary.valid()) return n.output(n.tensor("self"));
  n.output(0, x);
}

// The last two dimensions change places, and the imaginary parts their sign.
void import_adjoint(NodeContext& n) {
  const Complex x = n.complex("self");
  const int rank = n.rank(x.real);
  if (n.ok() && rank < 2) return n.unsupported("a matrix has two dimensions");
  std::vector<int64_t> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  if (rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  const Complex y = lowering::conjugate(n, x);
  const ValueId real = n.permute(y.real, order);
  n.output(0, Complex{real, y.imaginary.valid() ? n.permute(y.imaginary, order) : ValueId()});
}

void import_real_part(NodeContext& n) {
  const Complex x = n.complex("self");
  n.output(x.imaginary.valid() ? x.real : n.tensor("self"));
}

void import_imaginary_part(NodeContext& n) { n.output(lowering::with_both(n, n.complex("self")).imaginary); }

void import_as_real(NodeContext& n) { n.output(lowering::as_last_dimension(n, n.complex("self"))); }
void import_as_complex(NodeContext& n) { n.output(0, lowering::from_last_dimension(n, n.tensor("self"))); }

// Both stretch to the shape of both.
Complex stretched(NodeContext& n, ValueId a, ValueId b) {
  const ValueId zeros = n.op(OpId::full_like_out, {b, Dim(0), None(), number_of(n.dtype(a))});
  if (n.shape(a) == n.shape(b)) return {a, b};
  const ValueId real = n.op(OpId::add_out, {a, zeros});
  const ValueId none = n.op(OpId::full_like_out, {a, Dim(0), None(), number_of(n.dtype(b))});
  return {real, n.op(OpId::add_out, {b, none})};
}

void import_complex(NodeContext& n) {
  const ValueId real = n.tensor("real");
  n.output(0, stretched(n, real, n.tensor("imag")));
}

void import_polar(NodeContext& n) {
  const ValueId radius = n.tensor("abs");
  n.output(0, lowering::polar(n, radius, n.tensor("angle")));
}

// To another type of complex numbers, or to real ones: those of the real part.
void import_conversion(NodeContext& n) {
  const Complex x = n.complex("self");
  const TensorMeta* meta = n.output_meta(0);
  if (meta == nullptr) return n.invalid("its result has no type in the file");
  if (!is_complex(meta->dtype)) return n.output(n.cast(x.real, meta->dtype));
  const DType type = lowering::part_type(meta->dtype);
  const ValueId real = n.cast(x.real, type);
  n.output(0, Complex{real, x.imaginary.valid() ? n.cast(x.imaginary, type) : ValueId()});
}

void import_ones(NodeContext& n) {
  const TensorMeta* meta = n.output_meta(0);
  if (meta == nullptr) return n.invalid("its result has no type in the file");
  const DType type = lowering::part_type(meta->dtype);
  const DimList size = n.has("size") ? n.dims("size") : DimList(n.shape(n.complex("self").real));
  n.output(0, Complex{n.op(OpId::full_out, {size, Dim(1), number_of(type)}), {}});
}

template <bool equal>
void import_equal(NodeContext& n) {
  const Complex a = lowering::with_both(n, self_of(n));
  const Complex b = lowering::with_both(n, other_of(n));
  const OpId compare = equal ? OpId::eq_Tensor_out : OpId::ne_Tensor_out;
  const ValueId real = n.op(compare, {a.real, b.real});
  const ValueId imaginary = n.op(compare, {a.imaginary, b.imaginary});
  n.output(n.op(equal ? OpId::logical_and_out : OpId::logical_or_out, {real, imaginary}));
}

Complex product(NodeContext& n, Complex a, Complex b) {
  return lowering::bilinear(n, a, b, [&](ValueId x, ValueId y) { return lowering::matmul(n, x, y); });
}

void import_complex_matmul(NodeContext& n) {
  const Complex a = n.complex("self");
  n.output(0, product(n, a, n.complex(n.has("mat2") ? "mat2" : n.has("vec") ? "vec" : "other")));
}

// self + a b
void import_added_product(NodeContext& n) {
  for (const char* name : {"alpha", "beta"}) {
    if (n.number(name, 1) != 1) return n.unsupported("is read for complex numbers without 'alpha' and 'beta'");
  }
  const Complex a = n.complex(n.has("mat1") ? "mat1" : "batch1");
  const Complex y = product(n, a, n.complex(n.has("mat2") ? "mat2" : "batch2"));
  n.output(0, lowering::add(n, n.complex("self"), y));
}

void import_complex_linear(NodeContext& n) {
  Complex y = lowering::bilinear(n, n.complex("input"), n.complex("weight"),
                                 [&](ValueId x, ValueId w) { return lowering::linear(n, x, w, None()); });
  if (n.has("bias")) y = lowering::add(n, y, n.complex("bias"));
  n.output(0, y);
}

void import_complex_outer(NodeContext& n) {
  Complex a = n.complex("self");
  const auto column = [&](ValueId v) { return v.valid() ? n.view(v, {n.dim(v, 0), Dim(1)}) : v; };
  if (n.ok() && n.rank(a.real) != 1) return n.invalid("takes vectors, found " + n.type_text(a.real));
  n.output(0,
           lowering::multiply(n, {column(a.real), column(a.imaginary)}, n.complex(n.has("vec2") ? "vec2" : "other")));
}

void import_complex_einsum(NodeContext& n) {
  const std::string equation = n.text("equation", "");
  const std::vector<Complex> all = n.complexes("tensors");
  if (n.ok() && all.size() != 2) return n.unsupported("einsum is read of two complex tensors");
  if (!n.ok()) return;
  n.output(0, lowering::bilinear(n, all[0], all[1], [&](ValueId a, ValueId b) {
             return lowering::einsum(n, equation, {a, b});
           }));
}

// An assertion of what the importer checks anyway.
void import_complex_assertion(NodeContext& n) {
  for (size_t i = 0; i < n.output_count(); ++i) n.unknown_output(i, "is only there to be checked");
}

constexpr OperatorRow kComplexRows[] = {
    {"_assert_tensor_metadata", import_complex_assertion},
    {"_conj", import_conjugate},
    {"_conj_physical", import_conjugate},
    {"_to_copy", import_conversion},
    {"abs", import_magnitude},
    {"absolute", import_magnitude},
    {"addmm", import_added_product},
    {"adjoint", import_adjoint},
    {"angle", import_angle},
    {"baddbmm", import_added_product},
    {"bmm", import_complex_matmul},
    {"complex", import_complex},
    {"conj", import_conjugate},
    {"conj_physical", import_conjugate},
    {"div", import_complex_divide},
    {"divide", import_complex_divide},
    {"einsum", import_complex_einsum},
    {"eq", import_equal<true>},
    {"exp", import_exponential},
    {"imag", import_imaginary_part},
    {"linear", import_complex_linear},
    {"log", import_logarithm},
    {"mH", import_adjoint},
    {"matmul", import_complex_matmul},
    {"matrix_H", import_adjoint},
    {"mm", import_complex_matmul},
    {"mul", import_multiply},
    {"multiply", import_multiply},
    {"mv", import_complex_matmul},
    {"ne", import_equal<false>},
    {"new_ones", import_ones},
    {"ones", import_ones},
    {"ones_like", import_ones},
    {"outer", import_complex_outer},
    {"polar", import_polar},
    {"pow", import_power},
    {"real", import_real_part},
    {"reciprocal", import_reciprocal},
    {"resolve_conj", import_unchanged},
    {"resolve_neg", import_unchanged},
    {"sgn", import_sign},
    {"sqrt", import_square_root},
    {"square", import_complex_square},
    {"to", import_conversion},
    {"true_divide", import_complex_divide},
    {"type_as", import_conversion},
    {"view_as_complex", import_as_complex},
    {"view_as_real", import_as_real},
};

}  // namespace

OperatorTable complex_operators() { return kComplexRows; }

bool works_by_parts(std::string_view name) {
  return std::binary_search(std::begin(kByParts), std::end(kByParts), name);
}

}  // namespace berth::pt2
