// Winograd's matrices of F(2x2, 3x3) and F(4x4, 3x3) for whole numbers (quantized_winograd.h).
#include "kernels/cpu/quantized_winograd_words.h"

#if BERTH_QUANTIZED_AVX2

namespace berth::cpu {
namespace {

using winograd_words::SignedSums;
using winograd_words::Sums;
using winograd_words::Words;

// Points 0, 1, -1 and infinity. Numbers of weights are twice as large as Lavin's.
struct TilesOfTwo {
  static constexpr int kTile = 2, kSide = 4;
  static constexpr int64_t kChannels = 128;
  // More read a turned weight for less, but what they see leaves the second-level cache.
  static constexpr int64_t kBlock = 36;
  static constexpr bool kDividesAll = false;

  template <typename Numbers>
  BERTH_WINOGRAD_LOCAL void input(const Numbers* x, int step, Numbers* y) {
    y[0] = x[0] - x[2 * step];
    y[1] = x[step] + x[2 * step];
    y[2] = x[2 * step] - x[step];
    y[3] = x[step] - x[3 * step];
  }
  BERTH_WINOGRAD_LOCAL void weight(const Words* g, Words* y) {
    const Words ends = g[0] + g[2];
    y[0] = g[0] + g[0];
    y[1] = ends + g[1];
    y[2] = ends - g[1];
    y[3] = g[2] + g[2];
  }
  BERTH_WINOGRAD_LOCAL void output(const Sums* m, Sums* y) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
  BERTH_WINOGRAD_LOCAL SignedSums end(Sums pixel, int, int) { return reinterpret_cast<SignedSums>(pixel) >> 2; }
};

// Points 0, 1, -1, 2, -2 and infinity. Rows of weights are Lavin's times 4, -6, -6, 24, 24 and 1. So pixels of a line
// are his times 24, 12, 6 and 6 when the sums are weighed with 24 over those, and less the twos that a pixel has in all
// of its sums.
struct TilesOfFour {
  static constexpr int kTile = 4, kSide = 6;
  static constexpr int64_t kChannels = 64;
  static constexpr int64_t kBlock = 24;
  static constexpr bool kDividesAll = true;

  template <typename Numbers>
  BERTH_WINOGRAD_LOCAL void input(const Numbers* x, int step, Numbers* y) {
    const Numbers x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step];
    const Numbers even = x4 - (x2 << 2), odd = x3 - (x1 << 2), ends = x4 - x2, twice = (x3 - x1) << 1;
    y[0] = ((x[0] - x2) << 2) + ends;
    y[1] = even + odd;
    y[2] = even - odd;
    y[3] = ends + twice;
    y[4] = ends - twice;
    y[5] = x[5 * step] - x3 - (twice << 1);
  }
  BERTH_WINOGRAD_LOCAL void weight(const Words* g, Words* y) {
    const Words ends = g[0] + g[2], far = g[0] + (g[2] << 2), twice = g[1] << 1;
    y[0] = g[0];
    y[1] = ends + g[1];
    y[2] = ends - g[1];
    y[3] = far + twice;
    y[4] = far - twice;
    y[5] = g[2];
  }
  BERTH_WINOGRAD_LOCAL void output(const Sums* m, Sums* y) {
    const Sums near = m[1] + m[2], between = m[1] - m[2], far = m[3] + m[4], apart = m[3] - m[4];
    y[0] = (m[0] << 2) + (m[0] << 1) - (near << 2) + far;
    y[1] = apart - (between << 1);
    y[2] = far - near;
    y[3] = (apart << 1) - between + (m[5] << 2) + (m[5] << 1);
  }
  // A number of 32 bits times this is a ninth of it, if it has a whole one.
  static constexpr uint32_t kNinth = 0x38E38E39;
  static_assert(uint32_t{9} * kNinth == 1);
  BERTH_WINOGRAD_LOCAL SignedSums end(Sums pixel, int y, int x) {
    constexpr int kTwos[kTile] = {3, 2, 1, 1};
    return reinterpret_cast<SignedSums>(pixel * kNinth) >> (kTwos[y] + kTwos[x]);
  }
};

BERTH_WINOGRAD_TARGET void order_weight(const int8_t* from, int64_t tap_bytes, int64_t quads, int8_t* to) {
  // The halves of four columns beside each other.
  const __m256i halves =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (int tap = 0; tap < 9; ++tap, from += tap_bytes) {
    for (int64_t i = 0; i < quads * kQuadBytes; i += kQuadBytes, to += kQuadBytes) {
      const __m256i low = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)), halves);
      const __m256i high =
          _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i) + 1), halves);
      auto* const out = reinterpret_cast<__m256i*>(to);
      _mm256_store_si256(out, _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(low, high), 0xD8));
      _mm256_store_si256(out + 1, _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(low, high), 0xD8));
    }
  }
}

}  // namespace

const QuantizedWinogradWords kWinograd2Avx2 = winograd_words::words_of<TilesOfTwo>(order_weight);
const QuantizedWinogradWords kWinograd4Avx2 = winograd_words::words_of<TilesOfFour>(order_weight);

}  // namespace berth::cpu
#endif
