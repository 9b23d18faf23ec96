// Lines of depthwise convolutions of three taps a row, in registers of 512 bits. Included once by each
// quantized_tile_*.cc of such registers, after quantized_depthwise_512.h. No include guard.
//
// A column of what a line sees, three numbers of each channel below each other, is interleaved once and multiplied by
// the weights of every tap that sees it. A block of at most 32 or 16 channels has kPixels, two or four, columns side by
// side in a register.

// The taps of column `tap` of the window, of register `j` of a block.
template <int kPixels>
BERTH_LOCAL Raw taps_below(const QuantizedLines& lines, int j, int tap) {
  const int8_t* from = lines.weight + j * kDepthwiseChannels;
  Raw below = spread_int(0);
  for (int64_t row = 0; row < lines.quads; ++row, from += kQuad * kDepthwiseChannels) {
    const Raw numbers = _mm512_srl_epi32(_mm512_loadu_si512(from), _mm_cvtsi32_si128(8 * tap));
    const Raw number = _mm512_and_si512(numbers, spread_int(0xFF));
    below = _mm512_or_si512(below, _mm512_sll_epi32(number, _mm_cvtsi32_si128(static_cast<int>(8 * row))));
  }
  return repeated<kPixels>(below);
}

template <bool kWhole>
BERTH_LOCAL __m256i half_bytes(const uint8_t* from, __mmask64 mask) {
  return kWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from);
}

template <bool kWhole>
BERTH_LOCAL __m128i quarter_bytes(const uint8_t* from, __mmask64 mask) {
  return kWhole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                : _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), from);
}

// kPixels columns of one row, `step` bytes apart.
template <int kPixels, bool kWhole>
BERTH_LOCAL Raw columns_of_row(const uint8_t* from, int64_t step, __mmask64 mask) {
  if (kPixels == 1) return kWhole ? load_raw(from) : _mm512_maskz_loadu_epi8(mask, from);
  if (kPixels == 2) {
    const Raw first = _mm512_castsi256_si512(half_bytes<kWhole>(from, mask));
    return _mm512_inserti64x4(first, half_bytes<kWhole>(from + step, mask), 1);
  }
  Raw all = _mm512_castsi128_si512(quarter_bytes<kWhole>(from, mask));
  all = _mm512_inserti32x4(all, quarter_bytes<kWhole>(from + step, mask), 1);
  all = _mm512_inserti32x4(all, quarter_bytes<kWhole>(from + 2 * step, mask), 2);
  return _mm512_inserti32x4(all, quarter_bytes<kWhole>(from + 3 * step, mask), 3);
}

// The same where some columns lie in the padding. Seldom: not in line.
template <int kPixels>
__attribute__((noinline)) void copy_columns(const QuantizedLines& lines, const QuantizedLine& line, int row,
                                            int64_t column, int64_t apart, uint8_t* to) {
  for (int i = 0; i < kPixels; ++i, column += apart, to += kDepthwiseChannels / kPixels) {
    const bool inside = column >= 0 && column < lines.in;
    const uint8_t* from = inside ? line.row[row] + column * line.step[row] : lines.zeros;
    __builtin_memcpy(to, from, lines.channels);
  }
}

// What the numbers of one line have in common; in registers, as far as there are any.
template <int kPixels>
struct LineNumbers {
  Columns taps[3][4];
  __mmask64 mask;
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
      row[r] = flipped(columns_of_row<kPixels, kWhole>(line.row[r] + column * step, apart * step, n.mask), n.flip);
    }
  } else if (kPixels == 1) {
    x[0] = x[1] = x[2] = x[3] = n.padding;
    return;
  } else {
    alignas(64) uint8_t bytes[3][kDepthwiseChannels];
    for (int r = 0; r < 3; ++r) {
      copy_columns<kPixels>(lines, line, r, column, apart, bytes[r]);
      row[r] = flipped(load_raw(bytes[r]), n.flip);
    }
  }
  interleave(row[0], row[1], row[2], row[2], x);
}

// Columns one to the right, or two.
template <int kPixels, int kColumns>
BERTH_LOCAL Raw moved_on(Raw x, Raw next) {
  return _mm512_alignr_epi32(next, x, kColumns * kLane / kPixels % kLane);
}

// The first `pixels` of kPixels columns of results.
template <int kPixels>
BERTH_LOCAL void put_columns(uint8_t* out, int64_t step, int64_t pixels, int64_t channels, __m512i bytes) {
  if (kPixels == 1) return put_wide<4>(out, channels, bytes);
  constexpr int kVectors = 4 / kPixels;
  if (pixels >= kPixels && channels == kVectors * kLane && step == channels) return _mm512_storeu_si512(out, bytes);
  if (kPixels == 2) {
    put_wide<kVectors>(out, channels, bytes);
    if (pixels > 1)
      put_wide<kVectors>(out + step, channels, _mm512_castsi256_si512(_mm512_extracti64x4_epi64(bytes, 1)));
    return;
  }
  put_wide<kVectors>(out, channels, bytes);
  if (pixels > 1) put_wide<kVectors>(out + step, channels, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 1)));
  if (pixels > 2)
    put_wide<kVectors>(out + 2 * step, channels, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 2)));
  if (pixels > 3)
    put_wide<kVectors>(out + 3 * step, channels, _mm512_castsi128_si512(_mm512_extracti32x4_epi32(bytes, 3)));
}

// One column of a whole block at a time. What a column adds to results to its right waits in `one`, which lacks a
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
    put_wide<4>(out, lines.channels, block_bytes(block, sum));
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
      const Raw third = kStride == 2   ? moved_on<kPixels, 1>(x[j], next[j])
                        : kPixels == 2 ? next[j]
                                       : moved_on<kPixels, 2>(x[j], next[j]);
      sum[j] = add_products(block.start[j], row_of(x[j]), n.taps[0][j]);
      sum[j] = add_products(sum[j], row_of(second), n.taps[1][j]);
      sum[j] = add_products(sum[j], row_of(third), n.taps[2][j]);
      x[j] = next[j];
    }
    put_columns<kPixels>(out, out_step, count - i, lines.channels, block_bytes(block, sum));
  }
}

template <int kPixels, int kStride, bool kWhole>
BERTH_TARGET void run_lines(const QuantizedFinish& f, const QuantizedLines& lines) {
  const BlockFinish block = block_finish<kPixels>(f, lines.offset);
  LineNumbers<kPixels> n;
  for (int tap = 0; tap < 3; ++tap) {
    for (int j = 0; j < 4; ++j) n.taps[tap][j] = columns_of(taps_below<kPixels>(lines, j, tap));
  }
  n.mask = kWhole ? ~uint64_t{0} : (uint64_t{1} << lines.channels) - 1;
  n.flip = spread_int(static_cast<int32_t>(lines.flip));
  n.padding = flipped(_mm512_set1_epi8(static_cast<int8_t>(lines.zeros[0])), n.flip);
  for (int64_t i = 0; i < lines.count; ++i) {
    if constexpr (kPixels == 1) {
      run_line<kStride, kWhole>(lines, lines.lines[i], block, n);
    } else {
      run_line_side_by_side<kPixels, kStride, kWhole>(lines, lines.lines[i], block, n);
    }
  }
}

template <int kStride>
BERTH_TARGET void lines_of_stride(const QuantizedFinish& f, const QuantizedLines& lines) {
  if (lines.channels == 64) return run_lines<1, kStride, true>(f, lines);
  if (lines.channels > 32) return run_lines<1, kStride, false>(f, lines);
  if (lines.channels == 32) return run_lines<2, kStride, true>(f, lines);
  if (lines.channels > 16) return run_lines<2, kStride, false>(f, lines);
  run_lines<4, kStride, false>(f, lines);
}

BERTH_TARGET void depthwise_lines(const QuantizedFinish& f, const QuantizedLines& lines) {
  if (lines.stride == 1) return lines_of_stride<1>(f, lines);
  lines_of_stride<2>(f, lines);
}
