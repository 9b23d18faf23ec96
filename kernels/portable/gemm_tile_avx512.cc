#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/gemm_walk.h"

#if BERTH_AVX512_TILES
namespace berth::portable {
namespace {

#define BERTH_TARGET __attribute__((target("avx2,fma,avx512f,avx512vl")))
using Vector = float __attribute__((vector_size(64)));
#include "kernels/portable/gemm_tile_body.h"

}  // namespace

// 14 x 2 registers of sums, 2 of B and 1 of A are 31 of the 32 that there are.
const TileSet kAvx512Tiles = {
    "avx512",
    kVector,
    14,
    6,
    {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>, tile<7, 1>, tile<8, 1>,
     tile<9, 1>, tile<10, 1>, tile<11, 1>, tile<12, 1>, tile<13, 1>, tile<14, 1>},
    {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>, tile<7, 2>, tile<8, 2>,
     tile<9, 2>, tile<10, 2>, tile<11, 2>, tile<12, 2>, tile<13, 2>, tile<14, 2>},
    {nullptr, tile<1, 4>, tile<2, 4>, tile<3, 4>, tile<4, 4>, tile<5, 4>, tile<6, 4>},
    pack_rows,
    pack_columns,
    window_sum,
    window_max,
};

}  // namespace berth::portable
#endif
