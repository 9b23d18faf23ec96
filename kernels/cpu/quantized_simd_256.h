// Registers of 256 bits: what quantized_finish_body.h and quantized_depthwise_body.h compute with. Included like them.

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
BERTH_LOCAL Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
BERTH_LOCAL Ints to_ints(Floats x) { return _mm256_cvtps_epi32(x); }  // halves to even
BERTH_LOCAL Floats plus(Floats a, Floats b) { return _mm256_add_ps(a, b); }
BERTH_LOCAL Floats times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
BERTH_LOCAL Floats over(Floats a, Floats b) { return _mm256_div_ps(a, b); }
BERTH_LOCAL Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }   // a > b ? a : b
BERTH_LOCAL Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }  // a < b ? a : b
BERTH_LOCAL Ints plus_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
BERTH_LOCAL Ints minus_ints(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
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

BERTH_LOCAL Raw load_raw(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
BERTH_LOCAL Raw load_raw_some(const uint8_t* from, int64_t count) {
  if (count >= 32) return load_raw(from);
  uint8_t some[32] = {};
  if (count > 0) __builtin_memcpy(some, from, count);
  return load_raw(some);
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
