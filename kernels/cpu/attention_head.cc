#include "kernels/cpu/attention_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_head.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/widen.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

int64_t whole_vectors(int64_t n) { return (n + kLanes - 1) / kLanes; }

// What lies in the scratch memory of a thread, and how it is walked.
struct Layout {
  explicit Layout(const AttentionHead& head)
      : key_columns(whole_vectors(head.keys) * kLanes),
        value_columns(whole_vectors(head.value_size) * kLanes),
        score_columns(std::min(key_columns, kAttentionKeys)),
        turns_values(head.value_size <= kLanes / 2 && !head.causal && head.last == nullptr),
        packs_values(turns_values || value_columns != head.value_size || !head.key.is_wide()) {}

  float* keys(float* scratch) const { return scratch; }
  float* scores(const AttentionHead& head, float* scratch) const { return scratch + key_columns * head.size; }
  float* sums(const AttentionHead& head, float* scratch) const {
    return scores(head, scratch) + kAttentionRows * score_columns;
  }
  float* values(const AttentionHead& head, float* scratch) const {
    return sums(head, scratch) + kAttentionRows * value_columns;
  }
  size_t floats(const AttentionHead& head) const {
    // Whether values are turned depends on limits, which the caller may not know yet.
    const int64_t turned = head.value_size <= kLanes / 2 ? key_columns * head.value_size : 0;
    const int64_t values = std::max(turned, packs_values ? head.keys * value_columns : 0);
    const int64_t all =
        key_columns * head.size + kAttentionRows * score_columns + kAttentionRows * value_columns + values;
    return (all + 15) / 16 * 16;
  }

  int64_t key_columns;    // keys, filled up to whole registers
  int64_t value_columns;  // elements of a row of values, the same
  int64_t score_columns;
  bool turns_values;  // each element of all keys side by side: rows of few elements would leave registers empty
  bool packs_values;
};

size_t scratch_floats(const AttentionHead& head) { return Layout(head).floats(head); }

// Four elements of four keys, transposed.
HWY_INLINE void transpose_4x4(const float* in, int64_t in_row, float* out, int64_t out_row) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) out[j * out_row + i] = in[i * in_row + j];
  }
#else
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> dd;
  const auto a = hn::LoadU(d, in);
  const auto b = hn::LoadU(d, in + in_row);
  const auto c = hn::LoadU(d, in + 2 * in_row);
  const auto e = hn::LoadU(d, in + 3 * in_row);
  const auto ab_low = hn::BitCast(dd, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(dd, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(dd, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(dd, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab_low, ce_low)), d, out + out_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab_high, ce_high)), d, out + 2 * out_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab_high, ce_high)), d, out + 3 * out_row);
#endif
}

// Columns [first, first + width) of the transposed keys as out[element * width + column], zeros past the last key.
void pack_panel(const AttentionHead& head, int64_t first, int64_t width, float* out) {
  const int64_t valid = std::min(width, head.keys - first);
  const float* in = head.key.as<float>() + first * head.key_row;
  const int64_t whole_columns = valid / 4 * 4;
  const int64_t whole_elements = head.size / 4 * 4;
  for (int64_t j = 0; j < whole_columns; j += 4) {
    const float* rows = in + j * head.key_row;
    for (int64_t e = 0; e < whole_elements; e += 4) transpose_4x4(rows + e, head.key_row, out + e * width + j, width);
  }
  for (int64_t e = 0; e < head.size; ++e) {
    const int64_t done = e < whole_elements ? whole_columns : 0;
    for (int64_t j = done; j < valid; ++j) out[e * width + j] = in[j * head.key_row + e];
    for (int64_t j = valid; j < width; ++j) out[e * width + j] = 0;
  }
}

// The same of bf16 or f16, widened.
void pack_narrow_panel(const AttentionHead& head, int64_t first, int64_t width, float* out) {
  constexpr int64_t kPart = 64;
  float part[kPart];
  const int64_t valid = std::min(width, head.keys - first);
  for (int64_t j = 0; j < valid; ++j) {
    for (int64_t begin = 0; begin < head.size; begin += kPart) {
      const int64_t count = std::min(kPart, head.size - begin);
      widen(head.key.dtype, head.key.from((first + j) * head.key_row + begin).data, part, count);
      for (int64_t e = 0; e < count; ++e) out[(begin + e) * width + j] = part[e];
    }
  }
  for (int64_t e = 0; e < head.size; ++e) std::fill(out + e * width + valid, out + (e + 1) * width, 0.0f);
}

// Values as out[element * key_columns + key], zeros past the last key.
void turn_values(const AttentionHead& head, const Layout& layout, float* out) {
  float row[kLanes];
  for (int64_t j = 0; j < head.keys; ++j) {
    const portable::CacheRows value = head.value.from(j * head.value_row);
    const float* elements = value.is_wide() ? value.as<float>() : row;
    if (!value.is_wide()) widen(value.dtype, value.data, row, head.value_size);
    for (int64_t e = 0; e < head.value_size; ++e) out[e * layout.key_columns + j] = elements[e];
  }
  for (int64_t e = 0; e < head.value_size; ++e) {
    std::fill(out + e * layout.key_columns + head.keys, out + (e + 1) * layout.key_columns, 0.0f);
  }
}

void pack(const AttentionHead& head, float* scratch) {
  const Layout layout(head);
  float* keys = layout.keys(scratch);
  for (int64_t first = 0; first < layout.key_columns; first += kTileColumns) {
    const int64_t width = std::min(kTileColumns, layout.key_columns - first);
    float* panel = keys + first * head.size;
    head.key.is_wide() ? pack_panel(head, first, width, panel) : pack_narrow_panel(head, first, width, panel);
  }
  if (layout.turns_values) return turn_values(head, layout, layout.values(head, scratch));
  if (!layout.packs_values) return;
  float* values = layout.values(head, scratch);
  for (int64_t j = 0; j < head.keys; ++j) {
    float* packed = values + j * layout.value_columns;
    const portable::CacheRows value = head.value.from(j * head.value_row);
    if (value.is_wide()) {
      std::copy_n(value.as<float>(), head.value_size, packed);
    } else {
      widen(value.dtype, value.data, packed, head.value_size);
    }
    std::fill(packed + head.value_size, packed + layout.value_columns, 0.0f);
  }
}

// A block: `rows` queries from row `row` on, keys [first, first + keys).
struct Block {
  int64_t row, rows, first, keys;
};

// A limit of any size, as one of the keys or the number beside them.
int64_t limit(const AttentionHead& head, int64_t key) {
  return std::clamp<int64_t>(key, head.first_key - 1, head.first_key + head.keys) - head.first_key;
}

// How many keys of the block a query sees, or has hidden by a mask.
int64_t visible_keys(const AttentionHead& head, const Block& block, int64_t row) {
  if (head.last != nullptr) return std::clamp<int64_t>(limit(head, head.last[row]) + 1 - block.first, 0, block.keys);
  return head.causal ? std::clamp<int64_t>(row + 1 - block.first, 0, block.keys) : block.keys;
}

void multiply_keys(const AttentionHead& head, const Layout& layout, const Block& block, float* scratch) {
  const float* packed = layout.keys(scratch);
  float* scores = layout.scores(head, scratch);
  const float* query = head.query + block.row * head.query_row;
  for (int64_t i = 0; i < block.rows; i += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, block.rows - i);
    const int64_t seen = visible_keys(head, block, block.row + i + rows - 1);
    for (int64_t j = 0; j < seen; j += kTileColumns) {
      const int64_t column = block.first + j;
      const int64_t width = std::min(kTileColumns, layout.key_columns - column);
      const TileArguments t = {query + i * head.query_row,
                               head.query_row,
                               packed + column * head.size,
                               width,
                               head.size,
                               scores + i * layout.score_columns + j,
                               layout.score_columns,
                               head.scale,
                               false};
      run_tile(t, rows, whole_vectors(std::min(width, seen - j)));
    }
  }
}

// Rows [row, row + rows) of the block: the sums become, or grow by, scores * values over keys [from, to) of the block.
struct ValueProduct {
  int64_t row, rows;  // of the block
  int64_t from, to;
  bool add;
};

void multiply_values(const AttentionHead& head, const Layout& layout, const Block& block, const ValueProduct& product,
                     float* scratch) {
  const int64_t value_row = layout.packs_values ? layout.value_columns : head.value_row;
  const float* values = layout.packs_values ? layout.values(head, scratch) : head.value.as<float>();
  const float* scores = layout.scores(head, scratch) + product.row * layout.score_columns + product.from;
  float* sums = layout.sums(head, scratch) + product.row * layout.value_columns;
  for (int64_t j = 0; j < layout.value_columns; j += kTileColumns) {
    const int64_t vectors = std::min(kTileColumns, layout.value_columns - j) / kLanes;
    const TileArguments t = {scores,
                             layout.score_columns,
                             values + (block.first + product.from) * value_row + j,
                             value_row,
                             product.to - product.from,
                             sums + j,
                             layout.value_columns,
                             1.0f,
                             product.add};
    run_tile(t, product.rows, vectors);
  }
}

// The sums of a row of scores, whole registers, times each element of the values that lie turned.
template <int kElements>
HWY_INLINE void add_turned(const float* scores, const float* values, int64_t value_row, int64_t columns, bool add,
                           float* sums) {
  const FloatTag d;
  FloatVector sum[kElements];
  BERTH_UNROLL_FULL
  for (int e = 0; e < kElements; ++e) sum[e] = hn::Zero(d);
  for (int64_t j = 0; j < columns; j += kLanes) {
    const FloatVector score = hn::LoadU(d, scores + j);
    BERTH_UNROLL_FULL
    for (int e = 0; e < kElements; ++e) sum[e] = hn::MulAdd(score, hn::LoadU(d, values + e * value_row + j), sum[e]);
  }
  BERTH_UNROLL_FULL
  for (int e = 0; e < kElements; ++e) {
    const float all = hn::GetLane(hn::SumOfLanes(d, sum[e]));
    sums[e] = add ? sums[e] + all : all;
  }
}

void multiply_turned_values(const AttentionHead& head, const Layout& layout, const Block& block, float* scratch) {
  const float* values = layout.values(head, scratch) + block.first;
  const int64_t columns = whole_vectors(block.keys) * kLanes;
  for (int64_t i = 0; i < block.rows; ++i) {
    const float* scores = layout.scores(head, scratch) + i * layout.score_columns;
    float* sums = layout.sums(head, scratch) + i * layout.value_columns;
    int64_t e = 0;
    for (; e + 4 <= head.value_size; e += 4) {
      add_turned<4>(scores, values + e * layout.key_columns, layout.key_columns, columns, block.first > 0, sums + e);
    }
    for (; e < head.value_size; ++e) {
      add_turned<1>(scores, values + e * layout.key_columns, layout.key_columns, columns, block.first > 0, sums + e);
    }
  }
}

// What a query does not see must not even be multiplied by 0: it may be infinite. So rows share the keys that the first
// of them sees, and those on the diagonal are added row by row.
void multiply_values(const AttentionHead& head, const Layout& layout, const Block& block, float* scratch) {
  if (layout.turns_values) return multiply_turned_values(head, layout, block, scratch);
  const bool add = block.first > 0;
  for (int64_t i = 0; i < block.rows; i += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, block.rows - i);
    const int64_t shared = visible_keys(head, block, block.row + i);
    multiply_values(head, layout, block, {i, rows, 0, shared, add}, scratch);
    for (int64_t r = 1; r < rows; ++r) {
      const int64_t visible = visible_keys(head, block, block.row + i + r);
      if (visible > shared) multiply_values(head, layout, block, {i + r, 1, shared, visible, true}, scratch);
    }
  }
}

// Numbers that are added to a row of scores.
struct Added {
  const float* numbers = nullptr;  // none
  int64_t column = 1;

  void add_to(float* scores, int64_t n) const {
    for (int64_t j = 0; j < n && numbers != nullptr; ++j) scores[j] += numbers[j * column];
  }
};

Added mask_of(const AttentionHead& head, const Block& block, int64_t row) {
  if (head.mask == nullptr) return {};
  return {head.mask + row * head.mask_row + block.first * head.mask_column, head.mask_column};
}

Added bias_of(const AttentionHead& head, const Block& block, int64_t row) {
  if (head.bias == nullptr) return {};
  return {head.bias + row * head.bias_row + block.first * head.bias_column, head.bias_column};
}

void hide_keys(const AttentionHead& head, const Block& block, int64_t row, int64_t visible, float* scores) {
  if (head.before != nullptr) {
    std::fill_n(scores, std::clamp<int64_t>(limit(head, head.before[row]) + 1 - block.first, 0, visible),
                kMinusInfinity);
  }
  if (head.allowed != nullptr) {
    const bool* allowed = head.allowed + row * head.mask_row + block.first * head.mask_column;
    for (int64_t j = 0; j < visible; ++j) scores[j] = allowed[j * head.mask_column] ? scores[j] : kMinusInfinity;
  }
}

// x[j] plus what `mask` and `bias` have there, unless they are null, for j in [0, n); returns the largest.
float add_masks(const float* mask, const float* bias, int64_t n, float* x) {
  const FloatTag d;
  const FloatVector least = hn::Set(d, kMinusInfinity);
  FloatVector max = least;
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    FloatVector sum = hn::LoadU(d, x + j);
    if (bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, bias + j));
    if (mask != nullptr) sum = hn::Add(sum, hn::LoadU(d, mask + j));
    if (mask != nullptr || bias != nullptr) hn::StoreU(sum, d, x + j);
    max = hn::Max(max, sum);
  }
  if (j < n) {
    FloatVector sum = hn::LoadU(d, x + j);
    if (bias != nullptr) sum = hn::Add(sum, load_part(bias + j, n - j));
    if (mask != nullptr) sum = hn::Add(sum, load_part(mask + j, n - j));
    hn::StoreU(sum, d, x + j);
    max = hn::Max(max, hn::IfThenElse(hn::FirstN(d, n - j), sum, least));
  }
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// Applies the masks to the first `visible` scores of a row of whole registers; returns the largest.
float mask_row(const AttentionHead& head, const Block& block, int64_t row, int64_t visible, float* scores) {
  const Added mask = mask_of(head, block, row), bias = bias_of(head, block, row);
  const bool hides = head.before != nullptr || head.allowed != nullptr;
  if (!hides && mask.column == 1 && bias.column == 1) return add_masks(mask.numbers, bias.numbers, visible, scores);
  bias.add_to(scores, visible);
  mask.add_to(scores, visible);
  hide_keys(head, block, row, visible, scores);
  return add_masks(nullptr, nullptr, visible, scores);
}

// 2^y for y <= 0: 0 where the result would be denormal, NaN for NaN. (The polynomial was fitted for this file to the
// least largest error; it is 1 at 0.)
HWY_INLINE FloatVector power_of_two(FloatVector y) {
  const FloatTag d;
  const FloatVector round = hn::Set(d, 12582912.0f);  // 1.5 * 2^23
  const FloatVector shifted = hn::Add(y, round);
  const FloatVector n = hn::Sub(shifted, round);
  const FloatVector r = hn::Sub(y, n);
  FloatVector p = hn::Set(d, 1.535336196e-04f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.339887502e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.618436918e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.550332367e-02f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.402264774e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.931471825e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const FloatVector least = hn::Set(d, -125.0f);
#if HWY_TARGET == HWY_AVX3
  // One instruction where others take six: p * 2^n, or 0 where y is less.
  return FloatVector{_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(y.raw, least.raw, _CMP_NLT_UQ), p.raw, n.raw)};
#else
  // The low bits of `shifted` are n; adding it to the exponent of p, which is in [0.7, 1.5), stays in range.
  const hn::RebindToSigned<FloatTag> di;
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const FloatVector scaled = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenElse(hn::Eq(y, y), hn::IfThenZeroElse(hn::Lt(y, least), scaled), y);
#endif
}

constexpr float kLog2E = 1.442695041f;

// x[j] = e^(x[j] - max) for j in [0, n), and 0 up to `filled`, a multiple of a register; returns the sum.
float exponentiate(float* x, int64_t n, int64_t filled, float max) {
  const FloatTag d;
  const FloatVector factor = hn::Set(d, kLog2E);
  const FloatVector shift = hn::Set(d, max);
  FloatVector sum = hn::Zero(d);
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const FloatVector e = power_of_two(hn::Mul(hn::Sub(hn::LoadU(d, x + j), shift), factor));
    hn::StoreU(e, d, x + j);
    sum = hn::Add(sum, e);
  }
  if (j < n) {
    const FloatVector e = power_of_two(hn::Mul(hn::Sub(hn::LoadU(d, x + j), shift), factor));
    const FloatVector seen = hn::IfThenElseZero(hn::FirstN(d, n - j), e);
    hn::StoreU(seen, d, x + j);
    sum = hn::Add(sum, seen);
    j += kLanes;
  }
  for (; j < filled; j += kLanes) hn::StoreU(hn::Zero(d), d, x + j);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void scale_row(const float* x, int64_t n, float factor, float* y) {
  const FloatTag d;
  const FloatVector scale = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), scale), d, y + i);
  for (; i < n; ++i) y[i] = x[i] * factor;
}

// The largest score of each row so far, and the sum of the exponentials of their distances to it.
struct Running {
  float max[kAttentionRows];
  float sum[kAttentionRows];
};

void soften(const AttentionHead& head, const Layout& layout, const Block& block, Running& running, float* scratch) {
  float* scores = layout.scores(head, scratch);
  float* sums = layout.sums(head, scratch);
  const int64_t filled = whole_vectors(block.keys) * kLanes;
  for (int64_t i = 0; i < block.rows; ++i) {
    float* row = scores + i * layout.score_columns;
    const int64_t visible = visible_keys(head, block, block.row + i);
    const float before = running.max[i];
    const float max = std::max(before, mask_row(head, block, block.row + i, visible, row));
    // Where nothing is visible so far, 0 keeps the exponentials at 0 rather than at NaN.
    const float shift = max == kMinusInfinity ? 0.0f : max;
    const float sum = exponentiate(row, visible, filled, shift);
    const float shrink = block.first == 0 ? 0.0f : std::exp(before - shift);
    running.max[i] = max;
    running.sum[i] = running.sum[i] * shrink + sum;
    if (block.first > 0 && shrink != 1.0f) {
      float* out = sums + i * layout.value_columns;
      scale_row(out, layout.value_columns, shrink, out);
    }
  }
}

void attend_rows(const AttentionHead& head, const Layout& layout, int64_t row, int64_t rows, float* scratch) {
  Running running = {};
  std::fill(running.max, running.max + kAttentionRows, kMinusInfinity);
  int64_t keys = head.causal ? std::min(head.keys, row + rows) : head.keys;
  if (head.last != nullptr) keys = std::min(limit(head, head.last[row + rows - 1]) + 1, head.keys);
  for (int64_t first = 0; first < keys; first += kAttentionKeys) {
    const Block block = {row, rows, first, std::min(kAttentionKeys, keys - first)};
    multiply_keys(head, layout, block, scratch);
    soften(head, layout, block, running, scratch);
    multiply_values(head, layout, block, scratch);
  }
  const float* sums = layout.sums(head, scratch);
  for (int64_t i = 0; i < rows; ++i) {
    float* out = head.out + (row + i) * head.out_row;
    if (running.sum[i] == 0) {
      std::fill_n(out, head.value_size, head.hidden_result);
    } else {
      scale_row(sums + i * layout.value_columns, head.value_size, 1.0f / running.sum[i], out);
    }
  }
}

void attend_range(const AttentionHead& head, int64_t begin, int64_t end, float* scratch) {
  const Layout layout(head);
  for (int64_t row = begin; row < end; row += kAttentionRows) {
    attend_rows(head, layout, row, std::min(kAttentionRows, end - row), scratch);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(scratch_floats);
HWY_EXPORT(pack);
HWY_EXPORT(attend_range);

size_t attention_scratch_floats(const AttentionHead& head) { return HWY_DYNAMIC_DISPATCH(scratch_floats)(head); }

void pack_attention(const AttentionHead& head, float* scratch) { HWY_DYNAMIC_DISPATCH(pack)(head, scratch); }

void attend(const AttentionHead& head, int64_t begin, int64_t end, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend_range)(head, begin, end, scratch);
}

}  // namespace berth::cpu
#endif
