// Tiles of AVX2: products of 16 bits. Where there are many rows, quantized_tile_words.cc multiplies.
#include "kernels/cpu/quantized_tile.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace quantized_avx2 {

#define BERTH_TARGET __attribute__((target("avx2,fma")))
#include "kernels/cpu/quantized_simd_256.h"
// Behind its registers.
#include "kernels/cpu/quantized_finish_wide.h"

using Sum = Ints;

// Pairs of bytes would be added with saturation (vpmaddubsw): even and odd ones are made numbers of 16 bits first.
struct Columns {
  __m256i even, odd;
};
struct Row {
  __m256i even, odd;
};

BERTH_LOCAL Columns columns_of(Raw both) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(both, 8), 8), _mm256_srai_epi16(both, 8)};
}
BERTH_LOCAL Columns load_columns(const int8_t* from) {
  return columns_of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
BERTH_LOCAL Row row_of(Raw both) {
  return {_mm256_and_si256(both, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(both, 8)};
}
BERTH_LOCAL Sum add_products(Sum sum, const Row& row, const Columns& columns) {
  const __m256i even = _mm256_madd_epi16(row.even, columns.even);
  return _mm256_add_epi32(_mm256_add_epi32(sum, even), _mm256_madd_epi16(row.odd, columns.odd));
}

#include "kernels/cpu/quantized_depthwise_wide.h"
#include "kernels/cpu/quantized_few_wide.h"
#include "kernels/cpu/quantized_lines_wide.h"
#include "kernels/cpu/quantized_tile_body.h"

}  // namespace quantized_avx2
}  // namespace

const QuantizedFunctions kQuantizedAvx2 = {
    "avx2",
    {0, 4, 0, 0, 0},
    {{},
     {nullptr, quantized_avx2::tile<1, 1>, quantized_avx2::tile<2, 1>, quantized_avx2::tile<3, 1>,
      quantized_avx2::tile<4, 1>}},
    quantized_avx2::finish_usual,
    quantized_avx2::depthwise,
    quantized_avx2::depthwise_pixels,
    quantized_avx2::depthwise_lines,
    quantized_avx2::total_of,
    quantized_avx2::few_columns,
    nullptr,
    &kWordsAvx2,
    &kWinogradAvx2,
};

}  // namespace berth::cpu
#endif
