// Registers of AMX: eight tiles of 16 rows of 64 bytes. 0 to 3 have sums, 4 and 5 rows of the input, 6 and 7 panels.
#include "kernels/cpu/quantized_matrix.h"

#ifdef __x86_64__
#include <cstring>

#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/x86_intrinsics.h"

namespace berth::cpu {
namespace {

#define BERTH_AMX [[gnu::target("amx-tile,amx-int8")]]
#define BERTH_AMX_INLINE BERTH_AMX [[gnu::always_inline]] inline

// What LDTILECFG reads.
struct alignas(64) Configuration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(Configuration) == 64);

// Quads of a run that an instruction sees. Where they do not divide it, the last ones are seen together with some
// before them, whose weights are replaced by zeros.
int64_t quads_at_once(int64_t quads) {
  if (quads <= kMatrixQuads) return quads;
  for (int64_t at_once = kMatrixQuads; at_once > kMatrixQuads / 2; --at_once) {
    if (quads % at_once == 0) return at_once;
  }
  return kMatrixQuads;
}

BERTH_AMX void configure(int64_t height, int64_t quads) {
  const auto rows = static_cast<uint8_t>(height);
  const auto at_once = static_cast<uint8_t>(quads_at_once(quads));
  Configuration c;
  for (int tile = 0; tile < 8; ++tile) {
    const bool input = tile == 4 || tile == 5;
    c.row_bytes[tile] = static_cast<uint16_t>(input ? at_once * kQuad : kQuadBytes);
    c.rows[tile] = tile >= 6 ? at_once : rows;
  }
  // The intrinsic of g++ 12 says that it reads eight bytes.
  asm volatile("ldtilecfg %0" : : "m"(c));
}

BERTH_AMX void release() { _tile_release(); }

// A product is added to sums: of numbers of the input with or without sign.
#define BERTH_AMX_ADD(sums, rows, columns) \
  do { \
    if (kSigned) { \
      _tile_dpbssd(sums, rows, columns); \
    } else { \
      _tile_dpbusd(sums, rows, columns); \
    } \
  } while (false)

// One step of the depth: `a` has a pointer for each tile of rows, `b` one for each panel.
template <int kTiles, int kPanels, bool kSigned>
BERTH_AMX_INLINE void add_step(const uint8_t* const* a, int64_t a_step, const int8_t* const* b) {
  _tile_loadd(6, b[0], kQuadBytes);
  _tile_loadd(4, a[0], a_step);
  BERTH_AMX_ADD(0, 4, 6);
  if constexpr (kPanels == 2) {
    _tile_loadd(7, b[1], kQuadBytes);
    BERTH_AMX_ADD(1, 4, 7);
  }
  if constexpr (kTiles > 1) {
    _tile_loadd(5, a[1], a_step);
    if constexpr (kPanels == 2) {
      BERTH_AMX_ADD(2, 5, 6);
      BERTH_AMX_ADD(3, 5, 7);
    } else {
      BERTH_AMX_ADD(1, 5, 6);
    }
  }
  if constexpr (kTiles > 2) {
    _tile_loadd(4, a[2], a_step);
    BERTH_AMX_ADD(2, 4, 6);
  }
  if constexpr (kTiles > 3) {
    _tile_loadd(5, a[3], a_step);
    BERTH_AMX_ADD(3, 5, 6);
  }
}

template <int kTiles, int kPanels>
BERTH_AMX_INLINE void store_sums(const QuantizedBlock& block) {
  const int64_t row = block.sums_row * static_cast<int64_t>(sizeof(int32_t));
  _tile_stored(0, block.sums[0], row);
  if constexpr (kPanels == 2) {
    _tile_stored(1, block.sums[0] + kPanelColumns, row);
    if constexpr (kTiles > 1) {
      _tile_stored(2, block.sums[1], row);
      _tile_stored(3, block.sums[1] + kPanelColumns, row);
    }
  } else {
    if constexpr (kTiles > 1) _tile_stored(1, block.sums[1], row);
    if constexpr (kTiles > 2) _tile_stored(2, block.sums[2], row);
    if constexpr (kTiles > 3) _tile_stored(3, block.sums[3], row);
  }
}

// The last `left` quads of a run, with weights of 0 for those before them. What is in `edge` is read by instructions
// that the compiler knows nothing of.
template <int kPanels>
void fill_edge(const int8_t* const* b, int64_t left, int8_t (&edge)[kPanels][kMatrixQuads * kQuadBytes]) {
  for (int panel = 0; panel < kPanels; ++panel) {
    std::memset(edge[panel], 0, (kMatrixQuads - left) * kQuadBytes);
    std::memcpy(edge[panel] + (kMatrixQuads - left) * kQuadBytes, b[panel], left * kQuadBytes);
  }
  asm volatile("" ::: "memory");
}

template <int kTiles, int kPanels, bool kSigned>
BERTH_AMX void multiply_tiles(const QuantizedBlock& block) {
  _tile_zero(0);
  if constexpr (kTiles * kPanels > 1) _tile_zero(1);
  if constexpr (kTiles * kPanels > 2) _tile_zero(2);
  if constexpr (kTiles * kPanels > 3) _tile_zero(3);
  const int64_t at_once = quads_at_once(block.quads), steps = block.quads / at_once;
  const int64_t left = block.quads - steps * at_once;
  const int64_t a_step = block.a_step, runs = block.runs;
  const int8_t* b[kPanels];
  for (int panel = 0; panel < kPanels; ++panel) b[panel] = block.b + panel * block.panel_step;
  for (int64_t run = 0; run < runs; ++run) {
    const uint8_t* a[kTiles];
    for (int tile = 0; tile < kTiles; ++tile) a[tile] = block.a[tile * runs + run];
    for (int64_t step = 0; step < steps; ++step) {
      add_step<kTiles, kPanels, kSigned>(a, a_step, b);
      for (int tile = 0; tile < kTiles; ++tile) a[tile] += at_once * kQuad;
      for (int panel = 0; panel < kPanels; ++panel) b[panel] += at_once * kQuadBytes;
    }
    if (left == 0) continue;
    alignas(64) int8_t edge[kPanels][kMatrixQuads * kQuadBytes];
    fill_edge<kPanels>(b, left, edge);
    const int8_t* edges[kPanels];
    for (int panel = 0; panel < kPanels; ++panel) edges[panel] = edge[panel];
    for (int tile = 0; tile < kTiles; ++tile) a[tile] -= (kMatrixQuads - left) * kQuad;
    add_step<kTiles, kPanels, kSigned>(a, a_step, edges);
    for (int panel = 0; panel < kPanels; ++panel) b[panel] += left * kQuadBytes;
  }
  store_sums<kTiles, kPanels>(block);
}

template <bool kSigned>
void multiply_some(const QuantizedBlock& block) {
  if (block.panels == 2) {
    return block.tiles == 1 ? multiply_tiles<1, 2, kSigned>(block) : multiply_tiles<2, 2, kSigned>(block);
  }
  switch (block.tiles) {
    case 1: return multiply_tiles<1, 1, kSigned>(block);
    case 2: return multiply_tiles<2, 1, kSigned>(block);
    case 3: return multiply_tiles<3, 1, kSigned>(block);
    default: return multiply_tiles<4, 1, kSigned>(block);
  }
}

void multiply(const QuantizedBlock& block) {
  if (block.signed_input) return multiply_some<true>(block);
  multiply_some<false>(block);
}

}  // namespace

const QuantizedMatrix kMatrixAmx = {configure, multiply, release};

}  // namespace berth::cpu
#endif
