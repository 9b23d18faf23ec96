// Tiles of every height and width, of any arithmetic: what a register of the input and one of the weight add to a
// register of sums. Included once for each instruction set (hwy/foreach_target.h).
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_TILES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_TILES_BODY_INL_H_
#undef BERTH_CPU_TILES_BODY_INL_H_
#else
#define BERTH_CPU_TILES_BODY_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/tiles_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// The most rows of tiles of 1, 2, … registers. Their sums, the registers of weights and one for an element of the input
// are all registers that there are: 32 with AVX-512, 16 elsewhere. The products of one register of weights wait for
// loads with 14 rows as with 28, but a tile more has to be begun and ended.
#if HWY_TARGET == HWY_AVX3
constexpr int kHighest[] = {0, 28, 14, 9, 6};
#elif HWY_TARGET == HWY_AVX2
constexpr int kHighest[] = {0, 12, 6, 0, 0};
#elif HWY_TARGET == HWY_SCALAR
constexpr int kHighest[] = {0, 3, 3, 0, 0};  // for processors without SSE4: each tile is code
#else
constexpr int kHighest[] = {0, 6, 6, 0, 0};
#endif
// Above this only even heights have a tile; tiles over several rows are no higher than kHighestMixed.
constexpr int kAnyHeight = 14;
constexpr int kHighestMixed = 6;

// Products of f32. What is said of it holds for every arithmetic: a weight's element stands beside those of the other
// columns, an element of the input is a float or fills one, and a sum is made in so many parts, each of a part of both.
struct Floats {
  using Weight = float;
  static constexpr int kHighestTile = 28;
  static constexpr bool kWindows = true;  // beside products of matrices
  static constexpr int kParts = 1;

  template <int kPart>
  static HWY_INLINE FloatVector weights(const Weight* b) {
    return hn::LoadU(FloatTag(), b);
  }
  template <int kPart>
  static HWY_INLINE FloatVector element(const float* a) {
    return hn::Set(FloatTag(), *a);
  }
  static HWY_INLINE FloatVector add(FloatVector x, FloatVector row, FloatVector sum) { return hn::MulAdd(x, row, sum); }
};

// The first pixel of a tile.
struct Pixel {
  int64_t image, y, x;  // of the result; where a row is all pixels, x is counted from the first of all
};

// Of a line of the cache.
constexpr int64_t kLineFloats = 16;

// One panel of one group.
template <typename A>
struct Panel {
  const typename A::Weight* weight;
  // A tile asks for one line of the cache here for each row of weights: what will be needed next.
  const float* ahead;
  int64_t channel;  // the group's first of the input
  Columns columns;
  const float* bias;  // load_bias()

  // The line to ask for with the row of weights at `b`, of so many registers.
  template <int kVectors>
  HWY_INLINE const float* ahead_at(const typename A::Weight* b) const {
    return ahead + (b - weight) / (kVectors * kLanes) * kLineFloats;
  }
};

// One row of weights, or a part of it. Three rows of the input lie behind one pointer.
template <typename A, int kPart, int kBegin, int kEnd, int kRows, int kVectors, int kPointers>
HWY_INLINE void add_part(FloatVector (&sum)[kRows][kVectors], const float* const (&pointer)[kPointers], int64_t step,
                         const typename A::Weight* b) {
  FloatVector row[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) row[v] = A::template weights<kPart>(b + v * kLanes);
  BERTH_UNROLL_FULL
  for (int i = 0; i < kEnd - kBegin; ++i) {
    const FloatVector x = A::template element<kPart>(pointer[i / 3] + i % 3 * step);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[kBegin + i][v] = A::add(x, row[v], sum[kBegin + i][v]);
  }
}

template <typename A, int kPart, int kRows, int kVectors>
HWY_INLINE void add_scattered_part(FloatVector (&sum)[kRows][kVectors], const float* const (&a)[kRows], int64_t k,
                                   const typename A::Weight* b) {
  FloatVector row[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) row[v] = A::template weights<kPart>(b + v * kLanes);
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    const FloatVector x = A::template element<kPart>(a[i] + k);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = A::add(x, row[v], sum[i][v]);
  }
}

// What was loaded before is loaded again: the parts of a sum read the same memory, and where there are 16 registers a
// compiler that keeps all rows of the input for the next part has none left for the sums.
HWY_INLINE void forget_loads() {
  if constexpr (HWY_TARGET == HWY_AVX2) __asm__ volatile("" ::: "memory");
}

// Adds to rows [kBegin, kEnd) of the sums the product of as many rows of the input, `step` apart, and `depth` rows of
// weights.
template <typename A, int kBegin, int kEnd, int kRows, int kVectors>
HWY_INLINE void add_rows(FloatVector (&sum)[kRows][kVectors], const float* a, int64_t step, const typename A::Weight* b,
                         int64_t depth, const float* ahead) {
  // Three rows from one pointer: an address has a register of it, and that of `step` once or twice.
  constexpr int kPointers = (kEnd - kBegin + 2) / 3;
  const float* pointer[kPointers];
  BERTH_UNROLL_FULL
  for (int j = 0; j < kPointers; ++j) pointer[j] = a + 3 * j * step;
  for (int64_t k = 0; k < depth; ++k, b += kVectors * kLanes) {
    add_part<A, 0, kBegin, kEnd>(sum, pointer, step, b);
    if constexpr (A::kParts > 1) {
      forget_loads();
      add_part<A, 1, kBegin, kEnd>(sum, pointer, step, b);
    }
    BERTH_UNROLL_FULL
    for (int j = 0; j < kPointers; ++j) ++pointer[j];
    if constexpr (kVectors > 1) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLineFloats;
    }
  }
}

// The same, of rows that lie anywhere.
template <typename A, int kRows, int kVectors>
HWY_INLINE void add_scattered(FloatVector (&sum)[kRows][kVectors], const float* const (&a)[kRows],
                              const typename A::Weight* b, int64_t depth, const float* ahead) {
  for (int64_t k = 0; k < depth; ++k, b += kVectors * kLanes) {
    if constexpr (kVectors > 1) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kLineFloats;
    }
    add_scattered_part<A, 0>(sum, a, k, b);
    if constexpr (A::kParts > 1) {
      forget_loads();
      add_scattered_part<A, 1>(sum, a, k, b);
    }
  }
}

// The biases of a panel, whole registers of them: what is beyond its columns is zero.
HWY_MAYBE_UNUSED HWY_NOINLINE void load_bias(const TileJob& job, const Columns& columns, int64_t vectors, float* to) {
  const FloatTag d;
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t left = columns.count - v * kLanes;
    const float* bias = job.bias == nullptr || left <= 0 ? nullptr : job.bias + columns.first + v * kLanes;
    const FloatVector x = bias == nullptr ? hn::Zero(d) : left >= kLanes ? hn::LoadU(d, bias) : load_part(bias, left);
    hn::Store(x, d, to + v * kLanes);
  }
}

// Sums begin with the bias.
template <typename A, int kRows, int kVectors>
HWY_INLINE void begin_tile(const Panel<A>& panel, FloatVector (&sum)[kRows][kVectors]) {
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    const FloatVector first = hn::Load(FloatTag(), panel.bias + v * kLanes);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) sum[i][v] = first;
  }
}

template <typename A, int kRows, int kVectors>
HWY_INLINE void end_tile(const TileJob& job, const Panel<A>& panel, const Pixel& pixel, const float* kept,
                         const FloatVector (&sum)[kRows][kVectors]) {
  const FloatTag d;
  const int64_t step = job.out_pixel;
  float* const out =
      job.out_data + pixel.image * job.out_image + pixel.y * job.out_row + pixel.x * step + panel.columns.first;
  if (HWY_LIKELY(panel.columns.count >= kVectors * kLanes && !job.residual && kept == nullptr)) {
    const FloatVector low = hn::Set(d, job.low), high = hn::Set(d, job.high);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) {
      BERTH_UNROLL_FULL
      for (int i = 0; i < kRows; ++i) hn::StoreU(within(low, high, sum[i][v]), d, out + v * kLanes + i * step);
    }
  } else {
    HWY_ALIGN float sums[kRows * kVectors * kLanes];
    store_sums(sum, sums);
    end_stored(job, panel.columns, sums, kept, kRows, kVectors, out);
  }
  if (!job.bounded) activate_rows(job, panel.columns.count, out, kRows);
}

// Each pixel sees the one in its own place, and nothing else.
template <typename A, int kRows, int kVectors>
HWY_NOINLINE void plain_tile(const TileJob& job, const Panel<A>& panel, const Pixel& pixel) {
  FloatVector sum[kRows][kVectors];
  begin_tile(panel, sum);
  const int64_t step = job.input_step != 0 ? job.input_step : job.in_channels();
  const float* a = job.input + (pixel.x - job.first_pixel) * step + panel.channel;
  const typename A::Weight* b = panel.weight;
  const float* ahead = panel.ahead;
  LongSum<kRows, kVectors> whole;
  for (int64_t left = job.depth;;) {
    const int64_t depth = std::min(kShortDepth, left);
    add_rows<A, 0, kRows>(sum, a, step, b, depth, ahead);
    left -= depth;
    if (HWY_LIKELY(left == 0)) break;
    whole.put_sums_away(sum);
    a += depth;
    b += depth * kVectors * kLanes;
    ahead += depth * kLineFloats;
  }
  end_tile(job, panel, pixel, whole.kept(), sum);
}

// The same for pixels of which some see nothing, in a row of the input: a few at a time, on sums in memory.
template <typename A, int kVectors>
HWY_NOINLINE void add_seen(const TileJob& job, float* sums, int64_t rows, const float* row, int64_t x,
                           const typename A::Weight* b, int64_t depth) {
  if (x + (rows - 1) * job.stride[1] < 0 || x >= job.in[1]) return;
  const FloatTag d;
  for (int64_t first = 0; first < rows; first += kHighestMixed) {
    FloatVector sum[kHighestMixed][kVectors];
    const float* a[kHighestMixed];
    for (int i = 0; i < kHighestMixed; ++i, x += job.stride[1]) {
      a[i] = first + i < rows && inside(x, job.in[1]) ? row + x * job.in_channels() : job.zeros;
      for (int v = 0; v < kVectors; ++v) {
        sum[i][v] = first + i < rows ? hn::Load(d, sums + ((first + i) * kVectors + v) * kLanes) : hn::Zero(d);
      }
    }
    add_scattered<A, kHighestMixed, kVectors>(sum, a, b, depth, reinterpret_cast<const float*>(b));
    for (int i = 0; i < kHighestMixed && first + i < rows; ++i) {
      for (int v = 0; v < kVectors; ++v) hn::Store(sum[i][v], d, sums + ((first + i) * kVectors + v) * kLanes);
    }
  }
}

// Pixels side by side in one row of the result.
template <typename A, int kRows, int kVectors>
HWY_NOINLINE void row_tile(const TileJob& job, const Panel<A>& panel, const Pixel& pixel) {
  FloatVector sum[kRows][kVectors];
  begin_tile(panel, sum);
  const int64_t first = pixel.x * job.stride[1] - job.padding[1];
  const int64_t y = pixel.y * job.stride[0] - job.padding[0];
  const int64_t channels = job.in_channels();
  const int64_t step = job.stride[1] * channels;
  const float* image = job.input + pixel.image * job.in[0] * job.in[1] * channels + panel.channel;
  // Taps side by side read elements side by side.
  const bool whole = job.dilation[1] == 1 && job.groups == 1 && first >= 0 &&
                     job.weight_tap[1] == job.depth * kVectors * kLanes &&
                     first + (kRows - 1) * job.stride[1] + job.kernel[1] <= job.in[1];
  const int64_t runs = whole ? 1 : job.kernel[1];
  const int64_t run = whole ? job.kernel[1] * job.depth : job.depth;
  LongSum<kRows, kVectors> all;
  for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
    const int64_t in_y = y + ky * job.dilation[0];
    if (!inside(in_y, job.in[0])) continue;
    const typename A::Weight* b = panel.weight + ky * job.weight_tap[0];
    const float* row = image + in_y * job.in[1] * channels;
    for (int64_t kx = 0; kx < runs; ++kx, b += job.weight_tap[1]) {
      const int64_t x = first + kx * job.dilation[1];
      const int64_t last = x + (kRows - 1) * job.stride[1];
      all.before(run, sum);
      if (x >= 0 && last < job.in[1]) {
        add_rows<A, 0, kRows>(sum, row + x * channels, step, b, run, panel.template ahead_at<kVectors>(b));
      } else if constexpr (kRows > 1) {
        // Where padding is, there is nothing to add: mostly to the first pixel or the last.
        if (x < 0 && x + job.stride[1] >= 0 && last < job.in[1]) {
          add_rows<A, 1, kRows>(sum, row + (x + job.stride[1]) * channels, step, b, run,
                                panel.template ahead_at<kVectors>(b));
        } else if (x >= 0 && last >= job.in[1] && last - job.stride[1] < job.in[1]) {
          add_rows<A, 0, kRows - 1>(sum, row + x * channels, step, b, run, panel.template ahead_at<kVectors>(b));
        } else {
          HWY_ALIGN float sums[kRows * kVectors * kLanes];
          store_sums(sum, sums);
          add_seen<A, kVectors>(job, sums, kRows, row, x, b, run);
          load_sums(sums, sum);
        }
      }
    }
  }
  end_tile(job, panel, pixel, all.kept(), sum);
}

// Pixels of several rows of the result.
template <typename A, int kRows, int kVectors>
HWY_NOINLINE void mixed_tile(const TileJob& job, const Panel<A>& panel, const Pixel& pixel) {
  FloatVector sum[kRows][kVectors];
  begin_tile(panel, sum);
  const int64_t channels = job.in_channels();
  // What a pixel of the result sees: its image, and where its window begins, perhaps outside.
  const float* image[kRows];
  int64_t y[kRows], x[kRows];
  for (int i = 0; i < kRows; ++i) {
    const int64_t row = (pixel.x + i) / job.out[1];
    x[i] = (pixel.x + i) % job.out[1] * job.stride[1] - job.padding[1];
    y[i] = row % job.out[0] * job.stride[0] - job.padding[0];
    image[i] = job.input + row / job.out[0] * job.in[0] * job.in[1] * channels + panel.channel;
  }
  LongSum<kRows, kVectors> all;
  for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
    const typename A::Weight* b = panel.weight + ky * job.weight_tap[0];
    for (int64_t kx = 0; kx < job.kernel[1]; ++kx, b += job.weight_tap[1]) {
      const float* a[kRows];
      bool any = false;
      for (int i = 0; i < kRows; ++i) {
        const int64_t in_y = y[i] + ky * job.dilation[0];
        const int64_t in_x = x[i] + kx * job.dilation[1];
        const bool seen = inside(in_y, job.in[0]) && inside(in_x, job.in[1]);
        any = any || seen;
        a[i] = seen ? image[i] + (in_y * job.in[1] + in_x) * channels : job.zeros;
      }
      if (any) {
        all.before(job.depth, sum);
        add_scattered<A, kRows, kVectors>(sum, a, b, job.depth, panel.template ahead_at<kVectors>(b));
      }
    }
  }
  end_tile(job, panel, pixel, all.kept(), sum);
}

template <typename A>
using TileFunction = void (*)(const TileJob& job, const Panel<A>& panel, const Pixel& pixel);

constexpr int height_of(size_t index) {
  const int height = static_cast<int>(index) + 1;
  return height <= kAnyHeight ? height : height / 2 * 2;
}

template <typename A>
constexpr int highest_of(int vectors) {
  return std::min(kHighest[vectors], A::kHighestTile);
}

// The tiles of 1, 2, … rows.
template <typename A, int kVectors, size_t... kIndex>
TileFunction<A> tile_of(TileShape shape, int64_t rows, std::index_sequence<kIndex...>) {
  static constexpr TileFunction<A> kPlain[] = {plain_tile<A, height_of(kIndex), kVectors>...};
  if constexpr (A::kWindows) {
    static constexpr TileFunction<A> kRow[] = {row_tile<A, height_of(kIndex), kVectors>...};
    static constexpr TileFunction<A> kMixed[] = {
        mixed_tile<A, std::min(height_of(kIndex), kHighestMixed), kVectors>...};
    if (shape != TileShape::kPlain) return (shape == TileShape::kRow ? kRow : kMixed)[rows - 1];
  }
  return kPlain[rows - 1];
}

template <typename A, int kVectors>
void run_rows(const TileJob& job, const Panel<A>& panel, const Pixel& pixel, int64_t rows) {
  constexpr auto kHeights = std::make_index_sequence<highest_of<A>(kVectors)>();
  if constexpr (highest_of<A>(kVectors) > kAnyHeight) {
    if (rows > kAnyHeight && rows % 2 != 0) {
      run_rows<A, kVectors>(job, panel, pixel, rows / 2);
      return run_rows<A, kVectors>(job, panel, {pixel.image, pixel.y, pixel.x + rows / 2}, rows - rows / 2);
    }
  }
  tile_of<A, kVectors>(job.shape, rows, kHeights)(job, panel, pixel);
}

// The last strips of a panel, as many as a row of weights has registers, ask for the next panel between them.
template <typename A>
const float* ahead_of(const TileJob& job, const Panel<A>& panel, int vectors, int64_t strip) {
  const int64_t asking = strip - (job.strips() - vectors);
  if (!job.look_ahead || asking < 0) return reinterpret_cast<const float*>(panel.weight);
  return reinterpret_cast<const float*>(panel.weight + job.weight_panel) +
         asking * job.taps() * job.depth * kLineFloats;
}

template <typename A, int kVectors>
void run_strips(const TileJob& job, Panel<A>& panel, int64_t begin, int64_t end) {
  const int64_t row = begin / job.strips_per_row;
  int64_t strip = begin % job.strips_per_row;
  Pixel pixel = {row / job.out[0], row % job.out[0], 0};
  for (; begin < end; ++begin) {
    panel.ahead = ahead_of(job, panel, kVectors, begin);
    pixel.x = job.strip_begin(strip);
    run_rows<A, kVectors>(job, panel, pixel, job.strip_begin(strip + 1) - pixel.x);
    if (++strip < job.strips_per_row) continue;
    strip = 0;
    if (++pixel.y < job.out[0]) continue;
    pixel.y = 0;
    ++pixel.image;
  }
}

template <typename A>
void run_panel(const TileJob& job, int64_t index, int64_t begin, int64_t end) {
  const int64_t group = index / job.panels;
  const int64_t first = index % job.panels * job.panel_columns;
  Panel<A> panel;
  panel.weight = reinterpret_cast<const typename A::Weight*>(job.weight) + index * job.weight_panel;
  panel.channel = group * job.depth;
  panel.columns = {group * job.columns + first, std::min(job.panel_columns, job.columns - first)};
  const int64_t vectors = job.panel_columns / kLanes;
  HWY_ALIGN float bias[kTileColumns];
  load_bias(job, panel.columns, vectors, bias);
  panel.bias = bias;
  if (vectors == 1) return run_strips<A, 1>(job, panel, begin, end);
  if (vectors == 2) return run_strips<A, 2>(job, panel, begin, end);
#if HWY_TARGET == HWY_AVX3
  if (vectors == 3) return run_strips<A, 3>(job, panel, begin, end);
  return run_strips<A, 4>(job, panel, begin, end);
#endif
}

template <typename A>
TileFunctions functions_of() {
  TileFunctions f = {kLanes, kTileVectors, {}, kHighestMixed, kAnyHeight, run_panel<A>};
  for (int v = 1; v <= kTileVectors; ++v) f.max_rows[v] = highest_of<A>(v);
  return f;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
