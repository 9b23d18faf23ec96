#include "kernels/cpu/narrow_linear_digits.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace berth::cpu {
namespace {

int64_t chunks_in(const NarrowLayout& layout) {
  return std::max<int64_t>(1, ceil_div(std::min(layout.block, layout.depth), NarrowDigits::kChunk));
}

// Whole registers of 16 elements, and one more that the last may run into.
int64_t padded(int64_t depth) { return align_up<int64_t>(depth, 64) + 64; }

}  // namespace

NarrowDigits::NarrowDigits(const NarrowLayout& layout, void* memory)
    : depth_(padded(layout.depth)),
      chunks_(chunks_in(layout)),
      all_chunks_(chunks_ * layout.blocks),
      digits_(static_cast<int8_t*>(memory)),
      sums_(reinterpret_cast<int32_t*>(digits_ + kNarrowRows * kDigits * depth_)),
      steps_(reinterpret_cast<float*>(sums_ + kNarrowRows * all_chunks_ * 4)) {}

size_t NarrowDigits::bytes(const NarrowLayout& layout) {
  return kNarrowRows * (kDigits * padded(layout.depth) + chunks_in(layout) * layout.blocks * 20);
}

}  // namespace berth::cpu

#if HWY_ARCH_X86
#if defined(__GNUC__) && !defined(__clang__)
// The headers of g++ 12 make undefined registers of variables that are not set.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#define BERTH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL _Pragma("GCC unroll 4")
#endif
#define BERTH_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]]

namespace berth::cpu {
namespace {

constexpr int kDigits = NarrowDigits::kDigits;
constexpr int64_t kLanes = 16;

struct Chunk {
  int64_t begin, end, index;
};

template <typename F>
void for_each_chunk(const NarrowLayout& layout, int64_t chunks, F&& f) {
  for (int64_t b = 0; b < layout.blocks; ++b) {
    const int64_t end = std::min(layout.depth, (b + 1) * layout.block);
    int64_t c = 0;
    for (int64_t k = b * layout.block; k < end; k += NarrowDigits::kChunk, ++c) {
      f(b, Chunk{k, std::min(end, k + NarrowDigits::kChunk), b * chunks + c});
    }
  }
}

__mmask16 mask_of(int64_t left) { return left >= kLanes ? 0xFFFF : static_cast<__mmask16>((1 << left) - 1); }

BERTH_VNNI float largest_of(const float* x, int64_t n) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i most = _mm512_setzero_si512();
  for (int64_t k = 0; k < n; k += kLanes) {
    const __m512 v = _mm512_maskz_loadu_ps(mask_of(n - k), x + k);
    // As integers, so that NaN is the largest.
    most = _mm512_max_epi32(most, _mm512_and_si512(_mm512_castps_si512(v), magnitude));
  }
  return __builtin_bit_cast(float, _mm512_reduce_max_epi32(most));
}

BERTH_VNNI void split(const float* x, const Chunk& chunk, float steps, int64_t row, const NarrowDigits& digits) {
  const __m512 factor = _mm512_set1_ps(steps);
  __m512i sum[kDigits] = {};
  for (int64_t k = chunk.begin; k < chunk.end; k += kLanes) {
    __m512i rest = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask_of(chunk.end - k), x + k), factor));
    for (int d = 0; d < kDigits; ++d) {
      const __m512i digit = _mm512_srai_epi32(_mm512_slli_epi32(rest, 24), 24);
      rest = _mm512_srai_epi32(_mm512_sub_epi32(rest, digit), 8);
      sum[d] = _mm512_add_epi32(sum[d], digit);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(digits.digits(row, d) + k), _mm512_cvtepi32_epi8(digit));
    }
  }
  for (int d = 0; d < kDigits; ++d) digits.sums(row, chunk.index)[d] = _mm512_reduce_add_epi32(sum[d]);
}

// Of one block.
struct Numbers {
  const float* scales;
  const int8_t* zeros;
};

BERTH_VNNI inline __m512i four(const int8_t* digits) {
  int32_t bytes;
  __builtin_memcpy(&bytes, digits, sizeof bytes);
  return _mm512_set1_epi32(bytes);
}

// One row and the columns from `column` on, as many as kVectors registers hold. Several rows have their turns: a chunk of
// a panel stays in a first-level cache, and sums of more rows would not stay in registers.
template <int64_t kBits, int kVectors>
BERTH_VNNI [[gnu::noinline]] void add_columns(const uint8_t* panel, int64_t width, int64_t column,
                                              const Numbers& numbers, const Chunk& chunk, const NarrowDigits& digits,
                                              int64_t row, float* out) {
  constexpr int64_t kGroup = 32 / kBits;
  constexpr int kCentre = 1 << (kBits - 1);
  __m512i sum[kDigits][kVectors];
  const int32_t* sums = digits.sums(row, chunk.index);
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    __m512i centre = _mm512_set1_epi32(-kCentre);
    if (numbers.zeros != nullptr) {
      const auto* zeros = reinterpret_cast<const __m128i*>(numbers.zeros + column + v * kLanes);
      centre = _mm512_sub_epi32(centre, _mm512_cvtepi8_epi32(_mm_loadu_si128(zeros)));
    }
    BERTH_UNROLL
    for (int d = 0; d < kDigits; ++d) sum[d][v] = _mm512_mullo_epi32(centre, _mm512_set1_epi32(sums[d]));
  }
  const int8_t* x[kDigits] = {digits.digits(row, 0), digits.digits(row, 1), digits.digits(row, 2)};
  const uint8_t* weight = panel + (chunk.begin / kGroup * width + column) * 4;
  const __m512i low = _mm512_set1_epi8(15);
  for (int64_t k = chunk.begin; k < chunk.end; k += kGroup, weight += width * 4) {
    __m512i bytes[kVectors];
    __m512i upper[kVectors];
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      bytes[v] = _mm512_loadu_si512(weight + v * 64);
      if constexpr (kBits == 4) {
        upper[v] = _mm512_and_si512(_mm512_srli_epi16(bytes[v], 4), low);
        bytes[v] = _mm512_and_si512(bytes[v], low);
      }
    }
    BERTH_UNROLL
    for (int d = 0; d < kDigits; ++d) {
      const __m512i first = four(x[d] + k);
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[d][v] = _mm512_dpbusd_epi32(sum[d][v], bytes[v], first);
      if constexpr (kBits == 4) {
        const __m512i second = four(x[d] + k + 4);
        BERTH_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[d][v] = _mm512_dpbusd_epi32(sum[d][v], upper[v], second);
      }
    }
  }
  const __m512 step = _mm512_set1_ps(digits.step(row, chunk.index));
  const __m512 base = _mm512_set1_ps(256);
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const __m512 most = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[2][v]), base, _mm512_cvtepi32_ps(sum[1][v]));
    const __m512 all = _mm512_fmadd_ps(most, base, _mm512_cvtepi32_ps(sum[0][v]));
    float* to = out + row * kNarrowPanel + column + v * kLanes;
    const __m512 scale = _mm512_mul_ps(_mm512_loadu_ps(numbers.scales + column + v * kLanes), step);
    _mm512_storeu_ps(to, _mm512_fmadd_ps(all, scale, _mm512_loadu_ps(to)));
  }
}

template <int64_t kBits>
void add_row(const uint8_t* panel, int64_t width, const Numbers& numbers, const Chunk& chunk,
             const NarrowDigits& digits, int64_t row, float* out) {
  if (width == kNarrowPanel) return add_columns<kBits, 4>(panel, width, 0, numbers, chunk, digits, row, out);
  for (int64_t column = 0; column < width; column += kLanes) {
    add_columns<kBits, 1>(panel, width, column, numbers, chunk, digits, row, out);
  }
}

}  // namespace

bool has_narrow_digits() { return (hwy::SupportedTargets() & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni"); }

bool split_into_digits(const NarrowLayout& layout, const float* input, int64_t rows, const NarrowDigits& digits) {
  // Powers of two: an element times one is exact.
  constexpr int kMostExponent = 100;
  bool fits = true;
  for (int64_t i = 0; i < rows; ++i) {
    const float* x = input + i * layout.depth;
    for_each_chunk(layout, digits.chunks_of_block(), [&](int64_t, const Chunk& chunk) {
      const float largest = largest_of(x + chunk.begin, chunk.end - chunk.begin);
      int exponent = 0;
      std::frexp(largest, &exponent);
      fits = fits && std::isfinite(largest) && std::abs(exponent) <= kMostExponent;
      if (!fits) return;
      split(x, chunk, std::ldexp(1.0f, 22 - exponent), i, digits);
      digits.step(i, chunk.index) = std::ldexp(1.0f, exponent - 22);
    });
    if (!fits) return false;
  }
  return true;
}

void multiply_digits(const NarrowPacked& packed, int64_t panel, const NarrowDigits& digits, int64_t rows, float* sum) {
  const NarrowLayout& layout = packed.layout;
  const int64_t width = layout.width(panel);
  const auto add = layout.bits == 8 ? add_row<8> : add_row<4>;
  std::fill_n(sum, rows * kNarrowPanel, 0.0f);
  for_each_chunk(layout, digits.chunks_of_block(), [&](int64_t block, const Chunk& chunk) {
    const int64_t at = packed.panel_numbers(panel) + block * width;
    const Numbers numbers = {packed.scales + at, packed.zeros == nullptr ? nullptr : packed.zeros + at};
    for (int64_t i = 0; i < rows; ++i) add(packed.panel_weight(panel), width, numbers, chunk, digits, i, sum);
  });
}

}  // namespace berth::cpu

#else

namespace berth::cpu {

bool has_narrow_digits() { return false; }
bool split_into_digits(const NarrowLayout&, const float*, int64_t, const NarrowDigits&) { return false; }
void multiply_digits(const NarrowPacked&, int64_t, const NarrowDigits&, int64_t, float*) {}

}  // namespace berth::cpu

#endif
