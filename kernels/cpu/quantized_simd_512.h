// Registers of 512 bits: what quantized_finish_body.h and quantized_depthwise_body.h compute with. Included like them.

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
BERTH_LOCAL Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
BERTH_LOCAL Ints to_ints(Floats x) { return _mm512_cvtps_epi32(x); }  // halves to even
BERTH_LOCAL Floats plus(Floats a, Floats b) { return _mm512_add_ps(a, b); }
BERTH_LOCAL Floats times(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
BERTH_LOCAL Floats over(Floats a, Floats b) { return _mm512_div_ps(a, b); }
BERTH_LOCAL Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }   // a > b ? a : b
BERTH_LOCAL Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }  // a < b ? a : b
BERTH_LOCAL Ints plus_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
BERTH_LOCAL Ints minus_ints(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
BERTH_LOCAL Ints times_ints(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }

// As many bytes as a register has numbers.
BERTH_LOCAL Ints load_bytes(const uint8_t* from, bool is_signed) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
BERTH_LOCAL void store_bytes(uint8_t* to, Ints x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(x));
}

BERTH_LOCAL Raw load_raw(const uint8_t* from) { return _mm512_loadu_si512(from); }
BERTH_LOCAL Raw load_raw_some(const uint8_t* from, int64_t count) {
  return _mm512_maskz_loadu_epi8(count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1, from);
}
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
