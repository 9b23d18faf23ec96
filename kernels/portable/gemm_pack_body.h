// The packing functions of one instruction set; gemm_tile_body.h includes it.
//
// No include guard: the text is meant to be compiled several times.

using Four = float __attribute__((vector_size(16)));

/// out[k * step + r] = in[r * stride + k] for 0 <= r < rows, 0 <= k < depth.
BERTH_TARGET inline void transpose(const float* in, int64_t stride, int rows, int64_t depth, float* out, int64_t step) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* row[4];
    for (int i = 0; i < 4; ++i) row[i] = in + (r + i) * stride;
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      Four x[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&x[i], row[i] + k, sizeof(Four));
      const Four low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
      const Four high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
      const Four low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
      const Four high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
      const Four y[4] = {
          __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
          __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
      for (int i = 0; i < 4; ++i) __builtin_memcpy(out + (k + i) * step + r, &y[i], sizeof(Four));
    }
    for (; k < depth; ++k) {
      for (int i = 0; i < 4; ++i) out[k * step + r + i] = row[i][k];
    }
  }
  for (; r < rows; ++r) {
    for (int64_t k = 0; k < depth; ++k) out[k * step + r] = in[r * stride + k];
  }
}

/// Whether consecutive depths are consecutive elements of A.
inline bool depth_is_contiguous_in_a(const Product& p) {
  int64_t expected = 1;
  for (int i = 2; i >= 0; --i) {
    if (p.axis[i].taps > 1 && p.axis[i].tap_a != expected) return false;
    expected *= p.axis[i].taps;
  }
  return p.channels == 1 || p.channel_a == expected;
}

/// See PackRowsFunction.
BERTH_TARGET void pack_rows(const Product& p, const float* a, int64_t first, int rows, int64_t k0, int64_t depth,
                            float* out) {
  const float* in = a + first * p.row_a;
  if (depth_is_contiguous_in_a(p)) {
    transpose(in + k0, p.row_a, rows, depth, out, rows);
  } else {
    DepthCursor cursor(p, k0);
    for (int64_t k = 0; k < depth; ++k, cursor.next(p)) {
      const float* column = in + cursor.a_offset(p);
      for (int r = 0; r < rows; ++r) out[k * rows + r] = column[r * p.row_a];
    }
  }
  if (p.a_scale.real != 1) {
    for (int64_t i = 0; i < depth * rows; ++i) out[i] *= static_cast<float>(p.a_scale.real);
  }
}

template <int kWidth>
BERTH_TARGET inline void copy_wide_rows(const float* in, int64_t in_step, int64_t count, float* out, int64_t out_step) {
  for (int64_t k = 0; k < count; ++k) __builtin_memcpy(out + k * out_step, in + k * in_step, kWidth * sizeof(float));
}

/// out[k * out_step + j] = in[k * in_step + j * stride] for 0 <= k < count, 0 <= j < width.
BERTH_TARGET inline void copy_rows(const float* in, int64_t in_step, int64_t stride, int64_t width, int64_t count,
                                   float* out, int64_t out_step) {
  if (stride == 1) {
    if (width == kVector) return copy_wide_rows<kVector>(in, in_step, count, out, out_step);
    if (width == 2 * kVector) return copy_wide_rows<2 * kVector>(in, in_step, count, out, out_step);
    for (int64_t k = 0; k < count; ++k) {
      const float* from = in + k * in_step;
      float* to = out + k * out_step;
      int64_t j = 0;
      for (; j + 4 <= width; j += 4) __builtin_memcpy(to + j, from + j, 4 * sizeof(float));
      for (; j < width; ++j) to[j] = from[j];
    }
  } else if (stride == 2) {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t j = 0; j < width; ++j) out[k * out_step + j] = in[k * in_step + 2 * j];
    }
  } else {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t j = 0; j < width; ++j) out[k * out_step + j] = in[k * in_step + j * stride];
    }
  }
}

/// out[k * out_step + j] = 0 for 0 <= k < count, 0 <= j < width.
BERTH_TARGET inline void clear_rows(int64_t width, int64_t count, float* out, int64_t out_step) {
  if (width <= 0) return;
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t j = 0; j < width; ++j) out[k * out_step + j] = 0;
  }
}

/// The elements of `run` seen through one tap, for `count` channels from `b` on.
BERTH_TARGET inline void pack_run(const Product& p, const float* b, const Run& run, const int64_t (&tap)[3],
                                  int64_t count, float* out, int64_t out_step) {
  const VisibleRun seen = find_visible(p, run, tap);
  clear_rows(seen.low, count, out, out_step);
  clear_rows(run.length - seen.high, count, out + seen.high, out_step);
  if (seen.low == seen.high) return;
  copy_rows(b + seen.b, p.channel_b, p.axis[2].step * p.axis[2].b, seen.high - seen.low, count, out + seen.low,
            out_step);
}

/// See PackColumnsFunction.
BERTH_TARGET void pack_columns(const Product& p, const float* b, int64_t first, int valid, int width, int64_t k0,
                               int64_t depth, float* out) {
  clear_rows(width - valid, depth, out + valid, width);
  const int64_t taps = p.taps();
  if (is_matrix(p)) {
    const int64_t stride = p.axis[2].b;
    const float* in = b + first * stride + k0 * p.channel_b;
    if (p.channel_b == 1 && stride != 1) return transpose(in, stride, valid, depth, out, width);
    return copy_rows(in, p.channel_b, stride, valid, depth, out, width);
  }
  Run runs[kMaxTileColumns];
  const int run_count = find_runs(p, first, valid, runs);
  DepthCursor cursor(p, k0);
  // Each tap of the block once, with all its channels: they differ by one step only.
  for (int64_t k = 0; k < depth && k < taps; ++k, cursor.next(p)) {
    const int64_t count = (depth - k + taps - 1) / taps;
    for (int r = 0; r < run_count; ++r) {
      pack_run(p, b + cursor.channel * p.channel_b, runs[r], cursor.tap, count, out + k * width + runs[r].first,
               taps * width);
    }
  }
}
