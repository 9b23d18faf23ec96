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
template <bool kWhole>
BERTH_LOCAL void interleave(const uint8_t* const* taps, int64_t offset, __mmask64 mask, Raw flip, Raw (&x)[4]) {
  const Raw a = window_bytes<kWhole>(taps[0] + offset, mask, flip);
  const Raw b = window_bytes<kWhole>(taps[1] + offset, mask, flip);
  const Raw c = window_bytes<kWhole>(taps[2] + offset, mask, flip);
  const Raw d = window_bytes<kWhole>(taps[3] + offset, mask, flip);
  const Raw low_ab = low_bytes(a, b), low_cd = low_bytes(c, d);
  const Raw high_ab = high_bytes(a, b), high_cd = high_bytes(c, d);
  x[0] = low_pairs(low_ab, low_cd);
  x[1] = high_pairs(low_ab, low_cd);
  x[2] = low_pairs(high_ab, high_cd);
  x[3] = high_pairs(high_ab, high_cd);
}

BERTH_LOCAL void end_window(const QuantizedFinish& f, const WideFinish& wide, const QuantizedWindows& windows,
                            const Floats (&scale)[4], const Ints (&sum)[4], uint8_t* out) {
  Floats t[4] = {times(to_floats(sum[0]), scale[0]), times(to_floats(sum[1]), scale[1]),
                 times(to_floats(sum[2]), scale[2]), times(to_floats(sum[3]), scale[3])};
  if (wide.more) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Floats bias = wide.has_bias ? load_floats(f.turned_bias + windows.offset + j * kLane) : spread(0);
      t[j] = wide_more<false>(wide, t[j], bias, nullptr, kLane);
    }
  }
  const Ints x[4] = {wide_round(wide, t[0]), wide_round(wide, t[1]), wide_round(wide, t[2]), wide_round(wide, t[3])};
  put_wide<4>(out, windows.channels, wide_bytes(wide, x));
}

template <bool kWhole>
BERTH_TARGET void depthwise_wide(const QuantizedFinish& f, const QuantizedWindows& windows) {
  const QuantizedRows rows;
  const WideFinish wide = wide_finish(f, rows);
  const Raw flip = spread_int(static_cast<int32_t>(windows.flip));
  const __mmask64 mask = kWhole ? ~uint64_t{0} : (uint64_t{1} << windows.channels) - 1;
  const int64_t quads = windows.quads, offset = windows.offset, pixels = windows.pixels, step = windows.taps_step;
  const int8_t* const weight = windows.weight;
  const uint8_t* const* pixel_taps = windows.taps;
  const int64_t out_row = windows.out_row;
  Ints start[4];
  Floats scale[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    start[j] = load_ints(f.turned_start + offset + j * kLane);
    scale[j] = load_floats(f.turned_scale + offset + j * kLane);
  }
  uint8_t* out = windows.out;
  int64_t i = 0;
  // Two pixels side by side see four columns: the second's weights are those of the first, one column on.
  for (; windows.shares && i + 1 < pixels; i += 2, pixel_taps += 2 * step, out += 2 * out_row) {
    Ints left[4] = {start[0], start[1], start[2], start[3]};
    Ints right[4] = {start[0], start[1], start[2], start[3]};
    for (int64_t quad = 0; quad < quads; ++quad) {
      Raw x[4];
      interleave<kWhole>(pixel_taps + quad * kQuad, offset, mask, flip, x);
      const int8_t* w = weight + quad * kQuad * kDepthwiseChannels;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Row row = row_of(x[j]);
        const __m512i numbers = _mm512_loadu_si512(w + j * kDepthwiseChannels);
        left[j] = add_products(left[j], row, columns_of(numbers));
        right[j] = add_products(right[j], row, columns_of(_mm512_slli_epi32(numbers, 8)));
      }
    }
    end_window(f, wide, windows, scale, left, out);
    end_window(f, wide, windows, scale, right, out + out_row);
  }
  for (; i < pixels; ++i, pixel_taps += step, out += out_row) {
    Ints sum[4] = {start[0], start[1], start[2], start[3]};
    for (int64_t quad = 0; quad < quads; ++quad) {
      Raw x[4];
      interleave<kWhole>(pixel_taps + quad * kQuad, offset, mask, flip, x);
      const int8_t* w = weight + quad * kQuad * kDepthwiseChannels;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        sum[j] = add_products(sum[j], row_of(x[j]), load_columns(w + j * kDepthwiseChannels));
      }
    }
    end_window(f, wide, windows, scale, sum, out);
  }
}

BERTH_TARGET bool depthwise_512(const QuantizedFinish& f, const QuantizedWindows& windows) {
  if (!is_usual(f) || f.product->residual != nullptr) return false;
  if (windows.channels == kDepthwiseChannels) {
    depthwise_wide<true>(f, windows);
  } else {
    depthwise_wide<false>(f, windows);
  }
  return true;
}
