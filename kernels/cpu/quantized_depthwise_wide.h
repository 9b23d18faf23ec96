// Depthwise windows whose ends are the same for all pixels, from bytes to bytes or floats. Included once by each
// quantized_tile_*.cc, in place of quantized_depthwise_body.h. No include guard.
//
// The order in which interleaving leaves channels is the one that packing undoes: nothing is moved in between.

#include "kernels/cpu/quantized_depthwise_body.h"

constexpr int64_t kRawBytes = static_cast<int64_t>(sizeof(Raw));

template <bool kWhole>
BERTH_LOCAL Raw window_bytes(const uint8_t* from, const SomeRaw& some, Raw flip) {
  return flipped(kWhole ? load_raw(from) : load_raw_some(from, some), flip);
}

// Four taps of some channels, four numbers of a channel side by side.
BERTH_LOCAL void interleave(Raw a, Raw b, Raw c, Raw d, Raw (&x)[4]) {
  const Raw low_ab = low_bytes(a, b), low_cd = low_bytes(c, d);
  const Raw high_ab = high_bytes(a, b), high_cd = high_bytes(c, d);
  x[0] = low_pairs(low_ab, low_cd);
  x[1] = high_pairs(low_ab, low_cd);
  x[2] = low_pairs(high_ab, high_cd);
  x[3] = high_pairs(high_ab, high_cd);
}

template <bool kWhole>
BERTH_LOCAL void interleave_taps(const uint8_t* const* taps, int64_t offset, const SomeRaw& some, Raw flip,
                                 Raw (&x)[4]) {
  interleave(window_bytes<kWhole>(taps[0] + offset, some, flip), window_bytes<kWhole>(taps[1] + offset, some, flip),
             window_bytes<kWhole>(taps[2] + offset, some, flip), window_bytes<kWhole>(taps[3] + offset, some, flip), x);
}

// Of as many channels of a block as a register has bytes, in the order of their sums.
struct BlockFinish {
  WideFinish wide;
  bool to_floats;
  Ints start[4];
  Floats scale[4], bias[4];
};

BERTH_LOCAL Raw raw_of(const float* from) { return load_raw(reinterpret_cast<const uint8_t*>(from)); }

// Of a block that begins at `offset`, channels from `first` on. With kColumns > 1 a register has each as often.
template <int kColumns>
BERTH_LOCAL BlockFinish block_finish(const QuantizedFinish& f, int64_t offset, int64_t first) {
  const QuantizedRows rows;
  BlockFinish block;
  block.wide = wide_finish(f, rows);
  block.to_floats = f.product->out->dtype() == DType::kF32;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const int64_t at = offset + j * (kDepthwiseChannels / 4) + first / 4;
    block.start[j] = repeated<kColumns>(load_ints(f.turned_start + at));
    block.scale[j] = floats_of(repeated<kColumns>(raw_of(f.turned_scale + at)));
    block.bias[j] = block.wide.has_bias ? floats_of(repeated<kColumns>(raw_of(f.turned_bias + at))) : spread(0);
  }
  return block;
}

BERTH_LOCAL void scale_block(const BlockFinish& block, const Ints (&sum)[4], Floats (&t)[4]) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) t[j] = times(to_floats(sum[j]), block.scale[j]);
}

// Sums of a block, which begin at `start`, as bytes.
BERTH_LOCAL Raw block_bytes(const BlockFinish& block, const Ints (&sum)[4]) {
  Floats t[4];
  scale_block(block, sum, t);
  if (block.wide.more) {
    const uint8_t* const none[4] = {};
    const SomeBytes no[4] = {};
    wide_more<false>(block.wide, block.bias, none, no, t);
  }
  const Ints x[4] = {wide_round(block.wide, t[0]), wide_round(block.wide, t[1]), wide_round(block.wide, t[2]),
                     wide_round(block.wide, t[3])};
  return wide_bytes(block.wide, x);
}

// The same as floats, of the first `pixels` of kPixels side by side, `step` bytes apart.
template <int kPixels>
BERTH_LOCAL void put_block_floats(const BlockFinish& block, const Ints (&sum)[4], uint8_t* out, int64_t step,
                                  int64_t pixels, int64_t channels) {
  Floats t[4];
  scale_block(block, sum, t);
  const uint8_t* const none[4] = {};
  const SomeBytes no[4] = {};
  wide_steps<false>(block.wide, block.bias, none, no, t);
  Ints x[4] = {ints_of(t[0]), ints_of(t[1]), ints_of(t[2]), ints_of(t[3])};
  turn_parts(x);
  constexpr int kVectors = 4 / kPixels;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    if (k / kVectors >= pixels) break;
    const int64_t channel = k % kVectors * kLane;
    if (channel < channels) {
      put_floats(out + k / kVectors * step + channel * 4, 1, channels - channel, floats_of(x[k]));
    }
  }
}

template <bool kWhole>
BERTH_TARGET void depthwise_wide(const QuantizedFinish& f, const QuantizedWindows& windows, int64_t first) {
  const BlockFinish block = block_finish<1>(f, windows.offset, first);
  const Raw flip = spread_int(static_cast<int32_t>(windows.flip));
  const int64_t channels = windows.channels - first;
  const SomeRaw some = some_raw(channels);
  const int64_t quads = windows.quads, offset = windows.offset + first;
  const int64_t pixels = windows.pixels, step = windows.taps_step;
  const int8_t* const weight = windows.weight + first;
  const uint8_t* const* pixel_taps = windows.taps;
  const int64_t out_row = windows.out_row;
  uint8_t* out = windows.out + first * (block.to_floats ? 4 : 1);
  // Weights that must be widened are for all of these pixels.
  constexpr bool kWidens = sizeof(Columns) > sizeof(Raw);
  Columns widened[kWidens ? kMaxDepthwiseTaps : 1];
  if constexpr (kWidens) {
    for (int64_t k = 0; k < 4 * quads; ++k) widened[k] = load_columns(weight + k * kDepthwiseChannels);
  }
  for (int64_t i = 0; i < pixels; ++i, pixel_taps += step, out += out_row) {
    Ints sum[4] = {block.start[0], block.start[1], block.start[2], block.start[3]};
    for (int64_t quad = 0; quad < quads; ++quad) {
      Raw x[4];
      interleave_taps<kWhole>(pixel_taps + quad * kQuad, offset, some, flip, x);
      const int8_t* w = weight + quad * kQuad * kDepthwiseChannels;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Columns columns = kWidens ? widened[quad * kQuad + j] : load_columns(w + j * kDepthwiseChannels);
        sum[j] = add_products(sum[j], row_of(x[j]), columns);
      }
    }
    if (block.to_floats) {
      put_block_floats<1>(block, sum, out, out_row, 1, channels);
    } else {
      put_raw<4>(out, channels, block_bytes(block, sum));
    }
  }
}

BERTH_TARGET void depthwise_pixels(const QuantizedFinish& f, const QuantizedWindows& windows) {
  for (int64_t first = 0; first < windows.channels; first += kRawBytes) {
    if (windows.channels - first >= kRawBytes) {
      depthwise_wide<true>(f, windows, first);
    } else {
      depthwise_wide<false>(f, windows, first);
    }
  }
}
