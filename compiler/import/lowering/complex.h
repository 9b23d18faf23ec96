// Complex numbers as pairs of real tensors: what files with complex tensors become, since kernels are for real numbers.
//
// A part that is not valid is zero everywhere: of a real tensor, its imaginary part. Results whose imaginary part is
// known to be zero have none.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

struct Complex {
  ValueId real;       // of a shape and a real element type
  ValueId imaginary;  // of the same, or not valid
};

/// The element type of the parts: f32 of c64.
DType part_type(DType complex);

/// `x` with an imaginary part.
Complex with_both(Lowering& n, Complex x);

Complex add(Lowering& n, Complex a, Complex b);
Complex subtract(Lowering& n, Complex a, Complex b);
Complex multiply(Lowering& n, Complex a, Complex b);
/// As PyTorch divides: without overflow where the quotient has none.
Complex divide(Lowering& n, Complex a, Complex b);
Complex conjugate(Lowering& n, Complex x);
Complex scale(Lowering& n, Complex x, double factor);
/// sqrt(a² + b²), without overflow or underflow on the way.
ValueId hypotenuse(Lowering& n, ValueId a, ValueId b);
ValueId magnitude(Lowering& n, Complex x);
/// From -π to π.
ValueId angle(Lowering& n, Complex x);
/// radius · (cos angle + i sin angle)
Complex polar(Lowering& n, ValueId radius, ValueId angle);

/// A function of two tensors that is linear in each, such as a matrix product.
template <typename F>
Complex bilinear(Lowering& n, Complex a, Complex b, F&& f) {
  const ValueId real = f(a.real, b.real);
  Complex y{real, {}};
  if (a.imaginary.valid() && b.imaginary.valid()) {
    y.real = n.op(OpId::sub_out, {real, f(a.imaginary, b.imaginary)});
  }
  if (b.imaginary.valid()) y.imaginary = f(a.real, b.imaginary);
  if (!a.imaginary.valid()) return y;
  const ValueId other = f(a.imaginary, b.real);
  y.imaginary = y.imaginary.valid() ? n.op(OpId::add_out, {y.imaginary, other}) : other;
  return y;
}

/// Numbers with their parts as the last dimension, [..., 2], and back.
ValueId as_last_dimension(Lowering& n, Complex x);
Complex from_last_dimension(Lowering& n, ValueId parts);

}  // namespace berth::lowering
