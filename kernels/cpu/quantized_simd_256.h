// Registers of 256 bits: what quantized_finish_wide.h and quantized_depthwise_wide.h compute with. Included like them.

using Floats = __m256;
using Ints = __m256i;
using Raw = __m256i;
constexpr int64_t kLane = 8;  // numbers of 32 bits

#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

BERTH_LOCAL Floats spread(float x) { return _mm256_set1_ps(x); }
BERTH_LOCAL Ints spread_int(int32_t x) { return _mm256_set1_epi32(x); }
BERTH_LOCAL Floats load_floats(const float* from) { return _mm256_loadu_ps(from); }
BERTH_LOCAL Ints load_ints(const int32_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
BERTH_LOCAL void store_floats(float* to, Floats x) { _mm256_storeu_ps(to, x); }
BERTH_LOCAL void store_ints(int32_t* to, Ints x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x); }
BERTH_LOCAL Floats floats_of(Raw x) { return _mm256_castsi256_ps(x); }  // the same bits
BERTH_LOCAL Ints ints_of(Floats x) { return _mm256_castps_si256(x); }
BERTH_LOCAL Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
BERTH_LOCAL Ints to_ints(Floats x) { return _mm256_cvtps_epi32(x); }  // halves to even
BERTH_LOCAL Floats plus(Floats a, Floats b) { return _mm256_add_ps(a, b); }
BERTH_LOCAL Floats times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
BERTH_LOCAL Floats times_plus(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
BERTH_LOCAL Floats over(Floats a, Floats b) { return _mm256_div_ps(a, b); }
BERTH_LOCAL Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }   // a > b ? a : b
BERTH_LOCAL Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }  // a < b ? a : b
BERTH_LOCAL Ints plus_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
BERTH_LOCAL Ints minus_ints(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
BERTH_LOCAL Ints both_ints(Ints a, Ints b) { return _mm256_and_si256(a, b); }
BERTH_LOCAL Ints either_ints(Ints a, Ints b) { return _mm256_or_si256(a, b); }
BERTH_LOCAL Ints ints_left(Ints x, int bits) { return _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits)); }
BERTH_LOCAL Ints ints_right(Ints x, int bits) { return _mm256_srl_epi32(x, _mm_cvtsi32_si128(bits)); }
BERTH_LOCAL Ints times_ints(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }

// As many bytes as a register has numbers.
BERTH_LOCAL Ints load_bytes(const uint8_t* from, bool is_signed) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}
BERTH_LOCAL void store_bytes(uint8_t* to, Ints x) {
  const Ints low = _mm256_and_si256(x, _mm256_set1_epi32(0xFF));
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

// How many of so many bytes are there.
using SomeBytes = int64_t;
BERTH_LOCAL SomeBytes some_bytes(int64_t left) { return left; }
// Those, xor `flip`, as numbers; the others are 0 before that.
BERTH_LOCAL Ints load_some_bytes(const uint8_t* from, SomeBytes there, __m128i flip) {
  uint64_t bytes = 0;
  if (there >= kLane) {
    __builtin_memcpy(&bytes, from, sizeof(bytes));
  } else {
    for (int64_t i = there - 1; i >= 0; --i) bytes = bytes << 8 | from[i];
  }
  return _mm256_cvtepu8_epi32(_mm_xor_si128(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)), flip));
}

BERTH_LOCAL Raw load_raw(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
// Which of a register's bytes are there; the others are read as 0, and not touched. Fours of them have an instruction.
struct SomeRaw {
  Raw fours, rest;  // `rest`: of the four that are there in part
  int64_t count;
};
BERTH_LOCAL SomeRaw some_raw(int64_t count) {
  const Raw place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const Raw four = spread_int(static_cast<int32_t>(count / 4));
  const Raw in_part = spread_int((1 << (count % 4 * 8)) - 1);
  return {_mm256_cmpgt_epi32(four, place), both_ints(_mm256_cmpeq_epi32(four, place), in_part), count};
}
BERTH_LOCAL Raw load_raw_some(const uint8_t* from, const SomeRaw& some) {
  const Raw fours = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), some.fours);
  const int64_t rest = some.count % 4;
  if (rest == 0) return fours;
  uint32_t last = 0;
  for (int64_t i = some.count - 1; i >= some.count - rest; --i) last = last << 8 | from[i];
  return either_ints(fours, both_ints(spread_int(static_cast<int32_t>(last)), some.rest));
}
BERTH_LOCAL Raw flipped(Raw x, Raw flip) { return _mm256_xor_si256(x, flip); }
BERTH_LOCAL Raw low_bytes(Raw a, Raw b) { return _mm256_unpacklo_epi8(a, b); }
BERTH_LOCAL Raw high_bytes(Raw a, Raw b) { return _mm256_unpackhi_epi8(a, b); }
BERTH_LOCAL Raw low_pairs(Raw a, Raw b) { return _mm256_unpacklo_epi16(a, b); }
BERTH_LOCAL Raw high_pairs(Raw a, Raw b) { return _mm256_unpackhi_epi16(a, b); }

// The parts of 128 bits: the lower ones of all registers first, then the higher ones.
BERTH_LOCAL void turn_parts(Ints (&x)[4]) {
  const Ints a = _mm256_permute2x128_si256(x[0], x[1], 0x20), b = _mm256_permute2x128_si256(x[2], x[3], 0x20);
  const Ints c = _mm256_permute2x128_si256(x[0], x[1], 0x31), d = _mm256_permute2x128_si256(x[2], x[3], 0x31);
  x[0] = a;
  x[1] = b;
  x[2] = c;
  x[3] = d;
}

// From numbers of 32 bits to bytes, with saturation, in parts of 128 bits: the four bytes of part p and register r lie
// at 4 * p + r, until in_order().
BERTH_LOCAL Raw spread_word(int16_t x) { return _mm256_set1_epi16(x); }
BERTH_LOCAL Raw spread_byte(int8_t x) { return _mm256_set1_epi8(x); }
BERTH_LOCAL Raw packed_words(Ints a, Ints b) { return _mm256_packs_epi32(a, b); }
BERTH_LOCAL Raw plus_words(Raw a, Raw b) { return _mm256_adds_epi16(a, b); }
BERTH_LOCAL Raw packed_signed(Raw a, Raw b) { return _mm256_packs_epi16(a, b); }
BERTH_LOCAL Raw packed_unsigned(Raw a, Raw b) { return _mm256_packus_epi16(a, b); }
BERTH_LOCAL Raw within_signed(Raw x, Raw low, Raw high) { return _mm256_min_epi8(_mm256_max_epi8(x, low), high); }
BERTH_LOCAL Raw within_unsigned(Raw x, Raw low, Raw high) { return _mm256_min_epu8(_mm256_max_epu8(x, low), high); }
BERTH_LOCAL Raw in_order(Raw x) { return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }

// Part kPart of kParts, at the beginning of a register.
template <int kPart, int kParts>
BERTH_LOCAL Raw part_of(Raw x) {
  constexpr int kHalf = kPart * 2 / kParts;
  const __m128i half = kHalf == 0 ? _mm256_castsi256_si128(x) : _mm256_extracti128_si256(x, 1);
  return _mm256_castsi128_si256(kParts == 4 && kPart % 2 == 1 ? _mm_srli_si128(half, 8) : half);
}
// The first `left` of kLane * kVectors bytes.
template <int kVectors>
BERTH_LOCAL void put_raw(uint8_t* to, int64_t left, Raw bytes) {
  __m128i half = _mm256_castsi256_si128(bytes);
  if (left >= kVectors * kLane) {
    if (kVectors == 4) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    if (kVectors == 2) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), half);
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), half);
  }
  if (kVectors == 4 && left >= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), half);
    half = _mm256_extracti128_si256(bytes, 1);
    to += 16;
    left -= 16;
  }
  if (kVectors >= 2 && left >= 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), half);
    half = _mm_srli_si128(half, 8);
    to += 8;
    left -= 8;
  }
  uint64_t last = static_cast<uint64_t>(_mm_cvtsi128_si64(half));
  if (left >= 4) {
    __builtin_memcpy(to, &last, 4);
    last >>= 32;
    to += 4;
    left -= 4;
  }
  for (; left > 0; --left, last >>= 8) *to++ = static_cast<uint8_t>(last);
}

// Columns of an image side by side in a register, at most so many.
constexpr int kMostColumns = 2;
// The first of kColumns parts, in all of them.
template <int kColumns>
BERTH_LOCAL Raw repeated(Raw x) {
  return kColumns == 1 ? x : _mm256_permute2x128_si256(x, x, 0);
}
// kColumns parts, `step` bytes apart.
template <int kColumns, bool kWhole>
BERTH_LOCAL Raw load_columns_of(const uint8_t* from, int64_t step, const SomeRaw& some) {
  if (kColumns == 1) return kWhole ? load_raw(from) : load_raw_some(from, some);
  if (kWhole)
    return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(from + step), reinterpret_cast<const __m128i*>(from));
  return _mm256_permute2x128_si256(load_raw_some(from, some), load_raw_some(from + step, some), 0x20);
}
// Of parts of kColumns columns, those `kRight` columns to the right, of which the last are in `next`.
template <int kColumns, int kRight>
BERTH_LOCAL Raw moved_on(Raw x, Raw next) {
  return kRight == kColumns ? next : _mm256_permute2x128_si256(x, next, 0x21);
}

BERTH_LOCAL int32_t total_of_ints(Ints x) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
}
