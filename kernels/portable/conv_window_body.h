// The sliding-window loops of one instruction set; gemm_tile_body.h includes it.
//
// No include guard: the text is meant to be compiled several times.

// 4 registers of results at a time hide the latency of the additions.
constexpr int kWindowVectors = 4;

/// See WindowSumFunction.
BERTH_TARGET void window_sum(const float* in, const int64_t* offsets, const float* weights, int taps, float start,
                             int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kWindowVectors * kVector) {
    Vector sum[kWindowVectors];
    BERTH_UNROLL
    for (int v = 0; v < kWindowVectors; ++v) sum[v] = start - Vector{};
    for (int t = 0; t < taps; ++t) {
      const float* from = in + i + offsets[t];
      BERTH_UNROLL
      for (int v = 0; v < kWindowVectors; ++v) {
        Vector x;
        __builtin_memcpy(&x, from + v * kVector, sizeof(Vector));
        sum[v] += weights[t] * x;
      }
    }
    __builtin_memcpy(out + i, sum, sizeof sum);
  }
}

/// See WindowMaxFunction.
BERTH_TARGET void window_max(const float* in, const int64_t* offsets, int taps, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kWindowVectors * kVector) {
    Vector most[kWindowVectors];
    BERTH_UNROLL
    for (int v = 0; v < kWindowVectors; ++v) most[v] = -__builtin_inff() - Vector{};
    for (int t = 0; t < taps; ++t) {
      const float* from = in + i + offsets[t];
      BERTH_UNROLL
      for (int v = 0; v < kWindowVectors; ++v) {
        Vector x;
        __builtin_memcpy(&x, from + v * kVector, sizeof(Vector));
        // Once NaN, nothing compares greater.
        most[v] = ((x > most[v]) | (x != x)) ? x : most[v];
      }
    }
    __builtin_memcpy(out + i, most, sizeof most);
  }
}
