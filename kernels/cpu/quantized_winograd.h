// Quantised convolutions with windows of 3x3 by Winograd's F(4x4, 3x3) or F(2x2, 3x3) in whole numbers, in products of
// numbers of 16 bits (quantized_words.h): 2.25 or 4 of them for a pixel instead of 9, and the same sums to the
// bit.
//
// A tile is 4x4 or 2x2 pixels of the result, which see 6x6 or 4x4 of the input. Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015, section 4, has the matrices. Those of weights are fractions: here each of their
// rows is multiplied by what makes it whole, the sums are weighed so that a pixel is a known multiple of itself, and
// they are divided at the end without a rest. All of it is done modulo 2^32, so that only the result needs room: with
// tiles of 4x4 it is multiplied by 9 * 64, of which the 64 costs six bits.
#pragma once

#include "kernels/cpu/quantized_columns.h"
#include "kernels/cpu/quantized_run.h"
#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {

/// How a convolution falls into tiles.
struct WinogradTiles {
  WinogradTiles(const portable::Convolution& c, const QuantizedWinogradWords& matrices);

  int64_t down, across;   // of an image
  int64_t all;            // of all images
  int64_t block, blocks;  // of a block of them, and how many those are
};

class QuantizedWinograd {
 public:
  /// Tiles of the size that takes least time, for all of which there are matrices, or null where windows take less, or
  /// it cannot be computed so.
  static const QuantizedWinogradWords* choose(const QuantizedJob& job);

  /// What a thread needs, at a multiple of 64, whichever tiles are chosen: 0 if none are, whatever the weights are.
  /// Looks at sizes and strides alone. A few small images need more than larger ones, for which tiles are not worth it.
  static size_t thread_bytes(const QuantizedJob& job);

  /// REQUIRES: `matrices` are chosen for the job, and finish.zeros == nullptr. All must stay.
  QuantizedWinograd(const QuantizedJob& job, const QuantizedFinish& finish, const QuantizedWinogradWords& matrices);

  /// For so many threads; without, for one.
  void cut(int slots);
  int64_t items() const { return layout_.groups * tiles_.blocks * panel_blocks_; }
  /// Computes one; `memory` has thread_bytes().
  void run_item(int64_t item, uint8_t* memory) const;

 private:
  void see_tiles(int64_t first, int64_t count, int64_t channel, int64_t channels, const uint8_t* zeros,
                 int16_t* to) const;
  void finish_tiles(int64_t first, int64_t count, int64_t group, int64_t panel, int64_t panels, const int32_t* sums,
                    int32_t* pixels) const;
  void finish_line(int64_t row, int64_t count, int64_t group, int64_t panel, int64_t panels, const int32_t* sums) const;

  const QuantizedJob& job_;
  const QuantizedLayout& layout_;
  const portable::Convolution& convolution_;
  const QuantizedWordTiles& words_;
  const QuantizedWinogradWords& matrices_;
  const QuantizedFinish& finish_;
  QuantizedPlaces places_;
  WinogradTiles tiles_;
  int64_t panels_, block_panels_, panel_blocks_;  // of a group
};

/// Whether no sum of a column of a convolution's packed weight has more than 26 bits, for any input (QuantizedJob).
bool sums_have_26_bits(const QuantizedLayout& layout, const uint8_t* packed);

}  // namespace berth::cpu
