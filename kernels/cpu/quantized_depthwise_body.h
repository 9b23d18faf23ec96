// Depthwise windows of one instruction set: each channel times its own weights. Included once by each
// quantized_tile_*.cc, after quantized_tile_body.h's registers.
//
// Four taps at a time: of as many channels as a register has bytes, the bytes of the four are interleaved, so that each
// channel has its four side by side, and multiplied like a row of a tile. The weights lie as the interleaving leaves
// them: [quad][part of a register's 16 channels][register][4 channels][4 taps]. No include guard.

BERTH_TARGET void depthwise(const QuantizedWindow& window, int32_t* sums) {
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Raw));
  const Raw flip = spread_int(static_cast<int32_t>(window.flip));
  for (int64_t first = 0; first < window.channels; first += kBytes) {
    const int64_t left = window.channels - first;
    const SomeRaw some = some_raw(left);
    Ints sum[4] = {spread_int(0), spread_int(0), spread_int(0), spread_int(0)};
    const int8_t* w = window.weight + first;
    for (int64_t quad = 0; quad < window.quads; ++quad, w += 4 * kDepthwiseChannels) {
      Raw x[4];
      for (int k = 0; k < 4; ++k) {
        const uint8_t* from = window.taps[4 * quad + k] + window.offset + first;
        x[k] = flipped(left >= kBytes ? load_raw(from) : load_raw_some(from, some), flip);
      }
      const Raw low01 = low_bytes(x[0], x[1]), low23 = low_bytes(x[2], x[3]);
      const Raw high01 = high_bytes(x[0], x[1]), high23 = high_bytes(x[2], x[3]);
      sum[0] = add_products(sum[0], row_of(low_pairs(low01, low23)), load_columns(w));
      sum[1] = add_products(sum[1], row_of(high_pairs(low01, low23)), load_columns(w + kDepthwiseChannels));
      sum[2] = add_products(sum[2], row_of(low_pairs(high01, high23)), load_columns(w + 2 * kDepthwiseChannels));
      sum[3] = add_products(sum[3], row_of(high_pairs(high01, high23)), load_columns(w + 3 * kDepthwiseChannels));
    }
    turn_parts(sum);
    for (int j = 0; j < 4; ++j) store_ints(sums + first + j * kLane, sum[j]);
  }
}
