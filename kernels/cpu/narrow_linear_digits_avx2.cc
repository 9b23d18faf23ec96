// Digits with AVX2, for weights of 4 bits: two products of a digit and a weight are added in 16 bits, and those of 32
// rows still fit. A register of 32 bytes has 8 columns.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/narrow_linear_digits_run.h"
#include "kernels/cpu/narrow_numbers_x86.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {
namespace {

constexpr int kDigits = NarrowDigits::kDigits;
constexpr int64_t kLanes = 8;
constexpr int kVectors = 2;
constexpr int64_t kColumns = kVectors * kLanes;
constexpr int64_t kGroup = 8;  // rows of the weight in a register
constexpr int64_t kShort = 32;

// The rest of the last register is zeros.
BERTH_AVX2 __m256 load_part(const float* x, int64_t n) {
  if (n >= kLanes) return _mm256_loadu_ps(x);
  alignas(32) float part[kLanes] = {};
  std::memcpy(part, x, n * sizeof(float));
  return _mm256_load_ps(part);
}

BERTH_AVX2 float largest_of(const float* x, int64_t n) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i most = _mm256_setzero_si256();
  for (int64_t k = 0; k < n; k += kLanes) {
    // As integers, so that NaN is the largest.
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(load_part(x + k, n - k)), magnitude));
  }
  alignas(32) int32_t lanes[kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
  return __builtin_bit_cast(float, *std::max_element(lanes, lanes + kLanes));
}

BERTH_AVX2 void split(const float* x, int64_t n, float steps, int shift, int8_t* to, int32_t* sums) {
  const __m256 factor = _mm256_set1_ps(steps);
  const __m256i half = _mm256_set1_epi32(0x808080);
  const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80808080));
  const __m256i by_digit =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, -1, -1, -1, -1));
  const __m256i byte_ones = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  for (int64_t k = 0; k < n; k += kLanes, to += kDigits * kLanes) {
    // Digits from 0 to 255 of the number that is half of all numbers greater.
    const __m256i rounded = _mm256_cvtps_epi32(_mm256_mul_ps(load_part(x + k, n - k), factor));
    const __m256i steps_of = _mm256_slli_epi32(rounded, shift);
    const __m256i digits = _mm256_shuffle_epi8(_mm256_xor_si256(_mm256_add_epi32(steps_of, half), sign), by_digit);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(byte_ones, digits), ones));
    // Each is followed by four bytes of nothing, where the next begin.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(digits));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + kDigits * 4), _mm256_extracti128_si256(digits, 1));
  }
  alignas(32) int32_t lanes[kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
  for (int d = 0; d < kDigits; ++d) sums[d] = lanes[d] + lanes[4 + d];
}

BERTH_AVX2_INLINE __m256i four(const int8_t* digits) {
  int32_t bytes;
  std::memcpy(&bytes, digits, sizeof bytes);
  return _mm256_set1_epi32(bytes);
}

// Bytes: two pages, which processors do not cross on their own.
constexpr int64_t kAhead = 8192;

using Sums = __m256i[kDigits][kVectors];

// Products of up to kShort rows of the weight, which are added in 16 bits.
BERTH_AVX2_INLINE void add_short(const uint8_t* weight, int64_t row_bytes, const int8_t* x, int64_t rows, Sums& sum) {
  const __m256i low = _mm256_set1_epi8(15);
  Sums part;
  BERTH_UNROLL
  for (int d = 0; d < kDigits; ++d) part[d][0] = part[d][1] = _mm256_setzero_si256();
  for (int64_t k = 0; k < rows; k += kGroup, weight += row_bytes, x += kDigits * kGroup) {
    _mm_prefetch(reinterpret_cast<const char*>(weight) + kAhead, _MM_HINT_T0);
    __m256i lower[kVectors];
    __m256i upper[kVectors];
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight) + v);
      upper[v] = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
      lower[v] = _mm256_and_si256(bytes, low);
    }
    BERTH_UNROLL
    for (int d = 0; d < kDigits; ++d) {
      const __m256i first = four(x + 4 * d);
      const __m256i second = four(x + 4 * (kDigits + d));
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        part[d][v] = _mm256_add_epi16(part[d][v], _mm256_maddubs_epi16(lower[v], first));
        part[d][v] = _mm256_add_epi16(part[d][v], _mm256_maddubs_epi16(upper[v], second));
      }
    }
  }
  const __m256i ones = _mm256_set1_epi16(1);
  BERTH_UNROLL
  for (int d = 0; d < kDigits; ++d) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[d][v] = _mm256_add_epi32(sum[d][v], _mm256_madd_epi16(part[d][v], ones));
  }
}

// One chunk, kColumns columns.
BERTH_AVX2_INLINE void add_columns(const DigitTurn& turn, const DigitRows& row, int64_t column, float* out) {
  const NarrowDigits::Chunk& chunk = *row.chunk;
  Sums sum;
  BERTH_UNROLL
  for (int d = 0; d < kDigits; ++d) sum[d][0] = sum[d][1] = _mm256_set1_epi32(chunk.start[d]);
  const int64_t row_bytes = turn.width * 4;
  for (int64_t k = 0; k < turn.rows; k += kShort) {
    add_short(turn.weight + k / kGroup * row_bytes + column * 4, row_bytes, row.digits + kDigits * k,
              std::min(kShort, turn.rows - k), sum);
  }
  const __m256 base = _mm256_set1_ps(256);
  const bool has_zeros = turn.numbers.has_zeros();
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = column + v * kLanes;
    const __m256i most = _mm256_add_epi32(_mm256_slli_epi32(sum[2][v], 8), sum[1][v]);
    __m256 all = _mm256_fmadd_ps(_mm256_cvtepi32_ps(most), base, _mm256_cvtepi32_ps(sum[0][v]));
    if (has_zeros) all = _mm256_fnmadd_ps(zeros_of_8(turn.numbers, at), _mm256_set1_ps(chunk.total), all);
    all = _mm256_mul_ps(all, _mm256_set1_ps(chunk.step));
    _mm256_storeu_ps(out + at, _mm256_fmadd_ps(all, scales_of_8(turn.numbers, at), _mm256_loadu_ps(out + at)));
  }
}

BERTH_AVX2 void add_row(const DigitTurn& whole, DigitRows row, float* out) {
  DigitTurn turn = whole;
  for (int64_t left = whole.rows; left > 0; left -= whole.block) {
    turn.rows = std::min(left, whole.block);
    for (int64_t column = 0; column < turn.width; column += kColumns) add_columns(turn, row, column, out);
    turn.weight += whole.block / kGroup * turn.width * 4;
    turn.numbers.advance(turn.width);
    row.digits += kDigits * whole.block;
    ++row.chunk;
  }
}

void add_rows(const DigitTurn& turn, DigitRows rows, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i, out += kNarrowPanel) {
    add_row(turn, rows, out);
    rows.digits += rows.row_bytes;
    rows.chunk += rows.row_chunks;
  }
}

}  // namespace

DigitFunctions avx2_digit_functions() { return {largest_of, split, add_rows}; }

}  // namespace berth::cpu

#endif
