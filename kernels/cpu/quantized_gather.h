// The windows that pixels of a convolution see, side by side: [pixel][tap][channel] bytes.
#pragma once

#include <cstdint>

#include "kernels/portable/conv_arguments.h"

namespace berth::cpu {

/// As many bytes behind the last row may be written.
constexpr int64_t kGatherSlack = 32;

/// Copies what `count` pixels of the result from `first` on, counted over all images, see of `depth` channels from
/// `channel` on. Rows are `row_bytes` apart, and the taps of a row of the window `line_bytes`, at least as many as they
/// have; what lies behind them is of no use. `zero` is what lies in the padding. REQUIRES: c.input has 8-bit elements;
/// c has its strides.
void gather_windows(const portable::Convolution& c, int64_t channel, int64_t depth, int64_t first, int64_t count,
                    uint8_t zero, uint8_t* rows, int64_t line_bytes, int64_t row_bytes);

/// Whether pixels lie in memory in the order of their positions, `channels` elements apart, the channels side by side.
bool is_channels_last(const Tensor& image);

/// Where pixel `index` of `image`, counted over all images, begins, in elements.
int64_t pixel_offset(const Tensor& image, int64_t index);

}  // namespace berth::cpu
