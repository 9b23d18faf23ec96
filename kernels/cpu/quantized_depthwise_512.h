// Depthwise windows of the usual kind from bytes to bytes, in registers of 512 bits. Included once by each
// quantized_tile_*.cc of such registers, in place of quantized_depthwise_body.h. No include guard.
//
// The order in which interleaving leaves channels is the one that packing undoes: nothing is moved in between.

#include "kernels/cpu/quantized_depthwise_body.h"

template <bool kWhole>
BERTH_LOCAL Raw window_bytes(const uint8_t* from, __mmask64 mask, Raw flip) {
  return flipped(kWhole ? load_raw(from) : _mm512_maskz_loadu_epi8(mask, from), flip);
}

template <bool kWhole>
BERTH_TARGET void depthwise_wide(const QuantizedFinish& f, const QuantizedWindows& windows) {
  const QuantizedRows rows;
  const WideFinish wide = wide_finish(f, rows);
  const Raw flip = spread_int(static_cast<int32_t>(windows.flip));
  const __mmask64 mask = kWhole ? ~uint64_t{0} : (uint64_t{1} << windows.channels) - 1;
  const int64_t quads = windows.quads, offset = windows.offset;
  Ints start[4];
  Floats scale[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    start[j] = load_ints(f.turned_start + offset + j * kLane);
    scale[j] = load_floats(f.turned_scale + offset + j * kLane);
  }
  uint8_t* out = windows.out;
  for (int64_t i = 0; i < windows.pixels; ++i, out += windows.out_row) {
    const uint8_t* const* taps = windows.taps + i * windows.taps_step;
    const int8_t* w = windows.weight;
    Ints sum0 = start[0], sum1 = start[1], sum2 = start[2], sum3 = start[3];
    for (int64_t quad = 0; quad < quads; ++quad, taps += kQuad, w += kQuad * kDepthwiseChannels) {
      const Raw a = window_bytes<kWhole>(taps[0] + offset, mask, flip);
      const Raw b = window_bytes<kWhole>(taps[1] + offset, mask, flip);
      const Raw c = window_bytes<kWhole>(taps[2] + offset, mask, flip);
      const Raw d = window_bytes<kWhole>(taps[3] + offset, mask, flip);
      const Raw low_ab = low_bytes(a, b), low_cd = low_bytes(c, d);
      const Raw high_ab = high_bytes(a, b), high_cd = high_bytes(c, d);
      sum0 = add_products(sum0, row_of(low_pairs(low_ab, low_cd)), load_columns(w));
      sum1 = add_products(sum1, row_of(high_pairs(low_ab, low_cd)), load_columns(w + kDepthwiseChannels));
      sum2 = add_products(sum2, row_of(low_pairs(high_ab, high_cd)), load_columns(w + 2 * kDepthwiseChannels));
      sum3 = add_products(sum3, row_of(high_pairs(high_ab, high_cd)), load_columns(w + 3 * kDepthwiseChannels));
    }
    Floats t[4] = {times(to_floats(sum0), scale[0]), times(to_floats(sum1), scale[1]), times(to_floats(sum2), scale[2]),
                   times(to_floats(sum3), scale[3])};
    if (wide.more) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Floats bias = wide.has_bias ? load_floats(f.turned_bias + offset + j * kLane) : spread(0);
        t[j] = wide_more<false>(wide, t[j], bias, nullptr, kLane);
      }
    }
    const Ints x[4] = {wide_round(wide, t[0]), wide_round(wide, t[1]), wide_round(wide, t[2]), wide_round(wide, t[3])};
    put_wide<4>(out, windows.channels, wide_bytes(wide, x));
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
