// Quantised products in numbers of 16 bits, for processors that multiply pairs of those alone (AVX2), and for
// Winograd's matrices where bytes are multiplied too (VNNI). Bytes of rows and of weights are widened once for many
// products, not in the innermost loop. Panels are those of tiles (quantized_tile.h).
#pragma once

#include <cstdint>

namespace berth::cpu {

constexpr int64_t kWordRows = 96;        // that share widened weights, at most
constexpr int64_t kWordQuads = 64;       // of the depth that are widened at a time: a first-level cache holds both
constexpr int64_t kWordPanels = 4;       // that share widened rows, at most
constexpr int64_t kMostWordHeight = 12;  // rows of a tile, of any processor's

/// A part of the depth of rows side by side, which begins in the first run.
struct QuantizedPart {
  const uint8_t* const* a = nullptr;  // of the first row: where each run begins
  int64_t run_quads = 0;              // of each run
  int64_t first = 0, quads = 0;       // of the part, counted from the first run's
  int64_t rows = 1, a_step = 0;       // bytes from row to row
  uint32_t flip = 0;                  // bytes are xor its lowest byte
};

constexpr int kMostWinogradSide = 6;

/// Adds products of pairs of numbers, which one instruction multiplies and adds.
struct QuantizedWordTiles {
  int64_t height = 0;  // rows of a tile, at most
  /// Adds the products of `rows`, [row][kWordQuads][4], of which there are as many as the function's place says, with a
  /// widened panel, [quad][half][column][2], to sums, [row][sums_row], or, with `first`, writes them.
  void (*tile[kMostWordHeight + 1])(const int16_t* rows, const int16_t* panel, int64_t quads, bool first, int32_t* sums,
                                    int64_t sums_row) = {};
};

/// Winograd's matrices for tiles of one size (quantized_winograd.h).
struct QuantizedWinogradWords {
  int64_t tile = 0;          // pixels of the result, down and across
  int64_t channels = 0;      // that are turned at a time, at most
  int64_t block = 0;         // tiles that are done together, at most
  bool divides_all = false;  // sums must have 26 bits, for sums of all channels are divided by 9 * 64

  int64_t side() const { return tile + 2; }
  int64_t positions() const { return side() * side(); }

  /// Turns what a tile sees of `pixels`, one for each position, which begin at the first channel. As many positions as
  /// fit have a row of tiles: [position / those][position % those][channel], and rows are row_step apart.
  /// REQUIRES: channels are whole quads.
  void (*see_tile)(const uint8_t* const* pixels, int64_t channels, uint32_t flip, int64_t row_step,
                   int16_t* to) = nullptr;
  /// Turns some quads of a panel, whose taps are tap_bytes apart, to [quad][half][column][2] numbers of each position,
  /// `step` apart.
  void (*turn_weight)(const int8_t* from, int64_t tap_bytes, int64_t quads, int64_t step, int16_t* to) = nullptr;
  /// From sums of each position, `step` apart, to those of a tile's pixels: `columns` apart, and `line`.
  void (*end_tile)(const int32_t* sums, int64_t step, int64_t columns, int32_t* to, int64_t line) = nullptr;
};

/// In place of tiles of bytes.
struct QuantizedWords {
  /// Widens rows to [row][kWordQuads][4] numbers.
  void (*widen_rows)(const QuantizedPart& part, int16_t* to) = nullptr;
  /// Widens `quads` quads of a panel to [quad][half][column][2] numbers.
  void (*widen_panel)(const int8_t* from, int64_t quads, int16_t* to) = nullptr;
  const QuantizedWordTiles* tiles = nullptr;
};

/// In place of windows of 3x3.
struct QuantizedWinogradFunctions {
  const QuantizedWordTiles* tiles = nullptr;
  const QuantizedWinogradWords* sizes[2] = {};  // tiles of 4x4 and of 2x2; the second may be null
  int64_t least_channels = 0;
  /// In tenths: products of a channel and a column that a pixel may take at most, with those that turning a weight
  /// takes as long as. A window has nine, of bytes.
  int64_t most_tenths = 0;
};

#if defined(__x86_64__)
extern const QuantizedWordTiles kWordTilesAvx2, kWordTilesVnni;
extern const QuantizedWords kWordsAvx2;
extern const QuantizedWinogradFunctions kWinogradAvx2, kWinogradVnni;
#endif

}  // namespace berth::cpu
