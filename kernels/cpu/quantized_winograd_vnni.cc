// Winograd's matrices for whole numbers with AVX-512. Of bytes an instruction multiplies twice as many as of numbers of
// 16 bits there, so that tiles of 2x2 gain nothing.
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX512
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace winograd_vnni {

#define BERTH_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq" BERTH_WHOLE_REGISTERS)))
#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

constexpr int kRegister = 64;

BERTH_LOCAL __m256i load_bytes(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
BERTH_LOCAL __m256i flipped(__m256i bytes, uint32_t flip) {
  return _mm256_xor_si256(bytes, _mm256_set1_epi32(static_cast<int32_t>(flip)));
}
BERTH_LOCAL __m512i unsigned_numbers(__m256i bytes) { return _mm512_cvtepu8_epi16(bytes); }

template <typename Numbers>
BERTH_LOCAL void panel_numbers(const int8_t* from, Numbers (&to)[2]) {
  // The halves of four columns beside each other, then those of all.
  const __m512i halves = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const __m512i first = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const __m512i sorted = _mm512_permutexvar_epi64(first, _mm512_shuffle_epi8(_mm512_loadu_si512(from), halves));
  to[0] = reinterpret_cast<Numbers>(_mm512_cvtepi8_epi16(_mm512_castsi512_si256(sorted)));
  to[1] = reinterpret_cast<Numbers>(_mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(sorted, 1)));
}

#include "kernels/cpu/quantized_winograd_words.h"

constexpr QuantizedWinogradWords kFour = words_of<TilesOfFour>(28);

}  // namespace winograd_vnni
}  // namespace

const QuantizedWinogradFunctions kWinogradVnni = {&kWordTilesVnni, {&winograd_vnni::kFour, nullptr}, 32, 34};

}  // namespace berth::cpu
#endif
