// Tiles of AVX-512 VNNI, and what goes with AMX.
#include "kernels/cpu/quantized_tile.h"

#if BERTH_QUANTIZED_AVX512
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace quantized_vnni {

#define BERTH_TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni" BERTH_WHOLE_REGISTERS)))
#include "kernels/cpu/quantized_simd_512.h"
// Behind its registers.
#include "kernels/cpu/quantized_finish_wide.h"

using Sum = Ints;

using Columns = __m512i;
using Row = __m512i;

BERTH_LOCAL Columns columns_of(Raw numbers) { return numbers; }
BERTH_LOCAL Columns load_columns(const int8_t* from) { return _mm512_loadu_si512(from); }
BERTH_LOCAL Row row_of(Raw bytes) { return bytes; }
BERTH_LOCAL Sum add_products(Sum sum, const Row& row, const Columns& columns) {
  return _mm512_dpbusd_epi32(sum, row, columns);
}

#include "kernels/cpu/quantized_depthwise_wide.h"
#include "kernels/cpu/quantized_few_wide.h"
#include "kernels/cpu/quantized_lines_wide.h"
#include "kernels/cpu/quantized_tile_body.h"

}  // namespace quantized_vnni

constexpr QuantizedFunctions functions(const char* name, const QuantizedMatrix* matrix,
                                       const QuantizedWinogradFunctions* winograd) {
  return {
      name,
      {0, 14, 14, 0, 6},
      {{},
       {nullptr, quantized_vnni::tile<1, 1>, quantized_vnni::tile<2, 1>, quantized_vnni::tile<3, 1>,
        quantized_vnni::tile<4, 1>, quantized_vnni::tile<5, 1>, quantized_vnni::tile<6, 1>, quantized_vnni::tile<7, 1>,
        quantized_vnni::tile<8, 1>, quantized_vnni::tile<9, 1>, quantized_vnni::tile<10, 1>,
        quantized_vnni::tile<11, 1>, quantized_vnni::tile<12, 1>, quantized_vnni::tile<13, 1>,
        quantized_vnni::tile<14, 1>},
       {nullptr, quantized_vnni::tile<1, 2>, quantized_vnni::tile<2, 2>, quantized_vnni::tile<3, 2>,
        quantized_vnni::tile<4, 2>, quantized_vnni::tile<5, 2>, quantized_vnni::tile<6, 2>, quantized_vnni::tile<7, 2>,
        quantized_vnni::tile<8, 2>, quantized_vnni::tile<9, 2>, quantized_vnni::tile<10, 2>,
        quantized_vnni::tile<11, 2>, quantized_vnni::tile<12, 2>, quantized_vnni::tile<13, 2>,
        quantized_vnni::tile<14, 2>},
       {},
       {nullptr, quantized_vnni::tile<1, 4>, quantized_vnni::tile<2, 4>, quantized_vnni::tile<3, 4>,
        quantized_vnni::tile<4, 4>, quantized_vnni::tile<5, 4>, quantized_vnni::tile<6, 4>}},
      quantized_vnni::finish_usual,
      quantized_vnni::depthwise,
      quantized_vnni::depthwise_pixels,
      quantized_vnni::depthwise_lines,
      quantized_vnni::total_of,
      quantized_vnni::few_columns,
      matrix,
      nullptr,
      winograd,
  };
}

}  // namespace

const QuantizedFunctions kQuantizedVnni = functions("avx512vnni", nullptr, &kWinogradVnni);
const QuantizedFunctions kQuantizedAmx = functions("amx", &kMatrixAmx, nullptr);

}  // namespace berth::cpu
#endif
