// Depthwise windows of the usual kind from bytes to bytes, in registers of 512 bits. Included once by each
// quantized_tile_*.cc of such registers, in place of quantized_depthwise_body.h. No include guard.
//
// The order in which interleaving leaves channels is the one that packing undoes: nothing is moved in between.

#include "kernels/cpu/quantized_depthwise_body.h"

template <bool kWhole>
BERTH_LOCAL Raw window_bytes(const uint8_t* from, __mmask64 mask, Raw flip) {
  return flipped(kWhole ? load_raw(from) : _mm512_maskz_loadu_epi8(mask, from), flip);
}

// Four taps of a block of channels, four numbers of a channel side by side.
BERTH_LOCAL void interleave(Raw a, Raw b, Raw c, Raw d, Raw (&x)[4]) {
  const Raw low_ab = low_bytes(a, b), low_cd = low_bytes(c, d);
  const Raw high_ab = high_bytes(a, b), high_cd = high_bytes(c, d);
  x[0] = low_pairs(low_ab, low_cd);
  x[1] = high_pairs(low_ab, low_cd);
  x[2] = low_pairs(high_ab, high_cd);
  x[3] = high_pairs(high_ab, high_cd);
}

template <bool kWhole>
BERTH_LOCAL void interleave_taps(const uint8_t* const* taps, int64_t offset, __mmask64 mask, Raw flip, Raw (&x)[4]) {
  interleave(window_bytes<kWhole>(taps[0] + offset, mask, flip), window_bytes<kWhole>(taps[1] + offset, mask, flip),
             window_bytes<kWhole>(taps[2] + offset, mask, flip), window_bytes<kWhole>(taps[3] + offset, mask, flip), x);
}

// Of a block's channels, in the order of its sums.
struct BlockFinish {
  WideFinish wide;
  Ints start[4];
  Floats scale[4], bias[4];
};

// A register of 64 / kPixels channels has them once for each of kPixels.
template <int kPixels>
BERTH_LOCAL Raw repeated(Raw x) {
  if (kPixels == 1) return x;
  return kPixels == 2 ? _mm512_shuffle_i32x4(x, x, 0x44) : _mm512_shuffle_i32x4(x, x, 0);
}

template <int kPixels>
BERTH_LOCAL BlockFinish block_finish(const QuantizedFinish& f, int64_t offset) {
  const QuantizedRows rows;
  BlockFinish block;
  block.wide = wide_finish(f, rows);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const int64_t at = offset + j * kLane;
    block.start[j] = repeated<kPixels>(load_ints(f.turned_start + at));
    block.scale[j] = _mm512_castsi512_ps(repeated<kPixels>(_mm512_loadu_si512(f.turned_scale + at)));
    block.bias[j] = block.wide.has_bias ? _mm512_castsi512_ps(repeated<kPixels>(_mm512_loadu_si512(f.turned_bias + at)))
                                        : spread(0);
  }
  return block;
}

// Sums of a block, which begin at `start`, as bytes.
BERTH_LOCAL __m512i block_bytes(const BlockFinish& block, const Ints (&sum)[4]) {
  Floats t[4] = {times(to_floats(sum[0]), block.scale[0]), times(to_floats(sum[1]), block.scale[1]),
                 times(to_floats(sum[2]), block.scale[2]), times(to_floats(sum[3]), block.scale[3])};
  if (block.wide.more) {
    const uint8_t* const none[4] = {};
    const __mmask16 no[4] = {};
    wide_more<false>(block.wide, block.bias, none, no, t);
  }
  const Ints x[4] = {wide_round(block.wide, t[0]), wide_round(block.wide, t[1]), wide_round(block.wide, t[2]),
                     wide_round(block.wide, t[3])};
  return wide_bytes(block.wide, x);
}

template <bool kWhole>
BERTH_TARGET void depthwise_wide(const QuantizedFinish& f, const QuantizedWindows& windows) {
  const BlockFinish block = block_finish<1>(f, windows.offset);
  const Raw flip = spread_int(static_cast<int32_t>(windows.flip));
  const __mmask64 mask = kWhole ? ~uint64_t{0} : (uint64_t{1} << windows.channels) - 1;
  const int64_t quads = windows.quads, offset = windows.offset, pixels = windows.pixels, step = windows.taps_step;
  const int8_t* const weight = windows.weight;
  const uint8_t* const* pixel_taps = windows.taps;
  const int64_t out_row = windows.out_row;
  uint8_t* out = windows.out;
  for (int64_t i = 0; i < pixels; ++i, pixel_taps += step, out += out_row) {
    Ints sum[4] = {block.start[0], block.start[1], block.start[2], block.start[3]};
    for (int64_t quad = 0; quad < quads; ++quad) {
      Raw x[4];
      interleave_taps<kWhole>(pixel_taps + quad * kQuad, offset, mask, flip, x);
      const int8_t* w = weight + quad * kQuad * kDepthwiseChannels;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        sum[j] = add_products(sum[j], row_of(x[j]), load_columns(w + j * kDepthwiseChannels));
      }
    }
    put_wide<4>(out, windows.channels, block_bytes(block, sum));
  }
}

BERTH_TARGET void depthwise_512(const QuantizedFinish& f, const QuantizedWindows& windows) {
  if (windows.channels == kDepthwiseChannels) {
    depthwise_wide<true>(f, windows);
  } else {
    depthwise_wide<false>(f, windows);
  }
}
