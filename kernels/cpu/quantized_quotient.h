// Quotients by a scale in two products: a division takes eight times as long.
#pragma once

namespace berth::cpu {

/// t / scale is t * inverse + t * rest: rest is what 1 / scale has beyond the float `inverse`. The sum is rounded once.
struct QuantizedQuotient {
  float inverse = 0, rest = 0;
  /// Whether what is nearest to it of the whole numbers up to 256 is what it is of t / scale, rounded to a float, for
  /// every t of at most 2^80; more is not divided (quantized_columns.cc). Beyond 256 both are, on the same side.
  bool exact = false;
};

/// Tries it where they could differ, about each half of an odd number: microseconds.
QuantizedQuotient quotient_by(float scale);

/// Those of a quantised product.
struct QuantizedQuotients {
  QuantizedQuotient out, middle;
};

}  // namespace berth::cpu
