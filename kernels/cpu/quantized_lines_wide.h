// Lines of depthwise convolutions of three taps a row. Included once by each quantized_tile_*.cc, after
// quantized_depthwise_wide.h. No include guard.
//
// A column of what a line sees, three numbers of each channel below each other, is interleaved once and multiplied by
// the weights of every tap that sees it. Where there are channels for a half of a register, or for a quarter, it has
// kPixels, two or four, columns side by side.

// The taps of column `tap` of the window, of register `j` of a block.
template <int kPixels>
BERTH_LOCAL Raw taps_below(const QuantizedLines& lines, int j, int tap) {
  const int8_t* from = lines.weight + j * kDepthwiseChannels;
  Raw below = spread_int(0);
  for (int64_t row = 0; row < lines.quads; ++row, from += kQuad * kDepthwiseChannels) {
    const Raw number =
        both_ints(ints_right(load_raw(reinterpret_cast<const uint8_t*>(from)), 8 * tap), spread_int(0xFF));
    below = either_ints(below, ints_left(number, static_cast<int>(8 * row)));
  }
  return repeated<kPixels>(below);
}

// kPixels columns of a row, `apart` columns apart, of which some lie in the padding. Seldom: not in line.
template <int kPixels>
__attribute__((noinline)) void copy_columns(const QuantizedLines& lines, const QuantizedLine& line, int row,
                                            int64_t column, int64_t apart, uint8_t* to) {
  for (int i = 0; i < kPixels; ++i, column += apart, to += kRawBytes / kPixels) {
    const bool inside = column >= 0 && column < lines.in;
    const uint8_t* from = inside ? line.row[row] + column * line.step[row] : lines.zeros;
    __builtin_memcpy(to, from, lines.channels);
  }
}

// What the numbers of one line have in common; in registers, as far as there are any.
template <int kPixels>
struct LineNumbers {
  Columns taps[3][4];
  SomeRaw some;
  Raw flip, padding;
};

// kPixels columns, `apart` columns apart, from `column` on, interleaved.
template <int kPixels, bool kWhole>
BERTH_LOCAL void see_columns(const QuantizedLines& lines, const QuantizedLine& line, const LineNumbers<kPixels>& n,
                             int64_t column, int64_t apart, Raw (&x)[4]) {
  Raw row[3];
  if (column >= 0 && column + (kPixels - 1) * apart < lines.in) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) {
      const int64_t step = line.step[r];
      row[r] = flipped(load_columns_of<kPixels, kWhole>(line.row[r] + column * step, apart * step, n.some), n.flip);
    }
  } else if (kPixels == 1) {
    x[0] = x[1] = x[2] = x[3] = n.padding;
    return;
  } else {
    alignas(64) uint8_t bytes[3][kRawBytes];
    for (int r = 0; r < 3; ++r) {
      copy_columns<kPixels>(lines, line, r, column, apart, bytes[r]);
      row[r] = flipped(load_raw(bytes[r]), n.flip);
    }
  }
  interleave(row[0], row[1], row[2], row[2], x);
}

// The first `pixels` of kPixels columns of results.
template <int kPixels>
BERTH_LOCAL void put_columns(uint8_t* out, int64_t step, int64_t pixels, int64_t channels, Raw bytes) {
  if constexpr (kPixels == 1) {
    put_raw<4>(out, channels, bytes);
  } else {
    constexpr int kVectors = 4 / kPixels;
    if (pixels >= kPixels && channels == kVectors * kLane && step == channels) return put_raw<4>(out, kRawBytes, bytes);
    put_raw<kVectors>(out, channels, bytes);
    if (pixels > 1) put_raw<kVectors>(out + step, channels, part_of<1, kPixels>(bytes));
    if constexpr (kPixels == 4) {
      if (pixels > 2) put_raw<kVectors>(out + 2 * step, channels, part_of<2, 4>(bytes));
      if (pixels > 3) put_raw<kVectors>(out + 3 * step, channels, part_of<3, 4>(bytes));
    }
  }
}

template <int kPixels>
BERTH_LOCAL void put_block(const BlockFinish& block, const Ints (&sum)[4], uint8_t* out, int64_t step, int64_t pixels,
                           int64_t channels) {
  if (block.to_floats) return put_block_floats<kPixels>(block, sum, out, step, pixels, channels);
  put_columns<kPixels>(out, step, pixels, channels, block_bytes(block, sum));
}

// One column of a whole register at a time. What a column adds to results to its right waits in `one`, which lacks a
// column, and in `two`, which lacks two.
template <int kStride, bool kWhole>
BERTH_LOCAL void run_line(const QuantizedLines& lines, const QuantizedLine& line, const BlockFinish& block,
                          const LineNumbers<1>& n) {
  const int64_t out_step = lines.out_step, count = lines.out;
  uint8_t* out = line.out;
  Raw x[4];
  Ints one[4], two[4];
  int64_t column = -lines.padding;
  see_columns<1, kWhole>(lines, line, n, column++, 1, x);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) two[j] = add_products(block.start[j], row_of(x[j]), n.taps[0][j]);
  if (kStride == 1) {
    see_columns<1, kWhole>(lines, line, n, column++, 1, x);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      one[j] = add_products(two[j], row_of(x[j]), n.taps[1][j]);
      two[j] = add_products(block.start[j], row_of(x[j]), n.taps[0][j]);
    }
  }
  for (int64_t i = 0; i < count; ++i, out += out_step) {
    if (kStride == 2) {
      see_columns<1, kWhole>(lines, line, n, column++, 1, x);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) one[j] = add_products(two[j], row_of(x[j]), n.taps[1][j]);
    }
    see_columns<1, kWhole>(lines, line, n, column++, 1, x);
    Ints sum[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Row row = row_of(x[j]);
      sum[j] = add_products(one[j], row, n.taps[2][j]);
      if (kStride == 1) one[j] = add_products(two[j], row, n.taps[1][j]);
      two[j] = add_products(block.start[j], row, n.taps[0][j]);
    }
    put_block<1>(block, sum, out, out_step, 1, lines.channels);
  }
}

// kPixels columns of results at a time.
template <int kPixels, int kStride, bool kWhole>
BERTH_LOCAL void run_line_side_by_side(const QuantizedLines& lines, const QuantizedLine& line, const BlockFinish& block,
                                       const LineNumbers<kPixels>& n) {
  const int64_t out_step = lines.out_step, count = lines.out;
  uint8_t* out = line.out;
  int64_t column = -lines.padding;
  Raw x[4];
  see_columns<kPixels, kWhole>(lines, line, n, column, kStride, x);
  for (int64_t i = 0; i < count; i += kPixels, out += kPixels * out_step) {
    Raw next[4], odd[4];
    if (kStride == 2) see_columns<kPixels, kWhole>(lines, line, n, column + 1, kStride, odd);
    column += kPixels * kStride;
    see_columns<kPixels, kWhole>(lines, line, n, column, kStride, next);
    Ints sum[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Raw second = kStride == 1 ? moved_on<kPixels, 1>(x[j], next[j]) : odd[j];
      const Raw third = moved_on < kPixels, kStride == 2 ? 1 : 2 > (x[j], next[j]);
      sum[j] = add_products(block.start[j], row_of(x[j]), n.taps[0][j]);
      sum[j] = add_products(sum[j], row_of(second), n.taps[1][j]);
      sum[j] = add_products(sum[j], row_of(third), n.taps[2][j]);
      x[j] = next[j];
    }
    put_block<kPixels>(block, sum, out, out_step, count - i, lines.channels);
  }
}

// Channels of the block from `first` on.
template <int kPixels, int kStride, bool kWhole>
BERTH_TARGET void run_lines(const QuantizedFinish& f, const QuantizedLines& block_lines, int64_t first) {
  const BlockFinish block = block_finish<kPixels>(f, block_lines.offset, first);
  QuantizedLines lines = block_lines;
  lines.channels -= first;
  if (lines.channels > kRawBytes) lines.channels = kRawBytes;
  lines.weight += first;
  LineNumbers<kPixels> n;
  for (int tap = 0; tap < 3; ++tap) {
    for (int j = 0; j < 4; ++j) n.taps[tap][j] = columns_of(taps_below<kPixels>(lines, j, tap));
  }
  n.some = some_raw(lines.channels);
  n.flip = spread_int(static_cast<int32_t>(lines.flip));
  n.padding = flipped(spread_byte(static_cast<int8_t>(lines.zeros[0])), n.flip);
  for (int64_t i = 0; i < lines.count; ++i) {
    QuantizedLine line = lines.lines[i];
    for (const uint8_t*& row : line.row) row += first;
    line.out += first * (block.to_floats ? 4 : 1);
    if constexpr (kPixels == 1) {
      run_line<kStride, kWhole>(lines, line, block, n);
    } else {
      run_line_side_by_side<kPixels, kStride, kWhole>(lines, line, block, n);
    }
  }
}

template <int kStride>
BERTH_TARGET void lines_of_stride(const QuantizedFinish& f, const QuantizedLines& lines, int64_t first) {
  const int64_t channels = lines.channels - first;
  if (channels >= kRawBytes) return run_lines<1, kStride, true>(f, lines, first);
  if (channels > kRawBytes / 2) return run_lines<1, kStride, false>(f, lines, first);
  if (channels == kRawBytes / 2) return run_lines<2, kStride, true>(f, lines, first);
  if (channels > kRawBytes / 4 || kMostColumns < 4) return run_lines<2, kStride, false>(f, lines, first);
  if constexpr (kMostColumns == 4) run_lines<4, kStride, false>(f, lines, first);
}

BERTH_TARGET void depthwise_lines(const QuantizedFinish& f, const QuantizedLines& lines) {
  for (int64_t first = 0; first < lines.channels; first += kRawBytes) {
    if (lines.stride == 1) {
      lines_of_stride<1>(f, lines, first);
    } else {
      lines_of_stride<2>(f, lines, first);
    }
  }
}
