#include "kernels/cpu/narrow_linear_bytes.h"

#include <hwy/highway.h>

#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/narrow_linear_bytes_run.h"
#include "kernels/cpu/narrow_linear_digits_run.h"

namespace berth::cpu {
namespace {

constexpr int64_t kCacheBytes = 1 << 20;  // of all bytes of a call
constexpr int64_t kLeastRows = 96;
constexpr int64_t kMostRows = 512;
// Rows of the weight in a turn.
constexpr int64_t kTurn = 512;

// Whole registers of 16 elements, and one more that the last may run into.
int64_t padded(int64_t depth) { return align_up<int64_t>(depth, 64) + 64; }

int64_t chunks_in_block(const NarrowLayout& layout) { return digit_chunks_in_block(layout, NarrowBytes::kChunk); }

#if HWY_ARCH_X86_64

ByteFunctions functions_for(const NarrowLayout& layout) { return vnni_byte_functions(layout.bits); }

#else

ByteFunctions functions_for(const NarrowLayout&) { return {}; }

#endif

}  // namespace

NarrowBytes::NarrowBytes(const NarrowLayout& layout, int64_t rows, void* memory)
    : row_bytes_(padded(layout.depth)),
      chunks_(chunks_in_block(layout)),
      all_chunks_(chunks_ * layout.blocks),
      bytes_(static_cast<int8_t*>(memory)),
      all_(reinterpret_cast<Chunk*>(bytes_ + rows * row_bytes_)) {}

size_t NarrowBytes::bytes(const NarrowLayout& layout, int64_t rows) {
  const int64_t chunks = chunks_in_block(layout) * layout.blocks;
  return align_up<int64_t>(rows * (padded(layout.depth) + chunks * static_cast<int64_t>(sizeof(Chunk))), 64);
}

int64_t NarrowBytes::most_rows(const NarrowLayout& layout) {
  return std::clamp(kCacheBytes / padded(layout.depth) / kByteRows * kByteRows, kLeastRows, kMostRows);
}

bool has_narrow_bytes(const NarrowLayout& layout) { return NarrowBytes::take(layout) && has_vnni(); }

void split_into_bytes(const NarrowLayout& layout, const float* input, int64_t i, const NarrowBytes& bytes) {
  functions_for(layout).split(layout, input, bytes.row(i), bytes.chunks(i));
}

void multiply_bytes(const NarrowPacked& packed, int64_t panel, const NarrowBytes& bytes, int64_t begin, int64_t end,
                    float* sum) {
  const NarrowLayout& layout = packed.layout;
  const ByteFunctions functions = functions_for(layout);
  const int64_t width = layout.width(panel);
  std::fill_n(sum, (end - begin) * kNarrowPanel, 0.0f);
  // Whole blocks, or some chunks of one.
  const int64_t step = std::max<int64_t>(1, kTurn / layout.block) * layout.block;
  for (int64_t k = 0; k < layout.depth;) {
    const int64_t block = k / layout.block;
    const int64_t block_end = std::min(layout.depth, (block + 1) * layout.block);
    const int64_t last = step > kTurn ? std::min(block_end, k + kTurn) : std::min(layout.depth, k + step);
    const ByteTurn turn = {packed.panel_weight(panel) + k / layout.group() * width * 4,
                           packed.block_numbers(panel, block), width, last - k, layout.block};
    const int64_t chunk = block * bytes.chunks_of_block() + (k - block * layout.block) / NarrowBytes::kChunk;
    functions.add(turn, {bytes.row(begin) + k, bytes.row_bytes(), bytes.chunks(begin) + chunk, bytes.row_chunks()},
                  end - begin, sum);
    k = last;
  }
}

}  // namespace berth::cpu
