// The tiles for any processor, in vectors of four floats, which a compiler without such registers takes apart; and the
// choice between the sets.
#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/gemm_walk.h"

namespace berth::portable {
namespace {

#define BERTH_TARGET
using Vector = float __attribute__((vector_size(16)));
#include "kernels/portable/gemm_tile_body.h"

#if BERTH_AVX2_TILES || BERTH_AVX512_TILES
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

}  // namespace

const TileSet kPlainTiles = {
    "plain",
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

int available_tile_sets(const TileSet* (&sets)[3]) {
  int count = 0;
  sets[count++] = &kPlainTiles;
#if BERTH_AVX2_TILES
  if (has_avx2()) sets[count++] = &kAvx2Tiles;
#endif
#if BERTH_AVX512_TILES
  if (has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    sets[count++] = &kAvx512Tiles;
  }
#endif
  return count;
}

const TileSet& best_tile_set() {
  const TileSet* sets[3];
  return *sets[available_tile_sets(sets) - 1];
}

}  // namespace berth::portable
