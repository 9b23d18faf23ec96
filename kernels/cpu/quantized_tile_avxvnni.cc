// Tiles of AVX-VNNI: registers of 256 bits, on processors without AVX-512.
#include "kernels/cpu/quantized_tile.h"

#ifdef BERTH_QUANTIZED_X86
#include <immintrin.h>

namespace berth::cpu {
namespace {
namespace quantized_avxvnni {

#define BERTH_TARGET __attribute__((target("avx2,avxvnni")))
#include "kernels/cpu/quantized_finish_body.h"

using Sum = __m256i;

BERTH_LOCAL void store_sum(int32_t* to, Sum sum) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum); }

using Columns = __m256i;
using Row = __m256i;

BERTH_LOCAL Columns load_columns(const int8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
BERTH_LOCAL Row flip_of(uint32_t flip) { return _mm256_set1_epi32(static_cast<int32_t>(flip)); }
BERTH_LOCAL Row spread_row(const uint8_t* from, const Row& flip) {
  int32_t quad;
  __builtin_memcpy(&quad, from, sizeof(quad));
  return _mm256_xor_si256(_mm256_set1_epi32(quad), flip);
}
BERTH_LOCAL Sum add_products(Sum sum, const Row& row, const Columns& columns) {
  return _mm256_dpbusd_avx_epi32(sum, row, columns);
}

#include "kernels/cpu/quantized_tile_body.h"

}  // namespace quantized_avxvnni
}  // namespace

const QuantizedFunctions kQuantizedAvxVnni = {
    "avxvnni",
    {0, 6, 0, 0, 0},
    {{},
     {nullptr, quantized_avxvnni::tile<1, 1>, quantized_avxvnni::tile<2, 1>, quantized_avxvnni::tile<3, 1>,
      quantized_avxvnni::tile<4, 1>, quantized_avxvnni::tile<5, 1>, quantized_avxvnni::tile<6, 1>}},
    quantized_avxvnni::finish_row,
    quantized_avxvnni::total_of,
};

}  // namespace berth::cpu
#endif
