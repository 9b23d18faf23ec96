// Quantised products in numbers of 16 bits, for processors that multiply pairs of those alone (AVX2). Bytes of rows and of
// weights are widened once for many products, not in the innermost loop. Panels are those of tiles (quantized_tile.h).
#pragma once

#include <cstdint>

namespace berth::cpu {

constexpr int64_t kWordRows = 48;   // that share widened weights, at most
constexpr int64_t kWordQuads = 64;  // of the depth that are widened at a time: a first-level cache holds both
constexpr int64_t kWordPanels = 4;  // that share widened rows, at most
constexpr int64_t kWordHeight = 6;  // rows of a tile, at most

/// A part of the depth of rows side by side, which begins in the first run.
struct QuantizedPart {
  const uint8_t* const* a = nullptr;  // of the first row: where each run begins
  int64_t run_quads = 0;              // of each run
  int64_t first = 0, quads = 0;       // of the part, counted from the first run's
  int64_t rows = 1, a_step = 0;       // bytes from row to row
  uint32_t flip = 0;                  // bytes are xor its lowest byte
};

/// Pairs of numbers, halves of a quad, are multiplied and added by one instruction (vpmaddwd).
struct QuantizedWords {
  /// Widens rows to [row][kWordQuads][4] numbers.
  void (*widen_rows)(const QuantizedPart& part, int16_t* to) = nullptr;
  /// Widens `quads` quads of a panel to [quad][half][column][2] numbers.
  void (*widen_panel)(const int8_t* from, int64_t quads, int16_t* to) = nullptr;
  /// Adds the products of `rows`, [row][kWordQuads][4], of which there are as many as the function's place says, with a
  /// widened panel to sums, [row][sums_row], or, with `first`, writes them.
  using Tile = void (*)(const int16_t* rows, const int16_t* panel, int64_t quads, bool first, int32_t* sums,
                        int64_t sums_row);
  Tile tile[kWordHeight + 1] = {};
};

#if defined(__x86_64__)
extern const QuantizedWords kWordsAvx2;
#endif

}  // namespace berth::cpu
