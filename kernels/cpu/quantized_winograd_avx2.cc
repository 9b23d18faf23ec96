// Winograd's matrices for whole numbers with AVX2.
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace winograd_avx2 {

#define BERTH_TARGET __attribute__((target("avx2")))
#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

constexpr int kRegister = 32;

BERTH_LOCAL __m128i load_bytes(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
BERTH_LOCAL __m128i flipped(__m128i bytes, uint32_t flip) {
  return _mm_xor_si128(bytes, _mm_set1_epi32(static_cast<int32_t>(flip)));
}
BERTH_LOCAL __m256i unsigned_numbers(__m128i bytes) { return _mm256_cvtepu8_epi16(bytes); }

template <typename Numbers>
BERTH_LOCAL void panel_numbers(const int8_t* from, Numbers (&to)[4]) {
  // The halves of four columns beside each other.
  const __m256i halves =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (int part = 0; part < 2; ++part) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + part);
    const __m256i sorted = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bytes, halves), 0xD8);
    to[part] = reinterpret_cast<Numbers>(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(sorted)));
    to[2 + part] = reinterpret_cast<Numbers>(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(sorted, 1)));
  }
}

#include "kernels/cpu/quantized_winograd_words.h"

constexpr QuantizedWinogradWords kTwo = words_of<TilesOfTwo>(36);
constexpr QuantizedWinogradWords kFour = words_of<TilesOfFour>(24);

}  // namespace winograd_avx2
}  // namespace

const QuantizedWinogradFunctions kWinogradAvx2 = {
    &kWordTilesAvx2, {&winograd_avx2::kFour, &winograd_avx2::kTwo}, 16, 64};

}  // namespace berth::cpu
#endif
