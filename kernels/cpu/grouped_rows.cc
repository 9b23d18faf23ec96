#include "kernels/cpu/grouped_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grouped_rows.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// Bytes from what is read to what is fetched. A cache of a few thousand rows lies in memory, and each row is read once.
constexpr int64_t kAhead = 8192;
// At most a lane each.
constexpr int kHeads = kLanes < 4 ? static_cast<int>(kLanes) : 4;

// Elements of a line of the cache.
template <typename T>
constexpr int64_t kLine = 64 / sizeof(T);

template <typename T>
int64_t rows_ahead(int64_t size) {
  const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
  return kAhead / std::clamp<int64_t>(bytes, 1, kAhead);
}

HWY_INLINE FloatVector load(const float* from) { return hn::LoadU(FloatTag(), from); }

HWY_INLINE FloatVector load(const BFloat16* from) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

HWY_INLINE FloatVector load(const Half* from) {
  const FloatTag d;
  if constexpr (kConvertsHalves) {
    const hn::Rebind<hwy::float16_t, FloatTag> halves;
    return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
  }
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::PromoteTo(du, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from)));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFF));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const auto number = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
  const auto special = hn::BitCast(d, hn::Set(du, 0x7F800000u));
  const auto is_number = hn::RebindMask(d, hn::Lt(magnitude, hn::Set(du, 0x7C00)));
  return hn::Or(hn::IfThenElse(is_number, number, hn::Or(number, special)), hn::BitCast(d, sign));
}

// Scores of a head, filled up to whole registers.
int64_t score_row(int64_t keys) { return (keys + kLanes - 1) / kLanes * kLanes; }

size_t scratch_floats(int64_t heads, int64_t keys) { return (heads * score_row(keys) + 15) / 16 * 16; }

// The sums of the lanes of kCount registers as the lanes of one: the halves that two of them make are one, and so on.
// Of kCount lanes each.
template <int kCount>
HWY_INLINE FloatVector sums_of_lanes(FloatVector (&of)[kCount]) {
#if HWY_TARGET != HWY_SCALAR
  const FloatTag d;
  BERTH_UNROLL_FULL
  for (int count = kCount / 2; count >= 1; count /= 2) {
    BERTH_UNROLL_FULL
    for (int i = 0; i < count; ++i) {
      of[i] = hn::Add(hn::ConcatEven(d, of[2 * i + 1], of[2 * i]), hn::ConcatOdd(d, of[2 * i + 1], of[2 * i]));
    }
  }
#endif
  return of[0];
}

// Heads [head, head + kCount): the products of their queries with keys from j on, as many as make a register of sums.
template <typename T, int kCount>
HWY_INLINE void multiply_some_keys(const GroupedRows& r, int64_t head, int64_t j, float* scores, int64_t row) {
  constexpr int kKeys = static_cast<int>(kLanes) / kCount;
  constexpr int kSums = kCount * kKeys;
  const FloatTag d;
  const float* query = r.query + head * r.query_head;
  const int64_t count = std::min<int64_t>(kKeys, r.end - j);
  const int64_t ahead = rows_ahead<T>(r.size) * r.key_row;
  const T* key[kKeys];  // behind the last one it is read again
  for (int64_t n = 0; n < kKeys; ++n) key[n] = r.key.as<T>() + (j + std::min(n, count - 1)) * r.key_row;
  FloatVector sum[kSums];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kSums; ++i) sum[i] = hn::Zero(d);
  // Where keys lie side by side they are fetched in that order, which memory gives fastest.
  const bool dense = r.key_row == r.size;
  int64_t e = 0;
  for (; e + kLanes <= r.size; e += kLanes) {
    FloatVector k[kKeys];
    if (dense) {
      const T* next = key[0] + ahead + e * kKeys;
      for (int64_t i = 0; i < kKeys * kLanes; i += kLine<T>) __builtin_prefetch(next + i);
    } else if (e % kLine<T> == 0) {
      for (const T* one : key) __builtin_prefetch(one + ahead + e);
    }
    BERTH_UNROLL_FULL
    for (int n = 0; n < kKeys; ++n) k[n] = load(key[n] + e);
    BERTH_UNROLL_FULL
    for (int h = 0; h < kCount; ++h) {
      const FloatVector q = hn::LoadU(d, query + h * r.query_head + e);
      BERTH_UNROLL_FULL
      for (int n = 0; n < kKeys; ++n) sum[h * kKeys + n] = hn::MulAdd(q, k[n], sum[h * kKeys + n]);
    }
  }
  alignas(64) float all[kSums];
  hn::Store(sums_of_lanes(sum), d, all);
  for (int h = 0; h < kCount; ++h) {
    const float* q = query + h * r.query_head;
    float* to = scores + (head + h) * row + j - r.first;
    for (int64_t n = 0; n < count; ++n) {
      float one = all[h * kKeys + n];
      for (int64_t rest = e; rest < r.size; ++rest) one += q[rest] * static_cast<float>(key[n][rest]);
      to[n] = one * r.scale;
    }
  }
}

void mask_row(const GroupedRows& r, int64_t head, float* scores) {
  const int64_t at = head * r.mask_head + r.first * r.mask_column;
  const int64_t n = r.end - r.first;
  if (r.mask != nullptr) {
    for (int64_t j = 0; j < n; ++j) scores[j] += r.mask[at + j * r.mask_column];
  }
  if (r.allowed != nullptr) {
    for (int64_t j = 0; j < n; ++j) scores[j] = r.allowed[at + j * r.mask_column] ? scores[j] : kMinusInfinity;
  }
}

// x[j] = e^(x[j] - largest) for j in [0, n); returns the sum, 0 where all are -infinity.
float soften(float* x, int64_t n) {
  const FloatTag d;
  std::fill(x + n, x + score_row(n), kMinusInfinity);
  FloatVector most = hn::Set(d, kMinusInfinity);
  for (int64_t j = 0; j < n; j += kLanes) {
    const FloatVector v = hn::LoadU(d, x + j);
    // NaN is the largest of all: it stays, as it is not at most anything.
    most = hn::IfThenElse(hn::Or(hn::Le(v, most), hn::IsNaN(most)), most, v);
  }
  alignas(64) float lanes[kLanes];
  hn::Store(most, d, lanes);
  float largest = kMinusInfinity;
  for (int64_t i = 0; i < kLanes; ++i) largest = lanes[i] > largest || lanes[i] != lanes[i] ? lanes[i] : largest;
  if (largest == kMinusInfinity) return 0;
  const FloatVector shift = hn::Set(d, largest);
  FloatVector sum = hn::Zero(d);
  for (int64_t j = 0; j < n; j += kLanes) {
    const FloatVector e = exp_of_negative(hn::Sub(hn::LoadU(d, x + j), shift));
    hn::StoreU(e, d, x + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Of heads [head, head + kCount), elements [from, from + kVectors * kLanes) of the sums of values.
template <typename T, int kCount, int kVectors>
HWY_INLINE void multiply_values(const GroupedRows& r, int64_t head, int64_t from, const float* scores, int64_t row,
                                const float* factors) {
  const FloatTag d;
  FloatVector sum[kCount][kVectors];
  BERTH_UNROLL_FULL
  for (int h = 0; h < kCount; ++h) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[h][v] = hn::Zero(d);
  }
  const int64_t ahead = rows_ahead<T>(r.value_size) * r.value_row;
  const T* value = r.value.as<T>() + r.first * r.value_row + from;
  for (int64_t j = 0; j < r.end - r.first; ++j, value += r.value_row) {
    FloatVector part[kVectors];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) {
      __builtin_prefetch(value + ahead + v * kLanes);
      part[v] = load(value + v * kLanes);
    }
    BERTH_UNROLL_FULL
    for (int h = 0; h < kCount; ++h) {
      const FloatVector share = hn::Set(d, scores[(head + h) * row + j]);
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[h][v] = hn::MulAdd(share, part[v], sum[h][v]);
    }
  }
  BERTH_UNROLL_FULL
  for (int h = 0; h < kCount; ++h) {
    const FloatVector factor = hn::Set(d, factors[h]);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(sum[h][v], factor), d, r.out + (head + h) * r.out_head + from + v * kLanes);
    }
  }
}

// The elements behind whole registers.
void multiply_rest(const GroupedRows& r, int64_t head, int64_t from, const float* scores, float factor) {
  for (int64_t e = from; e < r.value_size; ++e) {
    float sum = 0;
    for (int64_t j = r.first; j < r.end; ++j) sum += scores[j - r.first] * r.value.at(j * r.value_row + e);
    r.out[head * r.out_head + e] = sum * factor;
  }
}

void fill_result(const GroupedRows& r, int64_t head) {
  std::fill_n(r.out + head * r.out_head, r.value_size, r.hidden_result);
}

// Heads [head, head + kCount) with kCount <= kHeads.
template <typename T, int kCount>
HWY_NOINLINE void attend_heads(const GroupedRows& r, int64_t head, float* scores, int64_t row) {
  // Whole rows at a time where registers suffice: memory gives what lies side by side fastest.
  constexpr bool kFit = HWY_TARGET == HWY_AVX3 && kCount <= 2 && !std::is_same_v<T, Half>;
  constexpr int kVectors = kFit ? 8 : kTileVectors;
  constexpr int64_t kKeys = kLanes / kCount;
  for (int64_t j = r.first; j < r.end; j += kKeys) multiply_some_keys<T, kCount>(r, head, j, scores, row);
  // While scores become shares, the first values come.
  const T* value = r.value.as<T>() + r.first * r.value_row;
  const int64_t rows = std::min(rows_ahead<T>(r.value_size), r.end - r.first);
  for (int64_t j = 0; j < rows; ++j) {
    for (int64_t e = 0; e < r.value_size; e += kLine<T>) __builtin_prefetch(value + j * r.value_row + e);
  }
  float factors[kHeads];
  bool hidden[kHeads];
  for (int64_t h = 0; h < kCount; ++h) {
    float* own = scores + (head + h) * row;
    mask_row(r, head + h, own);
    const float sum = soften(own, r.end - r.first);
    factors[h] = sum == 0 ? 0 : 1 / sum;
    hidden[h] = sum == 0;
    if (hidden[h]) std::fill_n(own, r.end - r.first, 0.0f);
  }
  int64_t e = 0;
  for (; e + kVectors * kLanes <= r.value_size; e += kVectors * kLanes) {
    multiply_values<T, kCount, kVectors>(r, head, e, scores, row, factors);
  }
  if constexpr (kFit) {
    for (; e + kTileColumns <= r.value_size; e += kTileColumns) {
      multiply_values<T, kCount, kTileVectors>(r, head, e, scores, row, factors);
    }
  }
  for (; e + kLanes <= r.value_size; e += kLanes) multiply_values<T, kCount, 1>(r, head, e, scores, row, factors);
  for (int64_t h = 0; e < r.value_size && h < kCount; ++h) {
    multiply_rest(r, head + h, e, scores + (head + h) * row, factors[h]);
  }
  for (int64_t h = 0; h < kCount; ++h) {
    if (hidden[h]) fill_result(r, head + h);
  }
}

template <typename T>
void attend_all_heads(const GroupedRows& r, float* scratch, int64_t row) {
  // Each form is code in every library: of f16, which is rarer, and before AVX2 there are fewer.
  constexpr bool kIsHalf = std::is_same_v<T, Half>;
  int64_t head = 0;
  if constexpr (!kIsHalf || kConvertsHalves) {
    for (; head + kHeads <= r.heads; head += kHeads) attend_heads<T, kHeads>(r, head, scratch, row);
  }
  if constexpr (kHeads > 2 && !kIsHalf && (kConvertsHalves || HWY_TARGET == HWY_NEON)) {
    for (; head + 2 <= r.heads; head += 2) attend_heads<T, 2>(r, head, scratch, row);
  }
  for (; head < r.heads; ++head) attend_heads<T, 1>(r, head, scratch, row);
}

void attend_rows(const GroupedRows& r, float* scratch) {
  if (r.end <= r.first) {
    for (int64_t h = 0; h < r.heads; ++h) fill_result(r, h);
    return;
  }
  const int64_t row = score_row(r.end - r.first);
  if (r.key.is_wide()) return attend_all_heads<float>(r, scratch, row);
  if (r.key.dtype == DType::kBF16) return attend_all_heads<BFloat16>(r, scratch, row);
  attend_all_heads<Half>(r, scratch, row);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(scratch_floats);
HWY_EXPORT(attend_rows);

size_t grouped_rows_scratch_floats(int64_t heads, int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(heads, keys);
}

void attend_grouped_rows(const GroupedRows& rows, float* scratch) { HWY_DYNAMIC_DISPATCH(attend_rows)(rows, scratch); }

}  // namespace berth::cpu
#endif
