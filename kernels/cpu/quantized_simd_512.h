// Registers of 512 bits: what quantized_finish_wide.h and quantized_depthwise_wide.h compute with. Included like them.

using Floats = __m512;
using Ints = __m512i;
using Raw = __m512i;
constexpr int64_t kLane = 16;  // numbers of 32 bits

#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

BERTH_LOCAL Floats spread(float x) { return _mm512_set1_ps(x); }
BERTH_LOCAL Ints spread_int(int32_t x) { return _mm512_set1_epi32(x); }
BERTH_LOCAL Floats load_floats(const float* from) { return _mm512_loadu_ps(from); }
BERTH_LOCAL Ints load_ints(const int32_t* from) { return _mm512_loadu_si512(from); }
BERTH_LOCAL void store_floats(float* to, Floats x) { _mm512_storeu_ps(to, x); }
BERTH_LOCAL void store_ints(int32_t* to, Ints x) { _mm512_storeu_si512(to, x); }
BERTH_LOCAL Floats floats_of(Raw x) { return _mm512_castsi512_ps(x); }  // the same bits
BERTH_LOCAL Ints ints_of(Floats x) { return _mm512_castps_si512(x); }
BERTH_LOCAL Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
BERTH_LOCAL Ints to_ints(Floats x) { return _mm512_cvtps_epi32(x); }  // halves to even
BERTH_LOCAL Floats plus(Floats a, Floats b) { return _mm512_add_ps(a, b); }
BERTH_LOCAL Floats times(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
BERTH_LOCAL Floats times_plus(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
BERTH_LOCAL Floats over(Floats a, Floats b) { return _mm512_div_ps(a, b); }
BERTH_LOCAL Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }   // a > b ? a : b
BERTH_LOCAL Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }  // a < b ? a : b
BERTH_LOCAL Ints plus_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
BERTH_LOCAL Ints minus_ints(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
BERTH_LOCAL Ints both_ints(Ints a, Ints b) { return _mm512_and_si512(a, b); }
BERTH_LOCAL Ints either_ints(Ints a, Ints b) { return _mm512_or_si512(a, b); }
BERTH_LOCAL Ints ints_left(Ints x, int bits) { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
BERTH_LOCAL Ints ints_right(Ints x, int bits) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits)); }
BERTH_LOCAL Ints times_ints(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }

// As many bytes as a register has numbers.
BERTH_LOCAL Ints load_bytes(const uint8_t* from, bool is_signed) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
BERTH_LOCAL void store_bytes(uint8_t* to, Ints x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}

// Which of so many bytes are there.
using SomeBytes = __mmask16;
BERTH_LOCAL SomeBytes some_bytes(int64_t left) {
  return static_cast<SomeBytes>(left >= kLane ? 0xFFFF : left > 0 ? (1 << left) - 1 : 0);
}
// Those, xor `flip`, as numbers; the others are 0 before that.
BERTH_LOCAL Ints load_some_bytes(const uint8_t* from, SomeBytes there, __m128i flip) {
  return _mm512_cvtepu8_epi32(_mm_xor_si128(_mm_maskz_loadu_epi8(there, from), flip));
}

BERTH_LOCAL Raw load_raw(const uint8_t* from) { return _mm512_loadu_si512(from); }
// Which of a register's bytes are there; the others are read as 0, and not touched.
using SomeRaw = __mmask64;
BERTH_LOCAL SomeRaw some_raw(int64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }
BERTH_LOCAL Raw load_raw_some(const uint8_t* from, SomeRaw some) { return _mm512_maskz_loadu_epi8(some, from); }
BERTH_LOCAL Raw flipped(Raw x, Raw flip) { return _mm512_xor_si512(x, flip); }
BERTH_LOCAL Raw low_bytes(Raw a, Raw b) { return _mm512_unpacklo_epi8(a, b); }
BERTH_LOCAL Raw high_bytes(Raw a, Raw b) { return _mm512_unpackhi_epi8(a, b); }
BERTH_LOCAL Raw low_pairs(Raw a, Raw b) { return _mm512_unpacklo_epi16(a, b); }
BERTH_LOCAL Raw high_pairs(Raw a, Raw b) { return _mm512_unpackhi_epi16(a, b); }

// Part k of register j, of 128 bits, goes to part j of register k.
BERTH_LOCAL void turn_parts(Ints (&x)[4]) {
  const Ints a = _mm512_shuffle_i32x4(x[0], x[1], 0x44), b = _mm512_shuffle_i32x4(x[2], x[3], 0x44);
  const Ints c = _mm512_shuffle_i32x4(x[0], x[1], 0xEE), d = _mm512_shuffle_i32x4(x[2], x[3], 0xEE);
  x[0] = _mm512_shuffle_i32x4(a, b, 0x88);
  x[1] = _mm512_shuffle_i32x4(a, b, 0xDD);
  x[2] = _mm512_shuffle_i32x4(c, d, 0x88);
  x[3] = _mm512_shuffle_i32x4(c, d, 0xDD);
}

// From numbers of 32 bits to bytes, with saturation, in parts of 128 bits: the four bytes of part p and register r lie
// at 4 * p + r, until in_order().
BERTH_LOCAL Raw spread_word(int16_t x) { return _mm512_set1_epi16(x); }
BERTH_LOCAL Raw spread_byte(int8_t x) { return _mm512_set1_epi8(x); }
BERTH_LOCAL Raw packed_words(Ints a, Ints b) { return _mm512_packs_epi32(a, b); }
BERTH_LOCAL Raw plus_words(Raw a, Raw b) { return _mm512_adds_epi16(a, b); }
BERTH_LOCAL Raw packed_signed(Raw a, Raw b) { return _mm512_packs_epi16(a, b); }
BERTH_LOCAL Raw packed_unsigned(Raw a, Raw b) { return _mm512_packus_epi16(a, b); }
BERTH_LOCAL Raw within_signed(Raw x, Raw low, Raw high) { return _mm512_min_epi8(_mm512_max_epi8(x, low), high); }
BERTH_LOCAL Raw within_unsigned(Raw x, Raw low, Raw high) { return _mm512_min_epu8(_mm512_max_epu8(x, low), high); }
BERTH_LOCAL Raw in_order(Raw x) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
}

// Part kPart of kParts, at the beginning of a register.
template <int kPart, int kParts>
BERTH_LOCAL Raw part_of(Raw x) {
  if (kPart == 0) return x;
  return kParts == 2 ? _mm512_castsi256_si512(_mm512_extracti64x4_epi64(x, kPart % 2))
                     : _mm512_castsi128_si512(_mm512_extracti32x4_epi32(x, kPart));
}
// The first `left` of kLane * kVectors bytes.
template <int kVectors>
BERTH_LOCAL void put_raw(uint8_t* to, int64_t left, Raw bytes) {
  if (left >= kVectors * kLane) {
    if (kVectors == 4) return _mm512_storeu_si512(to, bytes);
    if (kVectors == 2) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(bytes));
  }
  _mm512_mask_storeu_epi8(to, (uint64_t{1} << left) - 1, bytes);
}

// Columns of an image side by side in a register, at most so many.
constexpr int kMostColumns = 4;
// The first of kColumns parts, in all of them.
template <int kColumns>
BERTH_LOCAL Raw repeated(Raw x) {
  if (kColumns == 1) return x;
  return kColumns == 2 ? _mm512_shuffle_i32x4(x, x, 0x44) : _mm512_shuffle_i32x4(x, x, 0);
}
// kColumns parts, `step` bytes apart.
template <int kColumns, bool kWhole>
BERTH_LOCAL Raw load_columns_of(const uint8_t* from, int64_t step, SomeRaw some) {
  if (kColumns == 1) return kWhole ? load_raw(from) : load_raw_some(from, some);
  if (kColumns == 2) {
    const auto half = [some](const uint8_t* at) BERTH_TARGET {
      return kWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))
                    : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(some), at);
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(from)), half(from + step), 1);
  }
  const auto quarter = [some](const uint8_t* at) BERTH_TARGET {
    return kWhole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))
                  : _mm_maskz_loadu_epi8(static_cast<__mmask16>(some), at);
  };
  Raw all = _mm512_castsi128_si512(quarter(from));
  all = _mm512_inserti32x4(all, quarter(from + step), 1);
  all = _mm512_inserti32x4(all, quarter(from + 2 * step), 2);
  return _mm512_inserti32x4(all, quarter(from + 3 * step), 3);
}
// Of parts of kColumns columns, those `kRight` columns to the right, of which the last are in `next`.
template <int kColumns, int kRight>
BERTH_LOCAL Raw moved_on(Raw x, Raw next) {
  return kRight == kColumns ? next : _mm512_alignr_epi32(next, x, kRight * kLane / kColumns % kLane);
}

BERTH_LOCAL int32_t total_of_ints(Ints x) { return _mm512_reduce_add_epi32(x); }
