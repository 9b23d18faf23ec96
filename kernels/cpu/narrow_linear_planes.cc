#include "kernels/cpu/narrow_linear_planes.h"

#include <hwy/highway.h>

#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/narrow_linear_digits_run.h"
#include "kernels/cpu/narrow_linear_planes_run.h"

namespace berth::cpu {
namespace {

constexpr int64_t kChunk = NarrowDigits::kChunk;
constexpr int64_t kCacheBytes = 1 << 20;  // of all planes of a call
constexpr int64_t kLeastRows = 64;
constexpr int64_t kMostRows = 512;
constexpr int64_t kFewestRows = 12;
// Shorter blocks take as long to put sums together for as to multiply.
constexpr int64_t kShortestBlock = 128;

// Bytes of a block in a plane.
int64_t block_bytes(const NarrowLayout& layout) {
  const int64_t length = std::min(layout.block, layout.depth);
  return length / kChunk * kChunk + align_up(length % kChunk, kPlaneDepth);
}

int64_t plane_bytes(const NarrowLayout& layout) { return layout.blocks * block_bytes(layout); }

// An odd number of lines of the cache, so that sixteen rows are not all in the same places of it.
int64_t row_bytes(const NarrowLayout& layout) {
  return align_up<int64_t>(NarrowDigits::kDigits * plane_bytes(layout), 128) + 64;
}

// A register reads sixteen rows, whether there are so many or not.
int64_t padded_rows(int64_t rows) { return rows + kPlaneRows - 1; }

size_t chunk_bytes(const NarrowLayout& layout, int64_t rows) {
  const int64_t chunks =
      digit_chunks_in_block(layout) * layout.blocks * static_cast<int64_t>(sizeof(NarrowDigits::Chunk));
  return align_up<int64_t>(rows * chunks, 64);
}

#if HWY_ARCH_X86_64

bool has_matrices() { return (hwy::SupportedTargets() & HWY_AVX3) != 0 && has_byte_matrices(); }

PlaneFunctions functions_for(const NarrowLayout& layout) { return amx_plane_functions(layout.bits, layout.digits); }

DigitFunctions digits_for(const NarrowLayout& layout) { return vnni_digit_functions(layout.bits, layout.digits); }

#else

bool has_matrices() { return false; }

PlaneFunctions functions_for(const NarrowLayout&) { return {}; }

DigitFunctions digits_for(const NarrowLayout&) { return {}; }

#endif

}  // namespace

NarrowPlanes::Scratch::Scratch(void* memory)
    : wide(static_cast<uint8_t*>(memory)), sum(reinterpret_cast<float*>(wide + kChunk * kNarrowPanel)) {}

NarrowPlanes::NarrowPlanes(const NarrowLayout& layout, int64_t rows, void* memory)
    : plane_bytes_(cpu::plane_bytes(layout)),
      row_bytes_(cpu::row_bytes(layout)),
      all_chunks_(digit_chunks_in_block(layout) * layout.blocks),
      all_(static_cast<NarrowDigits::Chunk*>(memory)),
      planes_(static_cast<int8_t*>(memory) + chunk_bytes(layout, rows)) {}

bool NarrowPlanes::take(const NarrowLayout& layout, int64_t rows) {
  return rows >= kFewestRows && std::min(layout.block, layout.depth) >= kShortestBlock;
}

size_t NarrowPlanes::bytes(const NarrowLayout& layout, int64_t rows) {
  return chunk_bytes(layout, rows) + padded_rows(rows) * cpu::row_bytes(layout);
}

int64_t NarrowPlanes::most_rows(const NarrowLayout& layout) {
  const int64_t fit = kCacheBytes / cpu::row_bytes(layout);
  return std::clamp(fit / kPlaneRows * kPlaneRows, kLeastRows, kMostRows);
}

size_t NarrowPlanes::scratch_bytes(int64_t rows) {
  return kNarrowPanel * (kChunk + rows * static_cast<int64_t>(sizeof(float)));
}

bool has_narrow_planes(const NarrowLayout& layout, int64_t rows) {
  return NarrowPlanes::take(layout, rows) && has_matrices();
}

bool split_into_planes(const NarrowLayout& layout, const float* input, int64_t i, const NarrowPlanes& planes) {
  const PlaneFunctions functions = functions_for(layout);
  const auto largest = digits_for(layout).largest;
  const int shift = layout.digits == 2 ? 8 : 0;
  const int centre = 1 << (layout.bits - 1);
  NarrowDigits::Chunk* chunk = planes.chunks(i);
  int8_t* to = planes.row(i);
  for (int64_t k = 0; k < layout.depth; ++chunk) {
    const int64_t end = digit_chunk_end(layout, k);
    int power = 0;
    if (!digit_power(largest(input + k, end - k), &power)) return false;
    int32_t sums[NarrowDigits::kDigits];
    functions.split(input + k, end - k, power_of_two(power - shift), shift, to, planes.plane_bytes(), sums);
    *chunk = chunk_of(sums, centre, power);
    to += align_up(end - k, kPlaneDepth);
    k = end;
  }
  return true;
}

void multiply_planes(const NarrowPacked& packed, int64_t panel, const NarrowPlanes& planes, int64_t begin, int64_t end,
                     const NarrowPlanes::Scratch& scratch) {
  const NarrowLayout& layout = packed.layout;
  const PlaneFunctions functions = functions_for(layout);
  const int64_t width = layout.width(panel);
  std::fill_n(scratch.sum, (end - begin) * kNarrowPanel, 0.0f);
  PlaneRows rows = {planes.row(begin), planes.row_bytes(), planes.plane_bytes(), planes.chunks(begin),
                    planes.row_chunks()};
  for (int64_t k = 0; k < layout.depth; ++rows.chunk) {
    const int64_t last = digit_chunk_end(layout, k);
    functions.widen(packed.panel_weight(panel) + k / layout.group() * width * 4, width, last - k, scratch.wide);
    const int64_t registers = ceil_div(last - k, kPlaneDepth);
    const PlaneTurn turn = {scratch.wide, packed.block_numbers(panel, k / layout.block), width, registers};
    functions.add(turn, rows, end - begin, scratch.sum);
    rows.planes += registers * kPlaneDepth;
    k = last;
  }
}

}  // namespace berth::cpu
