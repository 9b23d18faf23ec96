// The usual end of a quantised product in registers of 512 bits: four registers of sums become one of bytes. Included
// once by each quantized_tile_*.cc of such registers, in place of quantized_finish_body.h. No include guard.
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
    for (int i = 0; i < 4; ++i) t[i] = _mm512_fmadd_ps(t[i], divider.inverse, times(t[i], divider.rest));
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
  __m512i zero16, low8, high8, order;
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
  wide.zero16 = _mm512_set1_epi16(static_cast<int16_t>(p.rounding.zero_point));
  wide.low8 = _mm512_set1_epi8(static_cast<int8_t>(p.rounding.low));
  wide.high8 = _mm512_set1_epi8(static_cast<int8_t>(p.rounding.high));
  // Packing works in parts of 128 bits: the four bytes of part p and register r lie at 4 * p + r.
  wide.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  wide.has_bias = f.bias != nullptr;
  wide.has_middle = p.has_middle;
  wide.is_signed = p.out->dtype() == DType::kI8;
  wide.more =
      wide.has_bias || p.has_middle || wide.bounds.is_low || wide.divider.rounder.scaled || p.residual != nullptr;
  return wide;
}

// Signed bytes are moved by 128, and their zero point with them.
BERTH_LOCAL Floats wide_residual(const WideFinish& wide, const uint8_t* from, __mmask16 there) {
  const Ints x = _mm512_cvtepu8_epi32(_mm_xor_si128(_mm_maskz_loadu_epi8(there, from), wide.residual_flip));
  return times(to_floats(minus_ints(x, wide.residual_zero)), wide.residual.scale);
}

// What happens to four registers of scaled sums before they are rounded.
template <bool kResidual>
BERTH_LOCAL void wide_more(const WideFinish& wide, const Floats (&bias)[4], const uint8_t* const (&residual)[4],
                           const __mmask16 (&there)[4], Floats (&t)[4]) {
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
  divide(wide.divider, t);
}

// Whole numbers without their zero point, no larger than the largest.
BERTH_LOCAL Ints wide_round(const WideFinish& wide, Floats t) { return to_ints(smaller(wide.divider.rounder.high, t)); }

// Four registers of them as bytes, in the order in which packing leaves them: part by part.
BERTH_LOCAL __m512i wide_bytes(const WideFinish& wide, const Ints (&x)[4]) {
  const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), wide.zero16);
  const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), wide.zero16);
  if (wide.is_signed) return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), wide.low8), wide.high8);
  return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), wide.low8), wide.high8);
}

// The first `left` of 16 * kVectors bytes.
template <int kVectors>
BERTH_LOCAL void put_wide(uint8_t* to, int64_t left, __m512i bytes) {
  if (left >= kVectors * kLane) {
    if (kVectors == 4) return _mm512_storeu_si512(to, bytes);
    if (kVectors == 2) {
      return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    }
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(bytes));
  }
  _mm512_mask_storeu_epi8(to, (uint64_t{1} << left) - 1, bytes);
}

// kVectors registers of each of 4 / kVectors rows at a time, of at most 16 * kVectors columns in all.
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
  __mmask16 there[4];
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    const int v = part % kVectors;
    bias[part] = wide.has_bias ? load_floats(f.bias + rows.column + v * kLane) : spread(0);
    const int64_t left = rows.count - v * kLane;
    there[part] = static_cast<__mmask16>(left >= kLane ? 0xFFFF : left > 0 ? (1 << left) - 1 : 0);
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
    const __m512i bytes = _mm512_permutexvar_epi32(wide.order, wide_bytes(wide, x));
    put_wide<kVectors>(out + row[0] * out_row, count, bytes);
    if (kRows == 2)
      put_wide<kVectors>(out + row[1] * out_row, count, _mm512_castsi256_si512(_mm512_extracti64x4_epi64(bytes, 1)));
    if (kRows == 4) {
      put_wide<kVectors>(out + row[1] * out_row, count, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 1)));
      put_wide<kVectors>(out + row[2] * out_row, count, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 2)));
      put_wide<kVectors>(out + row[3] * out_row, count, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 3)));
    }
  }
}

BERTH_TARGET void finish_512(const QuantizedFinish& f, const QuantizedRows& rows) {
  const portable::QuantizedProduct& p = *f.product;
  const bool usual = is_usual(f) && rows.out_step == 1 &&
                     (p.residual == nullptr || (p.residual->dtype() != DType::kF32 && rows.residual_step == 1));
  if (!usual) return finish(f, rows);
  const bool residual = p.residual != nullptr;
  if (rows.count > 2 * kLane) return residual ? finish_wide<4, true>(f, rows) : finish_wide<4, false>(f, rows);
  if (rows.count > kLane) return residual ? finish_wide<2, true>(f, rows) : finish_wide<2, false>(f, rows);
  return residual ? finish_wide<1, true>(f, rows) : finish_wide<1, false>(f, rows);
}
