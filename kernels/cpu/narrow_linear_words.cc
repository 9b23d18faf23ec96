#include "kernels/cpu/narrow_linear_words.h"

#include <hwy/highway.h>

#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/narrow_linear_digits.h"
#include "kernels/cpu/narrow_linear_digits_run.h"
#include "kernels/cpu/narrow_linear_words_run.h"

namespace berth::cpu {
namespace {

// Of all words of a call, which lie in a third-level cache, and of the rows of fewest and most.
constexpr int64_t kCacheBytes = 2 << 20;
constexpr int64_t kLeastRows = 96;
constexpr int64_t kMostRows = 512;
// Fewer rows are done before a panel is widened for them.
constexpr int64_t kFewestRows = 24;
// Rows of the weight that are widened at a time: with 64 columns they stay in a second-level cache.
constexpr int64_t kTurn = 1024;

// Whole registers, and one more that the last may run into.
int64_t padded(int64_t depth) { return align_up<int64_t>(depth, 32) + 32; }

#if HWY_ARCH_X86_64

WordFunctions word_functions(const NarrowLayout& layout) { return vnni_word_functions(layout.bits); }

#else

WordFunctions word_functions(const NarrowLayout&) { return {}; }

#endif

}  // namespace

NarrowWords::Scratch::Scratch(void* memory)
    : wide(static_cast<int16_t*>(memory)), sum(reinterpret_cast<float*>(wide + kTurn * kNarrowPanel)) {}

NarrowWords::NarrowWords(const NarrowLayout& layout, int64_t rows, void* memory)
    : row_words_(padded(layout.depth)),
      chunks_(digit_chunks_in_block(layout)),
      all_chunks_(chunks_ * layout.blocks),
      words_(static_cast<int16_t*>(memory)),
      all_(reinterpret_cast<Chunk*>(words_ + rows * row_words_)) {}

bool NarrowWords::take(const NarrowLayout& layout, int64_t rows) { return layout.digits == 2 && rows >= kFewestRows; }

size_t NarrowWords::bytes(const NarrowLayout& layout, int64_t rows) {
  const int64_t chunks = digit_chunks_in_block(layout) * layout.blocks;
  const int64_t row = padded(layout.depth) * static_cast<int64_t>(sizeof(int16_t));
  return align_up<int64_t>(rows * (row + chunks * static_cast<int64_t>(sizeof(Chunk))), 64);
}

int64_t NarrowWords::most_rows(const NarrowLayout& layout) {
  const int64_t fit = kCacheBytes / (padded(layout.depth) * static_cast<int64_t>(sizeof(int16_t)));
  return std::clamp(fit / kWordRows * kWordRows, kLeastRows, kMostRows);
}

size_t NarrowWords::scratch_bytes(int64_t rows) {
  return kNarrowPanel * (kTurn * sizeof(int16_t) + rows * sizeof(float));
}

bool has_narrow_words(const NarrowLayout& layout, int64_t rows) {
  return NarrowWords::take(layout, rows) && has_vnni();
}

bool split_into_words(const NarrowLayout& layout, const float* input, int64_t i, const NarrowWords& words) {
  const DigitFunctions digits = vnni_digit_functions(layout.bits, layout.digits);
  const WordFunctions functions = word_functions(layout);
  NarrowWords::Chunk* chunk = words.chunks(i);
  int16_t* to = words.words(i);
  for (int64_t k = 0; k < layout.depth; ++chunk) {
    const int64_t end = digit_chunk_end(layout, k);
    int power = 0;
    if (!digit_power(digits.largest(input + k, end - k), &power)) return false;
    const int32_t sum = functions.split(input + k, end - k, power_of_two(power - kWordShift), to + k);
    *chunk = {static_cast<float>(sum), power_of_two(kWordShift - power)};
    k = end;
  }
  to[layout.depth] = 0;
  return true;
}

void multiply_words(const NarrowPacked& packed, int64_t panel, const NarrowWords& words, int64_t begin, int64_t end,
                    const NarrowWords::Scratch& scratch) {
  const NarrowLayout& layout = packed.layout;
  const WordFunctions functions = word_functions(layout);
  const int64_t width = layout.width(panel);
  std::fill_n(scratch.sum, (end - begin) * kNarrowPanel, 0.0f);
  // Whole blocks, or some chunks of one.
  const int64_t step = std::max<int64_t>(1, kTurn / layout.block) * layout.block;
  for (int64_t k = 0; k < layout.depth;) {
    const int64_t block = k / layout.block;
    const int64_t block_end = std::min(layout.depth, (block + 1) * layout.block);
    const int64_t last = step > kTurn ? std::min(block_end, k + kTurn) : std::min(layout.depth, k + step);
    functions.widen(packed.panel_weight(panel) + k / layout.group() * width * 4, width, last - k, scratch.wide);
    const WordTurn turn = {scratch.wide, packed.block_numbers(panel, block), width, last - k, layout.block};
    const int64_t chunk = block * words.chunks_of_block() + (k - block * layout.block) / NarrowDigits::kChunk;
    const WordRows rows = {words.words(begin) + k, words.row_words(), words.chunks(begin) + chunk, words.row_chunks()};
    functions.add(turn, rows, end - begin, scratch.sum);
    k = last;
  }
}

}  // namespace berth::cpu
