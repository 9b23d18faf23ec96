// Tiles of AVX-512 without VNNI: products of 16 bits.
#include "kernels/cpu/quantized_tile.h"

#if BERTH_QUANTIZED_AVX512
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace quantized_avx512 {

#define BERTH_TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512dq" BERTH_WHOLE_REGISTERS)))
#include "kernels/cpu/quantized_simd_512.h"
// Behind its registers.
#include "kernels/cpu/quantized_finish_wide.h"

using Sum = Ints;

// Pairs of bytes would be added with saturation (vpmaddubsw): even and odd ones are made numbers of 16 bits first.
struct Columns {
  __m512i even, odd;
};
struct Row {
  __m512i even, odd;
};

BERTH_LOCAL Columns columns_of(Raw both) {
  return {_mm512_srai_epi16(_mm512_slli_epi16(both, 8), 8), _mm512_srai_epi16(both, 8)};
}
BERTH_LOCAL Columns load_columns(const int8_t* from) { return columns_of(_mm512_loadu_si512(from)); }
BERTH_LOCAL Row row_of(Raw both) {
  return {_mm512_and_si512(both, _mm512_set1_epi16(0xFF)), _mm512_srli_epi16(both, 8)};
}
BERTH_LOCAL Sum add_products(Sum sum, const Row& row, const Columns& columns) {
  const __m512i even = _mm512_madd_epi16(row.even, columns.even);
  return _mm512_add_epi32(_mm512_add_epi32(sum, even), _mm512_madd_epi16(row.odd, columns.odd));
}

#include "kernels/cpu/quantized_depthwise_wide.h"
#include "kernels/cpu/quantized_few_wide.h"
#include "kernels/cpu/quantized_lines_wide.h"
#include "kernels/cpu/quantized_tile_body.h"

}  // namespace quantized_avx512
}  // namespace

const QuantizedFunctions kQuantizedAvx512 = {
    "avx512",
    {0, 14, 10, 0, 0},
    {{},
     {nullptr, quantized_avx512::tile<1, 1>, quantized_avx512::tile<2, 1>, quantized_avx512::tile<3, 1>,
      quantized_avx512::tile<4, 1>, quantized_avx512::tile<5, 1>, quantized_avx512::tile<6, 1>,
      quantized_avx512::tile<7, 1>, quantized_avx512::tile<8, 1>, quantized_avx512::tile<9, 1>,
      quantized_avx512::tile<10, 1>, quantized_avx512::tile<11, 1>, quantized_avx512::tile<12, 1>,
      quantized_avx512::tile<13, 1>, quantized_avx512::tile<14, 1>},
     {nullptr, quantized_avx512::tile<1, 2>, quantized_avx512::tile<2, 2>, quantized_avx512::tile<3, 2>,
      quantized_avx512::tile<4, 2>, quantized_avx512::tile<5, 2>, quantized_avx512::tile<6, 2>,
      quantized_avx512::tile<7, 2>, quantized_avx512::tile<8, 2>, quantized_avx512::tile<9, 2>,
      quantized_avx512::tile<10, 2>}},
    quantized_avx512::finish_usual,
    quantized_avx512::depthwise,
    quantized_avx512::depthwise_pixels,
    quantized_avx512::depthwise_lines,
    quantized_avx512::total_of,
    quantized_avx512::few_columns,
};

}  // namespace berth::cpu
#endif
