// Discrete Fourier transforms as products with constant matrices.
//
// A transform of N = A · B numbers is one of A and one of B, each over an axis of its own, with factors between them
// (Cooley and Tukey, 1965); so that only transforms of prime lengths, or of short ones, are one product.
#pragma once

#include <map>
#include <tuple>

#include "compiler/import/lowering/complex.h"

namespace berth::lowering {

/// The constants of transforms; one object an import, so that equal transforms share them.
class FourierConstants {
 public:
  /// What products with a row of `length` numbers transform it into. The row holds real parts and, when `pairs`,
  /// imaginary ones behind them; so does the result, of `bins` numbers: [length or 2 · length, 2 · bins].
  ValueId matrix(Lowering& n, DType type, int64_t length, int64_t bins, bool inverse, bool pairs);
  /// What a row of length / 2 + 1 numbers, real parts and then imaginary ones, is multiplied by to give the signal
  /// whose transform begins with them: [2 · (length / 2 + 1), length].
  ValueId half_matrix(Lowering& n, DType type, int64_t length);
  /// exp(±2πi · row · column / (rows · columns)), [rows, columns].
  Complex factors(Lowering& n, DType type, int64_t rows, int64_t columns, bool inverse);

 private:
  /// Whether `elements` more may be made. Fails otherwise: a small file may ask for any number of long transforms.
  bool reserve(Lowering& n, int64_t elements);

  int64_t made_ = 0;
  std::map<std::tuple<DType, int64_t, int64_t, bool, bool>, ValueId> matrices_;
  std::map<std::tuple<DType, int64_t>, ValueId> half_matrices_;
};

/// The first `bins` numbers of the transform of `x` over dimension `axis`, times `scale`. The sum of x[t] times
/// exp(∓2πi · t · bin / length): minus, or plus for the inverse.
/// NotSupported when the length is not a number that is known; OutOfResources for long lengths with a large prime
/// factor.
Complex fourier(Lowering& n, FourierConstants& constants, Complex x, int axis, int64_t bins, bool inverse,
                double scale);

/// The real signal of `length` numbers whose transform begins with the numbers of `x` along `axis`, length / 2 + 1 of
/// them: the others are their mirror image. Times `scale`.
ValueId inverse_of_half(Lowering& n, FourierConstants& constants, Complex x, int axis, int64_t length, double scale);

/// `x` with `length` numbers along `axis`: cut at the end, or zeros behind it.
Complex resized(Lowering& n, Complex x, int axis, int64_t length);

/// Rows of windows [..., frames, size], `step` apart, put over one another and added up: [..., length], with
/// length = (frames - 1) · step + size.
ValueId overlapped(Lowering& n, ValueId frames, int64_t step);

}  // namespace berth::lowering
