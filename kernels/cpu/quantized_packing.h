// How the weight of a quantised product lies in memory: one order for all instruction sets, so that a file that was
// compiled for one machine is used in place on any other.
//
// A panel is 16 columns, [quad][column][4] bytes, four numbers of the depth after each other, filled up with zeros. A
// convolution's depth is its window and the channels of a group, [tap][channel], its columns are the channels out. The
// panels of a group follow each other, then those of the next. Behind the last panel are the sums of the columns, i32,
// little-endian, one for each column of each panel. Weights of u8 lie here minus 128.
//
// Small groups are merged: with groups of 4 channels in and out, four of them are one group of 16 of each, whose weight
// is 0 where a channel out does not see a channel in.
//
// Where each channel out sees one channel in, and no other does (a depthwise convolution), a block of 64 channels has
// all their taps: [quad of taps][register][part][4 channels][4 taps], as quantized_depthwise_body.h wants them, and the
// sums are those of the channels, 64 for each block. Rows of three taps, or seven, have one of 0 more, so that pixels
// side by side can share what they see of a row.
//
// Where the taps and channels of a row of the window do not fill quads, as those of images of three channels, each row
// begins a quad of its own (`padded_rows`), so that tiles can read lines of the image. Not where there is a zero point.
//
// As text, in the argument `packing`: `berth int8 [64,64,3,3] groups 1 panels 16`, the sizes of the dense weight and
// the number of groups after merging, with ` rows` behind it where they are padded, or `berth int8 [64,1,3,3] depthwise
// 64`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cpu/packing_layout.h"
#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {

struct QuantizedLayout {
  DenseSizes dense;     // [depth, columns], or [out, in, window…]
  int64_t groups = 1;   // after merging
  int64_t merged = 1;   // groups of the convolution in one of these
  int64_t taps = 1;     // of a convolution's window
  int64_t depth = 0;    // of a group
  int64_t columns = 0;  // of a group
  bool padded_rows = false;
  bool depthwise = false;  // one group has all channels, as columns, and its depth is the taps

  /// Of a convolution that is not depthwise: the channels of a group, and the bytes of a row of its window.
  int64_t channels() const { return dense.size[1] * merged; }
  int64_t window_row() const;
  /// Of a depthwise one: places of the depth for a row of the window, of which the first have its taps.
  int64_t row_taps() const;
  int64_t quads() const;
  int64_t panels() const;  // of a group; blocks of channels of a depthwise one
  int64_t panel_columns() const { return depthwise ? kDepthwiseChannels : kPanelColumns; }
  int64_t panel_bytes() const { return quads() * kQuad * panel_columns(); }
  int64_t padded_columns() const { return groups * panels() * panel_columns(); }
  /// Where the first quad of a panel's column `c` lies in the panel.
  int64_t column_place(int64_t c) const;
  int64_t weight_bytes() const { return groups * panels() * panel_bytes(); }
  int64_t bytes() const { return weight_bytes() + padded_columns() * static_cast<int64_t>(sizeof(int32_t)); }
  std::string text() const;
};

/// Of a dense weight [depth, columns].
QuantizedLayout linear_layout(const DenseSizes& dense);
/// Of a dense weight [out, in, window…]. REQUIRES: groups >= 1 and divides out. Groups are merged and rows padded only
/// where the weight has no zero point but 0, and is signed (`may_merge`); rows not without `may_pad`.
QuantizedLayout conv_layout(const DenseSizes& dense, int64_t groups, bool may_merge, bool may_pad = true);

/// Whether a weight that is packed so, of `rank` 2 (a product's) or more, can be used in this call; sets `*layout`. The
/// text may come from an untrusted file; `bytes` are those of the packed tensor.
bool read_quantized_packing(StringRef text, int64_t bytes, bool conv, int64_t groups, bool may_merge,
                            QuantizedLayout* layout);

/// Packs a dense weight with these strides, in elements. `packed` has layout.bytes().
void pack_into(const QuantizedLayout& layout, const uint8_t* dense, bool is_signed, const int64_t* strides,
               uint8_t* packed);

/// The same of a matrix [depth, columns] that a run computes, fast where its columns lie side by side. REQUIRES:
/// `layout` is a linear_layout().
void pack_matrix(const QuantizedLayout& layout, const uint8_t* dense, bool is_signed, const int64_t* strides,
                 uint8_t* packed);

/// The sizes of `tensor`. REQUIRES: rank() <= DenseSizes::kMaxRank
DenseSizes dense_sizes_of(const Tensor& tensor);

}  // namespace berth::cpu
