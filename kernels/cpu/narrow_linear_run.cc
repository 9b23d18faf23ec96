// Weights of 8 and 4 bits widened in registers. A number becomes a float without a conversion: put into the low bits of
// the mantissa of a power of two p, it makes p + number, exactly.
#include "kernels/cpu/narrow_linear_run.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/narrow_linear_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

using IntTag = hn::RebindToSigned<FloatTag>;
using ByteTag = hn::Rebind<int8_t, FloatTag>;

// As long as a sum may be that is made in registers alone.
constexpr int64_t kShortDepth = 512;

HWY_INLINE FloatVector load_bytes(const uint8_t* from) {
  const FloatTag d;
  return hn::ConvertTo(d, hn::PromoteTo(IntTag(), hn::LoadU(ByteTag(), reinterpret_cast<const int8_t*>(from))));
}

// The number of kBits bits from bit kBit of each group on; the upper ones have to be brought into the mantissa.
template <int64_t kBits, int kBit>
HWY_INLINE FloatVector number_at(hn::Vec<IntTag> group) {
  const FloatTag d;
  const IntTag di;
  if constexpr (kBit + kBits > 23) {
    constexpr int kDown = kBits == 8 ? 16 : 20;
    const auto unsigned_group = hn::BitCast(hn::RebindToUnsigned<FloatTag>(), group);
    return number_at<kBits, kBit - kDown>(hn::BitCast(di, hn::ShiftRight<kDown>(unsigned_group)));
  } else {
    constexpr int32_t kPower = (127 + 23 - kBit) << 23;
    constexpr int32_t kMask = ((1 << kBits) - 1) << kBit;
    const auto mixed = hn::OrAnd(hn::Set(di, kPower), group, hn::Set(di, kMask));
    return hn::Sub(hn::BitCast(d, mixed), hn::Set(d, static_cast<float>((1 << (23 - kBit)) + (1 << (kBits - 1)))));
  }
}

// That of row kRow of the group (packing_narrow.h).
template <int64_t kBits, int kRow>
HWY_INLINE FloatVector number_of(hn::Vec<IntTag> group) {
  return number_at < kBits, kBits == 8 || kRow < 4 ? 8 * kRow : 8 * (kRow - 4) + 4 > (group);
}

// Where a block's numbers of one panel are.
struct Block {
  const uint8_t* weight;
  int64_t width;  // of the panel
  NarrowNumbers numbers;
};

HWY_INLINE FloatVector zeros_of(const Block& block, int64_t column) {
  const NarrowNumbers& n = block.numbers;
  if (n.zeros != nullptr) return load_bytes(reinterpret_cast<const uint8_t*>(n.zeros) + column);
  return hn::LoadU(FloatTag(), n.real_zeros + column);
}

HWY_INLINE FloatVector scales_of(const Block& block, int64_t column) {
  const FloatTag d;
  const NarrowNumbers& n = block.numbers;
  if (n.scales != nullptr) return hn::LoadU(d, n.scales + column);
  const hn::Rebind<hwy::float16_t, FloatTag> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(n.half_scales) + column));
}

template <int kRows, int kVectors>
using Sums = FloatVector[kRows][kVectors];

// Adds to the sums x[i][kRow] times row kRow of each group.
template <int64_t kBits, int kRow, bool kZeros, int kRows, int kVectors>
HWY_INLINE void add_number(const hn::Vec<IntTag> (&group)[kVectors], const FloatVector (&zero)[kVectors],
                           const float* x, int64_t step, Sums<kRows, kVectors>& sum) {
  const FloatTag d;
  FloatVector row[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    row[v] = number_of<kBits, kRow>(group[v]);
    if constexpr (kZeros) row[v] = hn::Sub(row[v], zero[v]);
  }
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    const FloatVector a = hn::Set(d, x[i * step + kRow]);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(a, row[v], sum[i][v]);
  }
}

template <int64_t kBits, bool kZeros, int kRows, int kVectors>
HWY_INLINE void add_group(const uint8_t* weight, const FloatVector (&zero)[kVectors], const float* x, int64_t step,
                          Sums<kRows, kVectors>& even, Sums<kRows, kVectors>& odd) {
  const IntTag di;
  hn::Vec<IntTag> group[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    group[v] = hn::LoadU(di, reinterpret_cast<const int32_t*>(weight) + v * kLanes);
  }
  add_number<kBits, 0, kZeros>(group, zero, x, step, even);
  add_number<kBits, 1, kZeros>(group, zero, x, step, odd);
  add_number<kBits, 2, kZeros>(group, zero, x, step, even);
  add_number<kBits, 3, kZeros>(group, zero, x, step, odd);
  if constexpr (kBits == 4) {
    add_number<kBits, 4, kZeros>(group, zero, x, step, even);
    add_number<kBits, 5, kZeros>(group, zero, x, step, odd);
    add_number<kBits, 6, kZeros>(group, zero, x, step, even);
    add_number<kBits, 7, kZeros>(group, zero, x, step, odd);
  }
}

// What one step adds: `count` rows of the weight from row `begin` of the block's panel on, columns from `column` on.
struct Step {
  int64_t begin, count, column;
  const float* x;  // of row `begin`
  int64_t step;    // from one row of the input to the next
  float* sum;
};

// A sum waits for the one before it: one row of few registers has two of each, for the rows of the weight in turns.
template <int64_t kBits, bool kZeros, int kRows, int kVectors>
HWY_NOINLINE void add_columns(const Block& block, const Step& s) {
  const FloatTag d;
  Sums<kRows, kVectors> even;
  constexpr bool kTwo = kRows == 1;
  Sums<kRows, kVectors> other;
  FloatVector zero[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    zero[v] = kZeros ? zeros_of(block, s.column + v * kLanes) : hn::Zero(d);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) even[i][v] = other[i][v] = hn::Zero(d);
  }
  auto& odd = kTwo ? other : even;
  const float* x = s.x;
  constexpr int64_t kGroup = 32 / kBits;
  const uint8_t* weight = block.weight + (s.begin / kGroup * block.width + s.column) * 4;
  int64_t k = 0;
  for (; k + kGroup <= s.count; k += kGroup, weight += block.width * 4) {
    add_group<kBits, kZeros>(weight, zero, x + k, s.step, even, odd);
  }
  if (k < s.count) {
    float last[kRows][kGroup] = {};
    for (int i = 0; i < kRows; ++i) std::copy_n(x + i * s.step + k, s.count - k, last[i]);
    add_group<kBits, kZeros>(weight, zero, last[0], kGroup, even, odd);
  }
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    const FloatVector scale = scales_of(block, s.column + v * kLanes);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) {
      const FloatVector all = kTwo ? hn::Add(even[i][v], other[i][v]) : even[i][v];
      float* sum = s.sum + i * kNarrowPanel + s.column + v * kLanes;
      hn::StoreU(hn::MulAdd(all, scale, hn::LoadU(d, sum)), d, sum);
    }
  }
}

template <int64_t kBits, bool kZeros, int kRows>
HWY_INLINE void add_rows(const Block& block, Step step) {
  // Their sums, a register of weights for each and a few numbers are all registers that there are. Processors without
  // AVX2 do with less code.
  constexpr bool kOld = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE4;
  constexpr int kVectors = kOld ? 1 : HWY_TARGET == HWY_AVX3 || kRows <= 2 ? 4 : 2;
  step.column = 0;
  if constexpr (kVectors > 1) {
    for (; step.column + kVectors * kLanes <= block.width; step.column += kVectors * kLanes) {
      add_columns<kBits, kZeros, kRows, kVectors>(block, step);
    }
  }
  if constexpr (kVectors == 1) {
    for (; step.column < block.width; step.column += kLanes) add_columns<kBits, kZeros, kRows, 1>(block, step);
  } else {
    // What the last panel has behind its whole steps, row by row: a form for each number of rows would be much code.
    const int64_t from = step.column;
    for (int i = 0; from < block.width && i < kRows; ++i, step.x += step.step, step.sum += kNarrowPanel) {
      for (step.column = from; step.column < block.width; step.column += kLanes) {
        add_columns<kBits, kZeros, 1, 1>(block, step);
      }
    }
  }
}

template <int64_t kBits, bool kZeros>
HWY_INLINE void add_step(const Block& block, const Step& step, int64_t rows) {
  switch (rows) {
    case 1: return add_rows<kBits, kZeros, 1>(block, step);
    case 2: return add_rows<kBits, kZeros, 2>(block, step);
    case 3: return add_rows<kBits, kZeros, 3>(block, step);
    default: return add_rows<kBits, kZeros, 4>(block, step);
  }
}

Block block_of(const NarrowPacked& packed, int64_t panel, int64_t index) {
  return {packed.panel_weight(panel), packed.layout.width(panel), packed.block_numbers(panel, index)};
}

void multiply(const NarrowPacked& packed, int64_t panel, const float* input, int64_t rows, float* sum) {
  const NarrowLayout& l = packed.layout;
  std::fill_n(sum, rows * kNarrowPanel, 0.0f);
  const bool zeros = packed.numbers.has_zeros();
  for (int64_t b = 0; b < l.blocks; ++b) {
    const Block block = block_of(packed, panel, b);
    const int64_t end = std::min(l.depth, (b + 1) * l.block);
    for (int64_t k = b * l.block; k < end; k += kShortDepth) {
      const Step step = {k, std::min(kShortDepth, end - k), 0, input + k, l.depth, sum};
      if (l.bits == 8) {
        zeros ? add_step<8, true>(block, step, rows) : add_step<8, false>(block, step, rows);
      } else {
        zeros ? add_step<4, true>(block, step, rows) : add_step<4, false>(block, step, rows);
      }
    }
  }
}

// Rows of one block. The result's rows are `row` elements apart.
struct Widening {
  int64_t begin, end;
  float* to;
  int64_t row;
};

template <int64_t kBits, int kRow>
HWY_INLINE void widen_number(const Widening& w, int64_t k, hn::Vec<IntTag> group, FloatVector zero, FloatVector scale) {
  if (k + kRow >= w.end) return;
  const FloatVector wide = hn::Mul(hn::Sub(number_of<kBits, kRow>(group), zero), scale);
  hn::StoreU(wide, FloatTag(), w.to + (k + kRow - w.begin) * w.row);
}

// One register of columns.
template <int64_t kBits>
HWY_INLINE void widen_column(const Block& block, int64_t column, const Widening& w) {
  const FloatTag d;
  const FloatVector scale = scales_of(block, column);
  const FloatVector zero = block.numbers.has_zeros() ? zeros_of(block, column) : hn::Zero(d);
  constexpr int64_t kGroup = 32 / kBits;
  for (int64_t k = w.begin; k < w.end; k += kGroup) {
    const auto* at = reinterpret_cast<const int32_t*>(block.weight) + k / kGroup * block.width + column;
    const auto group = hn::LoadU(IntTag(), at);
    widen_number<kBits, 0>(w, k, group, zero, scale);
    widen_number<kBits, 1>(w, k, group, zero, scale);
    widen_number<kBits, 2>(w, k, group, zero, scale);
    widen_number<kBits, 3>(w, k, group, zero, scale);
    if constexpr (kBits == 4) {
      widen_number<kBits, 4>(w, k, group, zero, scale);
      widen_number<kBits, 5>(w, k, group, zero, scale);
      widen_number<kBits, 6>(w, k, group, zero, scale);
      widen_number<kBits, 7>(w, k, group, zero, scale);
    }
  }
}

void widen(const NarrowPacked& packed, int64_t panel, int64_t begin, int64_t end, float* to) {
  const NarrowLayout& l = packed.layout;
  const int64_t tile = std::min(kTileColumns, l.width(panel));
  for (int64_t k = begin; k < end;) {
    const int64_t index = k / l.block;
    const int64_t last = std::min(end, (index + 1) * l.block);
    const Block block = block_of(packed, panel, index);
    for (int64_t column = 0; column < block.width; column += kLanes) {
      float* at = to + column / tile * (end - begin) * tile + (k - begin) * tile + column % tile;
      const Widening one = {k, last, at, tile};
      l.bits == 8 ? widen_column<8>(block, column, one) : widen_column<4>(block, column, one);
    }
    k = last;
  }
}

NarrowFunctions functions() { return {kTileColumns, multiply, widen}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

NarrowFunctions narrow_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
