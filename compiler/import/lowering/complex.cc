#include "compiler/import/lowering/complex.h"

#include "compiler/import/lowering/arithmetic.h"

namespace berth::lowering {
namespace {

ValueId zeros_like(Lowering& n, ValueId x) {
  return n.op(OpId::full_like_out, {x, Dim(0), None(), number_of(n.dtype(x))});
}

ValueId where(Lowering& n, ValueId condition, ValueId yes, ValueId no) {
  return n.op(OpId::where_self_out, {condition, yes, no});
}

ValueId negative(Lowering& n, ValueId x) { return n.op(OpId::neg_out, {x}); }

}  // namespace

DType part_type(DType complex) {
  if (complex == DType::kComplex32) return DType::kF16;
  return complex == DType::kComplex128 ? DType::kF64 : DType::kF32;
}

Complex with_both(Lowering& n, Complex x) {
  if (!x.imaginary.valid()) x.imaginary = zeros_like(n, x.real);
  return x;
}

Complex add(Lowering& n, Complex a, Complex b) {
  Complex y{add(n, a.real, b.real), {}};
  if (!a.imaginary.valid() && !b.imaginary.valid()) return y;
  // An absent part still stretches the other to the shape of both.
  y.imaginary = add(n, with_both(n, a).imaginary, with_both(n, b).imaginary);
  return y;
}

Complex subtract(Lowering& n, Complex a, Complex b) {
  Complex y{sub(n, a.real, b.real), {}};
  if (!a.imaginary.valid() && !b.imaginary.valid()) return y;
  y.imaginary = sub(n, with_both(n, a).imaginary, with_both(n, b).imaginary);
  return y;
}

Complex multiply(Lowering& n, Complex a, Complex b) {
  return bilinear(n, a, b, [&](ValueId x, ValueId y) { return mul(n, x, y); });
}

// Smith's algorithm ("Algorithm 116: Complex division", 1962): everything is divided by the larger part of the divisor.
Complex divide(Lowering& n, Complex a, Complex b) {
  const auto over = [&](ValueId x, ValueId y) { return n.op(OpId::div_out, {x, y}); };
  if (!b.imaginary.valid()) {
    const Complex y{over(a.real, b.real), {}};
    return a.imaginary.valid() ? Complex{y.real, over(a.imaginary, b.real)} : y;
  }
  a = with_both(n, a);
  const ValueId wide = n.op(OpId::ge_Tensor_out, {n.op(OpId::abs_out, {b.real}), n.op(OpId::abs_out, {b.imaginary})});
  const ValueId zero = n.splat(n.dtype(b.real), {}, 0);
  ValueId large = where(n, wide, b.real, b.imaginary);
  const ValueId small = where(n, wide, b.imaginary, b.real);
  const ValueId nothing = n.op(OpId::eq_Scalar_out, {large, Dim(0)});
  const ValueId ratio = where(n, nothing, zero, over(small, large));
  large = where(n, nothing, zero, large);
  const ValueId inverse = n.op(OpId::reciprocal_out, {add(n, large, mul(n, small, ratio))});
  const ValueId first = where(n, wide, a.real, a.imaginary);
  const ValueId second = where(n, wide, a.imaginary, a.real);
  const ValueId turned = where(n, wide, inverse, negative(n, inverse));
  return {mul(n, add(n, first, mul(n, second, ratio)), inverse), mul(n, sub(n, second, mul(n, first, ratio)), turned)};
}

Complex conjugate(Lowering& n, Complex x) {
  if (x.imaginary.valid()) x.imaginary = negative(n, x.imaginary);
  return x;
}

Complex scale(Lowering& n, Complex x, double factor) {
  if (factor == 1) return x;
  x.real = n.op(OpId::mul_Scalar_out, {x.real, factor});
  if (x.imaginary.valid()) x.imaginary = n.op(OpId::mul_Scalar_out, {x.imaginary, factor});
  return x;
}

// large · sqrt(1 + (small / large)²). A ratio of zeros or of infinities counts as 0; that of a NaN stays one, unless
// the other is infinite: as C's hypot has it.
ValueId hypotenuse(Lowering& n, ValueId a, ValueId b) {
  a = n.op(OpId::abs_out, {a});
  b = n.op(OpId::abs_out, {b});
  const ValueId large = n.op(OpId::maximum_out, {a, b});
  const ValueId small = n.op(OpId::minimum_out, {a, b});
  const ValueId zero = n.splat(n.dtype(large), {}, 0);
  const ValueId infinite =
      n.op(OpId::logical_or_out, {n.op(OpId::eq_Scalar_out, {a, HUGE_VAL}), n.op(OpId::eq_Scalar_out, {b, HUGE_VAL})});
  const ValueId plain = n.op(OpId::eq_Scalar_out, {large, Dim(0)});
  const ValueId ratio = where(n, plain, zero, n.op(OpId::div_out, {small, large}));
  const ValueId root = n.op(OpId::sqrt_out, {n.op(OpId::add_Scalar_out, {mul(n, ratio, ratio), Dim(1)})});
  return n.op(OpId::masked_fill_Scalar_out, {mul(n, large, root), infinite, HUGE_VAL});
}

ValueId magnitude(Lowering& n, Complex x) {
  return x.imaginary.valid() ? hypotenuse(n, x.real, x.imaginary) : n.op(OpId::abs_out, {x.real});
}

ValueId angle(Lowering& n, Complex x) {
  x = with_both(n, x);
  return n.op(OpId::atan2_out, {x.imaginary, x.real});
}

Complex polar(Lowering& n, ValueId radius, ValueId angle) {
  return {mul(n, radius, n.op(OpId::cos_out, {angle})), mul(n, radius, n.op(OpId::sin_out, {angle}))};
}

ValueId as_last_dimension(Lowering& n, Complex x) {
  x = with_both(n, x);
  return n.op(OpId::stack_out, {ValueList{x.real, x.imaginary}, Dim(-1)});
}

Complex from_last_dimension(Lowering& n, ValueId parts) {
  if (n.ok() && (n.rank(parts) == 0 || n.dim(parts, n.rank(parts) - 1) != Dim(2))) {
    n.invalid("expected pairs, a last dimension of 2, found " + n.type_text(parts));
  }
  const auto part = [&](int64_t i) { return n.op(OpId::select_copy_int_out, {parts, Dim(-1), Dim(i)}); };
  const ValueId real = part(0);
  return {real, part(1)};
}

}  // namespace berth::lowering
