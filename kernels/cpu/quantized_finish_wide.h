// The usual end of a quantised product: four registers of sums become one of bytes. Included once by each
// quantized_tile_*.cc after its registers, in place of quantized_finish_body.h. No include guard.
//
// Bytes are packed with saturation, which takes the place of a lower bound: what is too small for 32 bits, and what is
// not a number, becomes the lowest number of 32 bits, then of 16, then of 8.

#include "kernels/cpu/quantized_finish_body.h"

// A rounder whose quotients may take two products.
struct Divider {
  Rounder rounder;
  Floats inverse, rest;
  bool by_products;
};

BERTH_LOCAL Divider divider_of(const portable::ByteRounding& rounding, const QuantizedQuotient& quotient) {
  return {rounder_of(rounding), spread(quotient.inverse), spread(quotient.rest), quotient.exact};
}

BERTH_LOCAL void divide(const Divider& divider, Floats (&t)[4]) {
  const Rounder& by = divider.rounder;
  if (!by.scaled) return;
  if (by.divides && divider.by_products) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = times_plus(t[i], divider.inverse, times(t[i], divider.rest));
  } else if (by.divides) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = over(t[i], by.factor);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = times(t[i], by.factor);
  }
}

// What all rows have in common; everything is in registers.
struct WideFinish {
  Divider divider, middle;
  Floats middle_scale;
  Bounds bounds;
  Residual residual;
  Ints residual_zero;
  __m128i residual_flip;
  Raw zero16, low8, high8;
  bool has_bias, has_middle, is_signed;
  bool more;  // something happens to the scaled sums before they are rounded
};

BERTH_LOCAL WideFinish wide_finish(const QuantizedFinish& f, const QuantizedRows& rows) {
  const portable::QuantizedProduct& p = *f.product;
  WideFinish wide;
  wide.divider = divider_of(p.rounding, f.quotients.out);
  wide.middle = divider_of(p.middle, f.quotients.middle);
  wide.middle_scale = spread(p.middle.scale);
  wide.bounds = bounds_of(f.activation);
  wide.residual = residual_of(p, rows.residual_step);
  wide.residual_zero = spread_int(p.residual_zero + (wide.residual.is_signed ? 128 : 0));
  wide.residual_flip = _mm_set1_epi8(static_cast<int8_t>(wide.residual.is_signed ? 0x80 : 0));
  wide.zero16 = spread_word(static_cast<int16_t>(p.rounding.zero_point));
  wide.low8 = spread_byte(static_cast<int8_t>(p.rounding.low));
  wide.high8 = spread_byte(static_cast<int8_t>(p.rounding.high));
  wide.has_bias = f.bias != nullptr;
  wide.has_middle = p.has_middle;
  wide.is_signed = p.out->dtype() == DType::kI8;
  wide.more =
      wide.has_bias || p.has_middle || wide.bounds.is_low || wide.divider.rounder.scaled || p.residual != nullptr;
  return wide;
}

// Signed bytes are moved by 128, and their zero point with them.
BERTH_LOCAL Floats wide_residual(const WideFinish& wide, const uint8_t* from, SomeBytes there) {
  const Ints x = load_some_bytes(from, there, wide.residual_flip);
  return times(to_floats(minus_ints(x, wide.residual_zero)), wide.residual.scale);
}

// What happens to four registers of scaled sums before they are divided and rounded.
template <bool kResidual>
BERTH_LOCAL void wide_steps(const WideFinish& wide, const Floats (&bias)[4], const uint8_t* const (&residual)[4],
                            const SomeBytes (&there)[4], Floats (&t)[4]) {
  if (wide.has_bias) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = plus(t[i], bias[i]);
  }
  if (wide.has_middle) {
    divide(wide.middle, t);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Ints whole = to_ints(smaller(larger(t[i], wide.middle.rounder.low), wide.middle.rounder.high));
      t[i] = times(to_floats(whole), wide.middle_scale);
    }
  }
  if (kResidual) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) t[i] = plus(t[i], wide_residual(wide, residual[i], there[i]));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) t[i] = bounded(wide.bounds, t[i]);
}

template <bool kResidual>
BERTH_LOCAL void wide_more(const WideFinish& wide, const Floats (&bias)[4], const uint8_t* const (&residual)[4],
                           const SomeBytes (&there)[4], Floats (&t)[4]) {
  wide_steps<kResidual>(wide, bias, residual, there, t);
  divide(wide.divider, t);
}

// Whole numbers without their zero point, no larger than the largest.
BERTH_LOCAL Ints wide_round(const WideFinish& wide, Floats t) { return to_ints(smaller(wide.divider.rounder.high, t)); }

// Four registers of them as bytes, in the order in which packing leaves them: part by part.
BERTH_LOCAL Raw wide_bytes(const WideFinish& wide, const Ints (&x)[4]) {
  const Raw a = plus_words(packed_words(x[0], x[1]), wide.zero16);
  const Raw b = plus_words(packed_words(x[2], x[3]), wide.zero16);
  if (wide.is_signed) return within_signed(packed_signed(a, b), wide.low8, wide.high8);
  return within_unsigned(packed_unsigned(a, b), wide.low8, wide.high8);
}

// kVectors registers of each of 4 / kVectors rows at a time, of at most kLane * kVectors columns in all.
template <int kVectors, bool kResidual>
BERTH_TARGET void finish_wide(const QuantizedFinish& f, const QuantizedRows& rows) {
  constexpr int kRows = 4 / kVectors;
  const WideFinish wide = wide_finish(f, rows);
  Ints start[kVectors];
  Floats scale[kVectors], bias[4];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    start[v] = load_ints(f.start + rows.column + v * kLane);
    scale[v] = load_floats(f.scale + rows.column + v * kLane);
  }
  SomeBytes there[4];
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    const int v = part % kVectors;
    bias[part] = wide.has_bias ? load_floats(f.bias + rows.column + v * kLane) : spread(0);
    there[part] = some_bytes(rows.count - v * kLane);
  }
  const int64_t count = rows.count, height = rows.rows, sums_row = rows.sums_row;
  const int64_t out_row = rows.out_row, residual_row = rows.residual_row;
  const int32_t* sums = rows.sums;
  uint8_t* out = rows.out;
  const uint8_t* residual = rows.residual;
  for (int64_t i = 0; i < height; i += kRows) {
    // Where there are fewer rows than that, the last is done twice, and read before it is written.
    int64_t row[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) row[r] = i + r < height ? i + r : height - 1;
    Floats t[4];
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const int v = part % kVectors;
      const int32_t* from = sums + row[part / kVectors] * sums_row + v * kLane;
      t[part] = times(to_floats(plus_ints(load_ints(from), start[v])), scale[v]);
    }
    if (wide.more) {
      const uint8_t* from[4] = {};
#pragma GCC unroll 4
      for (int part = 0; part < 4 && kResidual; ++part) {
        from[part] = residual + row[part / kVectors] * residual_row + part % kVectors * kLane;
      }
      wide_more<kResidual>(wide, bias, from, there, t);
    }
    const Ints x[4] = {wide_round(wide, t[0]), wide_round(wide, t[1]), wide_round(wide, t[2]), wide_round(wide, t[3])};
    const Raw bytes = in_order(wide_bytes(wide, x));
    put_raw<kVectors>(out + row[0] * out_row, count, bytes);
    if constexpr (kRows == 2) put_raw<kVectors>(out + row[1] * out_row, count, part_of<1, 2>(bytes));
    if constexpr (kRows == 4) {
      put_raw<kVectors>(out + row[1] * out_row, count, part_of<1, 4>(bytes));
      put_raw<kVectors>(out + row[2] * out_row, count, part_of<2, 4>(bytes));
      put_raw<kVectors>(out + row[3] * out_row, count, part_of<3, 4>(bytes));
    }
  }
}

// At most four registers of columns.
BERTH_LOCAL void finish_columns(const QuantizedFinish& f, const QuantizedRows& rows) {
  const bool residual = f.product->residual != nullptr;
  if (rows.count > 2 * kLane) return residual ? finish_wide<4, true>(f, rows) : finish_wide<4, false>(f, rows);
  if (rows.count > kLane) return residual ? finish_wide<2, true>(f, rows) : finish_wide<2, false>(f, rows);
  return residual ? finish_wide<1, true>(f, rows) : finish_wide<1, false>(f, rows);
}

BERTH_TARGET void finish_usual(const QuantizedFinish& f, const QuantizedRows& rows) {
  const portable::QuantizedProduct& p = *f.product;
  const bool usual = is_usual(f) && rows.out_step == 1 &&
                     (p.residual == nullptr || (p.residual->dtype() != DType::kF32 && rows.residual_step == 1));
  if (!usual) return finish(f, rows);
  for (QuantizedRows some = rows; some.count > 0;) {
    const int64_t left = some.count;
    if (left > 4 * kLane) some.count = 4 * kLane;
    finish_columns(f, some);
    some.sums += 4 * kLane;
    some.column += 4 * kLane;
    some.out += 4 * kLane;
    if (some.residual != nullptr) some.residual += 4 * kLane;
    some.count = left - 4 * kLane;
  }
}
