// Quantised convolutions with windows of 3x3 by Winograd's F(2x2, 3x3) in whole numbers, where numbers of 16 bits are
// multiplied (quantized_words.h): 16 products for four pixels instead of 36, and the same sums to the bit.
//
// A tile is 2x2 pixels of the result, which see 4x4 of the input. Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2015, section 4.1, has the matrices. Those of weights have halves: here they are twice as large, so
// that a weight is four times itself and so is a sum, which is divided at the end without a rest.
#pragma once

#include "kernels/cpu/quantized_columns.h"
#include "kernels/cpu/quantized_run.h"
#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {

class QuantizedWinograd {
 public:
  /// Whether it can compute this convolution, and in less time than windows take. Looks at sizes and strides alone.
  static bool fits(const QuantizedJob& job);

  /// What a thread needs, at a multiple of 64. For larger images it is no less.
  static size_t thread_bytes(const QuantizedJob& job);

  /// REQUIRES: fits(job), job.functions->words with its `winograd`, and finish.zeros == nullptr. Both must stay.
  QuantizedWinograd(const QuantizedJob& job, const QuantizedFinish& finish);

  /// For so many threads; without, for one.
  void cut(int slots);
  int64_t items() const { return layout_.groups * blocks_ * panel_blocks_; }
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
  const QuantizedWords& words_;
  const QuantizedWinogradWords& turns_;
  const QuantizedFinish& finish_;
  QuantizedPlaces places_;
  int64_t down_, across_;                         // tiles of an image
  int64_t tiles_, block_tiles_, blocks_;          // of all images, of a block of them, and how many those are
  int64_t panels_, block_panels_, panel_blocks_;  // of a group
};

}  // namespace berth::cpu
