#include "kernels/cpu/narrow_linear_digits.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>

#include "base/math.h"
#include "kernels/cpu/narrow_linear_digits_run.h"

namespace berth::cpu {
namespace {

constexpr int64_t kCacheBytes = 3 << 18;

// Whole registers of 16 elements, and one more that the last may run into.
int64_t padded(int64_t depth) { return align_up<int64_t>(depth, 64) + 64; }

// Rows of the weight in a turn.
constexpr int64_t kTurn = 512;

#if HWY_ARCH_X86_64

DigitFunctions digit_functions(const NarrowLayout& layout) {
  return has_vnni() ? vnni_digit_functions(layout.bits, layout.digits) : avx2_digit_functions();
}

#else

DigitFunctions digit_functions(const NarrowLayout&) { return {}; }

#endif

}  // namespace

bool has_vnni() {
#if HWY_ARCH_X86_64
  return (hwy::SupportedTargets() & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

NarrowDigits::NarrowDigits(const NarrowLayout& layout, int64_t rows, void* memory)
    : row_bytes_(kDigits * padded(layout.depth)),
      chunks_(digit_chunks_in_block(layout)),
      all_chunks_(chunks_ * layout.blocks),
      digits_(static_cast<int8_t*>(memory)),
      all_(reinterpret_cast<Chunk*>(digits_ + rows * row_bytes_)) {}

size_t NarrowDigits::bytes(const NarrowLayout& layout, int64_t rows) {
  const int64_t chunks = digit_chunks_in_block(layout) * layout.blocks;
  return rows * (kDigits * padded(layout.depth) + chunks * static_cast<int64_t>(sizeof(Chunk)));
}

int64_t NarrowDigits::most_rows(const NarrowLayout& layout) {
  const int64_t fit = kCacheBytes / (kDigits * padded(layout.depth));
  return std::clamp<int64_t>(fit / 4 * 4, 8, kMostRows);
}

bool has_narrow_digits(int64_t bits, int64_t rows) {
#if HWY_ARCH_X86_64
  return has_vnni() || (bits == 4 && rows <= kNarrowRows && (hwy::SupportedTargets() & HWY_AVX2) != 0);
#else
  static_cast<void>(bits);
  static_cast<void>(rows);
  return false;
#endif
}

int64_t digit_chunks_in_block(const NarrowLayout& layout, int64_t chunk) {
  return std::max<int64_t>(1, ceil_div(std::min(layout.block, layout.depth), chunk));
}

int64_t digit_chunk_end(const NarrowLayout& layout, int64_t begin, int64_t chunk) {
  return std::min({layout.depth, (begin / layout.block + 1) * layout.block, begin + chunk});
}

bool digit_power(float largest, int* power) {
  constexpr int kMostExponent = 100;
  // The largest whole number that three digits make, and so the smallest without its sign. It stays below the half that
  // would be rounded up to one more.
  constexpr int32_t kMostSteps = 127 * 65536 + 127 * 256 + 127;
  const auto bits = __builtin_bit_cast(uint32_t, largest);
  // The largest is its mantissa, below 2^24, times 2^(exponent - 24).
  const int exponent = static_cast<int>(bits >> 23) - 126;
  if (bits != 0 && std::abs(exponent) > kMostExponent) return false;
  const auto mantissa = static_cast<int32_t>((bits & 0x7FFFFF) | 0x800000);
  *power = bits == 0 ? 23 : 23 - exponent - (mantissa > 2 * kMostSteps ? 1 : 0);
  return true;
}

NarrowDigits::Chunk chunk_of(const int32_t (&sums)[NarrowDigits::kDigits], int centre, int power) {
  NarrowDigits::Chunk chunk;
  for (int d = 0; d < NarrowDigits::kDigits; ++d) chunk.start[d] = -centre * sums[d];
  chunk.total = static_cast<float>((int64_t{sums[2]} * 256 + sums[1]) * 256 + sums[0]);
  chunk.step = power_of_two(-power);
  return chunk;
}

bool split_into_digits(const NarrowLayout& layout, const float* input, int64_t i, const NarrowDigits& digits) {
  const DigitFunctions functions = digit_functions(layout);
  const int shift = layout.digits == 2 ? 8 : 0;
  const int centre = 1 << (layout.bits - 1);
  NarrowDigits::Chunk* chunk = digits.chunks(i);
  for (int64_t k = 0; k < layout.depth; ++chunk) {
    const int64_t end = digit_chunk_end(layout, k);
    int power = 0;
    if (!digit_power(functions.largest(input + k, end - k), &power)) return false;
    int32_t sums[NarrowDigits::kDigits];
    functions.split(input + k, end - k, power_of_two(power - shift), shift,
                    digits.digits(i) + NarrowDigits::kDigits * k, sums);
    *chunk = chunk_of(sums, centre, power);
    k = end;
  }
  return true;
}

void multiply_digits(const NarrowPacked& packed, int64_t panel, const NarrowDigits& digits, int64_t begin, int64_t end,
                     float* sum) {
  const NarrowLayout& layout = packed.layout;
  const DigitFunctions functions = digit_functions(layout);
  const int64_t width = layout.width(panel);
  std::fill_n(sum, (end - begin) * kNarrowPanel, 0.0f);
  const int64_t blocks = std::max<int64_t>(1, kTurn / layout.block);
  for (int64_t k = 0; k < layout.depth;) {
    const int64_t block = k / layout.block;
    const int64_t last = blocks == 1 ? digit_chunk_end(layout, k) : std::min(layout.depth, k + blocks * layout.block);
    const DigitTurn turn = {packed.panel_weight(panel) + k / layout.group() * width * 4,
                            packed.block_numbers(panel, block), width, last - k, layout.block};
    const int64_t chunk = block * digits.chunks_of_block() + (k - block * layout.block) / NarrowDigits::kChunk;
    const DigitRows rows = {digits.digits(begin) + NarrowDigits::kDigits * k, digits.row_bytes(),
                            digits.chunks(begin) + chunk, digits.row_chunks()};
    functions.add(turn, rows, end - begin, sum);
    k = last;
  }
}

}  // namespace berth::cpu
