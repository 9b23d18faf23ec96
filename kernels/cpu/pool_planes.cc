#include "kernels/cpu/pool_planes.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/pool_reach.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool_planes.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// A row of the result in two steps: the rows under the windows become one line, of which then each window combines its
// columns. So a window of 3x3 takes 6 operations and not 9. Several lines are made before the first is read: what was
// stored a moment ago, in other parts, would be waited for.
struct Lines {
  static constexpr int64_t kFloats = 2048;
  static constexpr int64_t kMore = 4 * kLanes;  // of each line, that are read and not used
  static constexpr int64_t kMost = 16;

  float at[kFloats + kMore];
  bool has_nan[kMost];
  float counts[kFloats + kLanes];  // of averages: what each window of a row counts across
};

template <bool kMax>
HWY_INLINE float neutral() {
  return kMax ? -std::numeric_limits<float>::infinity() : 0.0f;
}
template <bool kMax>
HWY_INLINE FloatVector combine(FloatVector a, FloatVector b) {
  return kMax ? hn::Max(a, b) : hn::Add(a, b);
}

// The rows of a plane under the windows of a row of the result.
struct Rows {
  const float* in;
  int64_t count, stride;
};

Reach reach_of_row(const PlanePooling& p, int64_t row) {
  return reach_of(p.height, row % p.height.out, p.count_include_pad);
}

Rows rows_under(const PlanePooling& p, int64_t row) {
  const Reach reach = reach_of_row(p, row);
  const float* plane = p.in + row / p.height.out * p.height.in * p.width.in;
  return {plane + reach.first * p.width.in, reach.count, p.height.dilation * p.width.in};
}

// `lanes` columns of the plane from `x` on, combined to a register of `line`; their sum is added to `*sums`.
template <bool kMax>
HWY_INLINE void combine_part(const Rows& rows, int64_t x, int64_t lanes, float* line, FloatVector* sums) {
  const FloatTag d;
  FloatVector all = hn::Set(d, neutral<kMax>());
  FloatVector sum = hn::Zero(d);
  const float* in = rows.in + x;
  for (int64_t y = 0; y < rows.count; ++y, in += rows.stride) {
    const FloatVector value = lanes == kLanes ? hn::LoadU(d, in) : load_part(in, lanes);
    all = combine<kMax>(all, value);
    if (kMax) sum = hn::Add(sum, value);
  }
  if (kMax) *sums = hn::Add(*sums, sum);
  hn::StoreU(all, d, line + x);
}

// The same of two registers, so that one's operations are done while the other's wait.
template <bool kMax>
HWY_INLINE void combine_two(const Rows& rows, int64_t x, float* line, FloatVector* sums) {
  const FloatTag d;
  const float* in = rows.in + x;
  FloatVector a = hn::LoadU(d, in), b = hn::LoadU(d, in + kLanes);
  FloatVector a_sum = a, b_sum = b;
  for (int64_t y = 1; y < rows.count; ++y) {
    in += rows.stride;
    const FloatVector more_a = hn::LoadU(d, in), more_b = hn::LoadU(d, in + kLanes);
    a = combine<kMax>(a, more_a);
    b = combine<kMax>(b, more_b);
    if (kMax) a_sum = hn::Add(a_sum, more_a);
    if (kMax) b_sum = hn::Add(b_sum, more_b);
  }
  if (kMax) *sums = hn::Add(*sums, hn::Add(a_sum, b_sum));
  hn::StoreU(a, d, line + x);
  hn::StoreU(b, d, line + x + kLanes);
}

// Columns [begin, end) of the plane, all within it, combined to `line`, the last register whole. False where one of
// them may be a NaN, of which the sums tell, as of infinities of both signs. REQUIRES: rows.count > 0.
template <bool kMax>
bool combine_rows(const Rows& rows, int64_t begin, int64_t end, float* line) {
  const FloatTag d;
  FloatVector sums = hn::Zero(d);
  line -= begin;
  int64_t x = begin;
  for (; x + 2 * kLanes <= end; x += 2 * kLanes) combine_two<kMax>(rows, x, line, &sums);
  for (; x < end; x += kLanes) combine_part<kMax>(rows, x, std::min(kLanes, end - x), line, &sums);
  return !kMax || hn::AllFalse(d, hn::IsNaN(sums));
}

// kLanes windows of the line, kStride apart, from `first` on.
template <bool kMax, int kStride>
HWY_INLINE FloatVector combine_windows(const float* first, const portable::WindowAxis& width) {
  const FloatTag d;
  FloatVector all = hn::Set(d, neutral<kMax>());
  for (int64_t k = 0; k < width.kernel; ++k) {
    const float* tap = first + k * width.dilation;
    if (kStride == 1) {
      all = combine<kMax>(all, hn::LoadU(d, tap));
      continue;
    }
    FloatVector even, odd;
    hn::LoadInterleaved2(d, tap, even, odd);
    all = combine<kMax>(all, even);
    if (width.dilation != 1 || k + 1 == width.kernel) continue;
    all = combine<kMax>(all, odd);
    ++k;
  }
  return all;
}

// `count` windows of the line, kStride apart. Averages are divided by `counts` and `rows`. Parts of a register are
// stored slowly: the last one reaches back where it can.
template <bool kMax, int kStride>
void combine_columns(const float* line, const portable::WindowAxis& width, int64_t count, const float* counts,
                     float rows, float* out) {
  const FloatTag d;
  for (int64_t x = 0; x < count; x += kLanes) {
    if (x + kLanes > count && count >= kLanes) x = count - kLanes;
    FloatVector all = combine_windows<kMax, kStride>(line + x * kStride, width);
    if (!kMax) all = hn::Div(all, hn::Mul(hn::Set(d, rows), hn::LoadU(d, counts + x)));
    if (count >= kLanes) {
      hn::StoreU(all, d, out + x);
    } else {
      store_part(all, out + x, count);
    }
  }
}

template <bool kMax>
void combine_far_columns(const float* line, const portable::WindowAxis& width, int64_t count, const float* counts,
                         float rows, float* out) {
  for (int64_t x = 0; x < count; ++x, line += width.stride) {
    float all = neutral<kMax>();
    for (int64_t k = 0; k < width.kernel; ++k) {
      const float value = line[k * width.dilation];
      all = kMax ? std::max(all, value) : all + value;
    }
    out[x] = kMax ? all : all / (rows * counts[x]);
  }
}

// Windows [begin, end) of a row of the result, one by one.
HWY_NOINLINE void max_with_nan(const PlanePooling& p, int64_t row, int64_t begin, int64_t end) {
  const Rows rows = rows_under(p, row);
  for (int64_t x = begin; x < end; ++x) {
    const Reach columns = reach_of(p.width, x, false);
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t y = 0; y < rows.count; ++y) {
      const float* in = rows.in + y * rows.stride + columns.first;
      for (int64_t k = 0; k < columns.count; ++k) {
        const float value = in[k * p.width.dilation];
        if (value > most || value != value) most = value;
      }
    }
    p.out[row * p.width.out + x] = most;
  }
}

// What the windows of a row of the result count down, and each across, in an average. Each of those covers an element:
// no padding is more than half a window, and no window starts behind the plane.
float rows_counted(const PlanePooling& p, int64_t row) {
  return p.divisor != 0 ? 1.0f : static_cast<float>(reach_of_row(p, row).counted);
}

HWY_NOINLINE void count_columns(const PlanePooling& p, int64_t begin, int64_t count, float* counts) {
  for (int64_t x = 0; x < count; ++x) {
    const int64_t counted = reach_of(p.width, begin + x, p.count_include_pad).counted;
    counts[x] = static_cast<float>(p.divisor != 0 ? p.divisor : counted);
  }
  std::fill(counts + count, counts + count + kLanes, 1.0f);
}

// Some rows of the result, and as many of its columns.
struct Block {
  int64_t row, rows;
  int64_t column, columns;
};

// A line of `floats` columns from that of the first window of `block` on, with what stands for padding. Whether it may
// have a NaN.
template <bool kMax>
bool make_line(const PlanePooling& p, const Rows& rows, const Block& block, int64_t floats, float* line) {
  const int64_t first = block.column * p.width.stride - p.width.padding;
  const int64_t begin = std::clamp<int64_t>(first, 0, p.width.in);
  const int64_t end = rows.count == 0 ? begin : std::clamp<int64_t>(first + floats, begin, p.width.in);
  std::fill(line, line + (begin - first), neutral<kMax>());
  const bool has_nan = begin < end && !combine_rows<kMax>(rows, begin, end, line + (begin - first));
  std::fill(line + (end - first), line + floats + Lines::kMore, neutral<kMax>());
  return has_nan;
}

template <bool kMax>
void run_block(const PlanePooling& p, const Block& block, int64_t floats, Lines* lines) {
  const int64_t pitch = floats + Lines::kMore;
  for (int64_t i = 0; i < block.rows; ++i) {
    lines->has_nan[i] = make_line<kMax>(p, rows_under(p, block.row + i), block, floats, lines->at + i * pitch);
  }
  for (int64_t i = 0; i < block.rows; ++i) {
    const int64_t row = block.row + i;
    const float* line = lines->at + i * pitch;
    float* out = p.out + row * p.width.out + block.column;
    const float rows = kMax ? 1.0f : rows_counted(p, row);
    if (lines->has_nan[i]) {
      max_with_nan(p, row, block.column, block.column + block.columns);
    } else if (p.width.stride == 1) {
      combine_columns<kMax, 1>(line, p.width, block.columns, lines->counts, rows, out);
    } else if (p.width.stride == 2) {
      combine_columns<kMax, 2>(line, p.width, block.columns, lines->counts, rows, out);
    } else {
      combine_far_columns<kMax>(line, p.width, block.columns, lines->counts, rows, out);
    }
  }
}

template <bool kMax>
void run_rows(const PlanePooling& p, int64_t begin, int64_t end) {
  Lines lines;
  const int64_t window = (p.width.kernel - 1) * p.width.dilation + 1;
  const int64_t columns = std::min(p.width.out, (Lines::kFloats - window) / p.width.stride + 1);
  const int64_t floats = (columns - 1) * p.width.stride + window;
  const int64_t rows = std::clamp<int64_t>(Lines::kFloats / (floats + Lines::kMore), 1, Lines::kMost);
  for (int64_t row = begin; row < end; row += rows) {
    const int64_t count = std::min(rows, end - row);
    for (int64_t x = 0; x < p.width.out; x += columns) {
      const int64_t there = std::min(columns, p.width.out - x);
      if (!kMax && (row == begin || there < p.width.out)) count_columns(p, x, there, lines.counts);
      run_block<kMax>(p, {row, count, x, there}, (there - 1) * p.width.stride + window, &lines);
    }
  }
}

void rows_of_planes(const PlanePooling& pooling, int64_t begin, int64_t end) {
  pooling.is_max ? run_rows<true>(pooling, begin, end) : run_rows<false>(pooling, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(rows_of_planes);

bool PlanePooling::is_short() const {
  constexpr int64_t kMost = 1024;  // half of a line
  return width.kernel <= kMost && width.dilation <= kMost && width.stride <= kMost &&
         (width.kernel - 1) * width.dilation < kMost;
}

void plane_rows(const PlanePooling& pooling, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(rows_of_planes)(pooling, begin, end);
}

}  // namespace berth::cpu
#endif
