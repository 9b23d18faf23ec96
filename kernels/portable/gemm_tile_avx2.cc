#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/gemm_walk.h"

#if BERTH_AVX2_TILES
namespace berth::portable {
namespace {

#define BERTH_TARGET __attribute__((target("avx2,fma")))
using Vector = float __attribute__((vector_size(32)));
#include "kernels/portable/gemm_tile_body.h"

}  // namespace

// 6 x 2 registers of sums, 2 of B and 1 of A are 15 of the 16 that there are.
const TileSet kAvx2Tiles = {
    "avx2",
    kVector,
    6,
    3,
    {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1>, tile<5, 1>, tile<6, 1>},
    {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2>, tile<5, 2>, tile<6, 2>},
    {nullptr, tile<1, 4>, tile<2, 4>, tile<3, 4>},
    pack_rows,
    pack_columns,
    window_sum,
    window_max,
};

}  // namespace berth::portable
#endif
