// The tiles of one instruction set. Included once by each quantized_tile_*.cc, inside its own namespace, after
//
//   BERTH_TARGET      the attribute that allows the instruction set
//   Sum               a register of 32-bit sums
//   Columns, Row      four numbers of the depth of as many columns, and of one row of the input, in every column
//   load_columns(), row_of(), add_products(), and what quantized_simd_512.h has
//
// No include guard: the text is meant to be compiled several times.

constexpr int kParts = static_cast<int>(kQuadBytes / sizeof(Sum));  // registers of a panel

// Rows are reached by one pointer for three: an address has a register of it, and that of the step once or twice.
template <int kRows, int kPanels>
BERTH_TARGET void tile(const QuantizedTile& t) {
  Sum sum[kRows][kPanels * kParts] = {};
  constexpr int kPointers = (kRows + 2) / 3;
  const int64_t step = t.a_step, quads = t.quads;
  const int8_t* b = t.b;
  const Raw flip = spread_int(static_cast<int32_t>(t.flip));
  for (int64_t run = 0; run < t.runs; ++run) {
    const uint8_t* a[kPointers];
    for (int j = 0; j < kPointers; ++j) a[j] = t.a[run] + 3 * j * step;
    for (int64_t quad = 0; quad < quads; ++quad, b += kQuadBytes) {
      Columns columns[kPanels * kParts];
#pragma GCC unroll 16
      for (int v = 0; v < kPanels; ++v) {
        // Few rows wait for weights.
        if (kPanels == kMaxTilePanels && t.ahead > 0) __builtin_prefetch(b + v * t.panel_step + t.ahead, 0, 2);
#pragma GCC unroll 16
        for (int part = 0; part < kParts; ++part) {
          columns[v * kParts + part] = load_columns(b + v * t.panel_step + part * static_cast<int>(sizeof(Sum)));
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        int32_t four;
        __builtin_memcpy(&four, a[i / 3] + i % 3 * step, sizeof(four));
        const Row row = row_of(flipped(spread_int(four), flip));
#pragma GCC unroll 16
        for (int v = 0; v < kPanels * kParts; ++v) sum[i][v] = add_products(sum[i][v], row, columns[v]);
      }
#pragma GCC unroll 16
      for (int j = 0; j < kPointers; ++j) a[j] += kQuad;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kPanels * kParts; ++v) {
      store_ints(t.sums + (i * kPanels * kParts + v) * kLane, sum[i][v]);
    }
  }
}
