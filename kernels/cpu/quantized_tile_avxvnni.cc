// Tiles of AVX-VNNI: registers of 256 bits, on processors without AVX-512.
#include "kernels/cpu/quantized_tile.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace quantized_avxvnni {

#define BERTH_TARGET __attribute__((target("avx2,fma,avxvnni")))
#include "kernels/cpu/quantized_simd_256.h"
// Behind its registers.
#include "kernels/cpu/quantized_finish_wide.h"

using Sum = Ints;

using Columns = __m256i;
using Row = __m256i;

BERTH_LOCAL Columns columns_of(Raw numbers) { return numbers; }
BERTH_LOCAL Columns load_columns(const int8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
BERTH_LOCAL Row row_of(Raw bytes) { return bytes; }
BERTH_LOCAL Sum add_products(Sum sum, const Row& row, const Columns& columns) {
  return _mm256_dpbusd_avx_epi32(sum, row, columns);
}

#include "kernels/cpu/quantized_depthwise_wide.h"
#include "kernels/cpu/quantized_few_wide.h"
#include "kernels/cpu/quantized_lines_wide.h"
#include "kernels/cpu/quantized_tile_body.h"

}  // namespace quantized_avxvnni
}  // namespace

const QuantizedFunctions kQuantizedAvxVnni = {
    "avxvnni",
    {0, 6, 0, 0, 0},
    {{},
     {nullptr, quantized_avxvnni::tile<1, 1>, quantized_avxvnni::tile<2, 1>, quantized_avxvnni::tile<3, 1>,
      quantized_avxvnni::tile<4, 1>, quantized_avxvnni::tile<5, 1>, quantized_avxvnni::tile<6, 1>}},
    quantized_avxvnni::finish_usual,
    quantized_avxvnni::depthwise,
    quantized_avxvnni::depthwise_pixels,
    quantized_avxvnni::depthwise_lines,
    quantized_avxvnni::total_of,
    quantized_avxvnni::few_columns,
};

}  // namespace berth::cpu
#endif
