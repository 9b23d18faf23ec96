// Winograd's matrices of F(2x2, 3x3) and F(4x4, 3x3) for whole numbers (quantized_winograd.h), and what they are
// applied to. Included once an instruction set, within a namespace, behind
//
//   BERTH_TARGET                                of its functions
//   kRegister                                   bytes of a register: 32 or 64
//   Bytes, Wide                                 its own types of half a register and of one
//   load_bytes(from), flipped(Bytes, uint32_t), unsigned_numbers(Bytes)
//                                               half a register of bytes, xor a byte, as numbers of 16 bits
//   panel_numbers(from, to)                     a quad of a panel as [half][column][2] numbers of 16 bits
//
// A matrix is applied to a line of numbers:
//   input(x, step, y)                           kSide numbers, `step` apart, to as many
//   weight(g, y)                                three numbers to kSide
//   output(m, y)                                kSide sums to kTile
//   end(pixel, y, x)                            a pixel's number from its sum

// Vectors of the compiler's own, for its signs; sums wrap around.
using Words = int16_t __attribute__((vector_size(kRegister)));
using HalfWords = int16_t __attribute__((vector_size(32)));
using FewWords = int16_t __attribute__((vector_size(16)));
using Sums = uint32_t __attribute__((vector_size(kRegister)));
using SignedSums = int32_t __attribute__((vector_size(kRegister)));

#define BERTH_WINOGRAD_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

// Points 0, 1, -1 and infinity. Numbers of weights are twice as large as Lavin's.
struct TilesOfTwo {
  static constexpr int kTile = 2, kSide = 4;
  static constexpr int64_t kChannels = 128;
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

template <typename Numbers>
BERTH_WINOGRAD_LOCAL void store(const Numbers& numbers, void* to) {
  __builtin_memcpy(to, &numbers, sizeof(numbers));
}

// What a tile sees, times the matrix of inputs from both sides.
template <typename Matrices, typename Numbers>
BERTH_WINOGRAD_LOCAL void turn_input(Numbers* x, int64_t row_step, int16_t* to) {
  constexpr int kSide = Matrices::kSide;
  constexpr int64_t kRow = kWordQuads * kQuad / Matrices::kChannels;  // positions of a row
#pragma GCC unroll 6
  for (int j = 0; j < kSide; ++j) {
    Numbers y[kSide];
    Matrices::input(x + j, kSide, y);
#pragma GCC unroll 6
    for (int i = 0; i < kSide; ++i) x[kSide * i + j] = y[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kSide; ++i) {
    Numbers y[kSide];
    Matrices::input(x + kSide * i, 1, y);
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) {
      const int position = kSide * i + j;
      store<Numbers>(y[j], to + position / kRow * row_step + position % kRow * Matrices::kChannels);
    }
  }
}

template <typename Matrices>
BERTH_TARGET void see_tile(const uint8_t* const* pixels, int64_t channels, uint32_t flip, int64_t row_step,
                           int16_t* to) {
  constexpr int kPositions = Matrices::kSide * Matrices::kSide;
  constexpr int64_t kNumbers = kRegister / 2;
  int64_t channel = 0;
  for (; channel + kNumbers <= channels; channel += kNumbers) {
    Words x[kPositions];
#pragma GCC unroll 36
    for (int i = 0; i < kPositions; ++i) {
      x[i] = reinterpret_cast<Words>(unsigned_numbers(flipped(load_bytes(pixels[i] + channel), flip)));
    }
    turn_input<Matrices>(x, row_step, to + channel);
  }
  const __m128i flips = _mm_set1_epi32(static_cast<int32_t>(flip));
  if constexpr (kRegister == 64) {
    for (; channel + 16 <= channels; channel += 16) {
      HalfWords x[kPositions];
#pragma GCC unroll 36
      for (int i = 0; i < kPositions; ++i) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels[i] + channel));
        x[i] = reinterpret_cast<HalfWords>(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flips)));
      }
      turn_input<Matrices>(x, row_step, to + channel);
    }
  }
  for (; channel < channels; channel += kQuad) {
    FewWords x[kPositions];
    for (int i = 0; i < kPositions; ++i) {
      int32_t four;
      __builtin_memcpy(&four, pixels[i] + channel, sizeof(four));
      x[i] = reinterpret_cast<FewWords>(_mm_cvtepu8_epi16(_mm_xor_si128(_mm_cvtsi32_si128(four), flips)));
    }
    // What is written behind the last channel is of no use.
    turn_input<Matrices>(x, row_step, to + channel);
  }
}

// A window, times the matrix of weights from both sides.
template <typename Matrices>
BERTH_TARGET void turn_weight(const int8_t* from, int64_t tap_bytes, int64_t quads, int64_t step, int16_t* to) {
  constexpr int kSide = Matrices::kSide, kVectors = kQuadBytes * sizeof(int16_t) / kRegister;
  for (int64_t quad = 0; quad < quads; ++quad, from += kQuadBytes, to += kQuadBytes) {
    Words taps[9][kVectors];
#pragma GCC unroll 9
    for (int tap = 0; tap < 9; ++tap) panel_numbers(from + tap * tap_bytes, taps[tap]);
    for (int v = 0; v < kVectors; ++v) {
      Words x[kSide][3];
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) {
        const Words g[3] = {taps[j][v], taps[3 + j][v], taps[6 + j][v]};
        Words y[kSide];
        Matrices::weight(g, y);
#pragma GCC unroll 6
        for (int i = 0; i < kSide; ++i) x[i][j] = y[i];
      }
#pragma GCC unroll 6
      for (int i = 0; i < kSide; ++i) {
        Words y[kSide];
        Matrices::weight(x[i], y);
#pragma GCC unroll 6
        for (int j = 0; j < kSide; ++j) store<Words>(y[j], to + (kSide * i + j) * step + v * (kRegister / 2));
      }
    }
  }
}

template <typename Matrices>
BERTH_TARGET void end_tile(const int32_t* sums, int64_t step, int64_t columns, int32_t* to, int64_t line) {
  constexpr int kSide = Matrices::kSide, kTile = Matrices::kTile;
  constexpr int64_t kNumbers = kRegister / 4;
  for (int64_t column = 0; column < columns; column += kNumbers, sums += kNumbers, to += kNumbers) {
    Sums x[kTile * kSide];
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) {
      Sums m[kSide], y[kTile];
#pragma GCC unroll 6
      for (int i = 0; i < kSide; ++i) __builtin_memcpy(&m[i], sums + (kSide * i + j) * step, sizeof(Sums));
      Matrices::output(m, y);
#pragma GCC unroll 4
      for (int i = 0; i < kTile; ++i) x[kSide * i + j] = y[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) {
      Sums y[kTile];
      Matrices::output(x + kSide * i, y);
#pragma GCC unroll 4
      for (int j = 0; j < kTile; ++j) store<SignedSums>(Matrices::end(y[j], i, j), to + i * line + j * columns);
    }
  }
}

// `block`: more tiles read a turned weight for less, but what they see leaves the second-level cache.
template <typename Matrices>
constexpr QuantizedWinogradWords words_of(int64_t block) {
  static_assert(Matrices::kSide == Matrices::kTile + 2 && Matrices::kChannels % (kRegister / 2) == 0);
  static_assert(Matrices::kSide * Matrices::kSide * Matrices::kChannels % (kWordQuads * kQuad) == 0);
  QuantizedWinogradWords words;
  words.tile = Matrices::kTile;
  words.channels = Matrices::kChannels;
  words.block = block;
  words.divides_all = Matrices::kDividesAll;
  words.see_tile = see_tile<Matrices>;
  words.turn_weight = turn_weight<Matrices>;
  words.end_tile = end_tile<Matrices>;
  return words;
}
