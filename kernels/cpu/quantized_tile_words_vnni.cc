// Tiles of numbers of 16 bits with AVX-512 VNNI: one instruction for 32 products.
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX512
#include <immintrin.h>

namespace berth::cpu {
namespace {

#define BERTH_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni" BERTH_WHOLE_REGISTERS)))

constexpr int64_t kRowNumbers = kWordQuads * kQuad;
constexpr int64_t kHalf = 2 * kPanelColumns;  // numbers of a panel for half a quad

template <int kRows>
BERTH_TARGET void tile(const int16_t* rows, const int16_t* panel, int64_t quads, bool first, int32_t* sums,
                       int64_t sums_row) {
  __m512i sum[kRows] = {};
  for (const int16_t* const end = panel + quads * 2 * kHalf; panel != end; rows += kQuad / 2, panel += kHalf) {
    const __m512i columns = _mm512_load_si512(panel);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      int32_t two;
      __builtin_memcpy(&two, rows + i * kRowNumbers, sizeof(two));
      sum[i] = _mm512_dpwssd_epi32(sum[i], columns, _mm512_set1_epi32(two));
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, sums += sums_row) {
    _mm512_store_si512(sums, first ? sum[i] : _mm512_add_epi32(_mm512_load_si512(sums), sum[i]));
  }
}

}  // namespace

const QuantizedWordTiles kWordTilesVnni = {12,
                                           {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>, tile<7>,
                                            tile<8>, tile<9>, tile<10>, tile<11>, tile<12>}};

}  // namespace berth::cpu
#endif
