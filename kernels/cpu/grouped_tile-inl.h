// Some pixels side by side in one row, of a register of channels of one group or of several. What a block of them sees
// is copied first, a register behind the other and with zeros around the image: it is read once for each channel of a
// group, and pixels of an image lie as far from each other as it has channels, often where they share few lines of the
// cache. A row of a window is read three taps at a time: what a column of the input holds is loaded once for all pixels
// that see it. Included once for each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_GROUPED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_GROUPED_TILE_INL_H_
#undef BERTH_CPU_GROUPED_TILE_INL_H_
#else
#define BERTH_CPU_GROUPED_TILE_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "kernels/cpu/depthwise_strip-inl.h"
#include "kernels/cpu/grouped_conv.h"

// For loops of more turns than those of tiles.
#if defined(__clang__)
#define BERTH_UNROLL_WHOLE _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL_WHOLE _Pragma("GCC unroll 32")
#endif

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

// Sums, three weights and what is seen are in registers together; before AVX2 each form is code for little.
#if HWY_TARGET == HWY_AVX3
constexpr int kMostPixels = 14;
#elif HWY_TARGET == HWY_AVX2
constexpr int kMostPixels = 10;
#else
constexpr int kMostPixels = 8;
#endif
constexpr bool kManyForms = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

/// What a register of the result sees.
struct GroupedPanel {
  Columns columns;                   // of the result
  int64_t in_first;                  // the first channel of the input
  int64_t in_count;                  // channels of the input, from the first
  const float* weight;               // of the first tap
  HWY_ALIGN int32_t places[kLanes];  // of each channel's group, counted from in_first
};

/// Rows of the input, a pixel's register behind the other; where the channels that are seen fill several, in as many
/// planes. A register of weights for each tap and channel of a group.
struct CopiedWindow {
  const float* in;     // of the first pixel's first tap
  int64_t row, plane;  // strides
  const float* weight;
  const int32_t* places;
};

/// What the channels of a panel see of a pixel: channel `k` of their group.
template <bool kOneGroup>
class Seen {
 public:
  HWY_INLINE Seen(const CopiedWindow& window, int64_t k) {
    const hn::RebindToSigned<FloatTag> di;
    if constexpr (!kOneGroup) place_ = hn::Add(hn::Load(di, window.places), hn::Set(di, static_cast<int32_t>(k)));
  }
  HWY_INLINE FloatVector operator()(const float* pixel) const {
    const FloatTag d;
    if constexpr (kOneGroup) return hn::Set(d, *pixel);
    return hn::TableLookupLanes(hn::Load(d, pixel), hn::IndicesFromVec(d, place_));
  }

 private:
  hn::Vec<hn::RebindToSigned<FloatTag>> place_ = hn::Zero(hn::RebindToSigned<FloatTag>());
};

/// Where a pixel's channel `k` lies, or the register that holds it.
template <bool kOneGroup>
HWY_INLINE const float* channel_of(const CopiedWindow& window, const float* pixel, int64_t k) {
  return kOneGroup ? pixel + k / kLanes * window.plane + k % kLanes : pixel;
}

/// kCount pixels, kStride apart where three taps are read at a time. Taps [begin, end) of a column fall inside.
template <bool kOneGroup, int kStride, int kCount>
HWY_NOINLINE void window_tile(const GroupedJob& job, const CopiedWindow& window, int64_t begin, int64_t end,
                              FloatVector bias, float* sums) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = bias;
  const int64_t taps = job.kernel[1], depth = job.depth, weight_tap = depth * kLanes;
  const int64_t threes = job.dilation[1] == 1 && job.stride[1] == kStride ? taps / 3 * 3 : 0;
  for (int64_t ky = begin; ky < end; ++ky) {
    const float* in = window.in + ky * job.dilation[0] * window.row;
    const float* weight = window.weight + ky * taps * weight_tap;
    int64_t kx = 0;
    for (; kx < threes; kx += 3, in += 3 * kLanes, weight += 3 * weight_tap) {
      for (int64_t k = 0; k < depth; ++k) {
        const Seen<kOneGroup> seen_of(window, k);
        const float* w = weight + k * kLanes;
        const FloatVector tap[3] = {hn::LoadU(FloatTag(), w), hn::LoadU(FloatTag(), w + weight_tap),
                                    hn::LoadU(FloatTag(), w + 2 * weight_tap)};
        const float* from = channel_of<kOneGroup>(window, in, k);
        BERTH_UNROLL_WHOLE
        for (int c = 0; c < (kCount - 1) * kStride + 3; ++c) {
          const FloatVector seen = seen_of(from + c * kLanes);
          BERTH_UNROLL_FULL
          for (int i = 0; i < kCount; ++i) {
            const int t = c - i * kStride;
            if (t >= 0 && t < 3) sum[i] = hn::MulAdd(seen, tap[t], sum[i]);
          }
        }
      }
    }
    const int64_t step = job.stride[1] * kLanes;
    for (; kx < taps; ++kx, in += job.dilation[1] * kLanes, weight += weight_tap) {
      for (int64_t k = 0; k < depth; ++k) {
        const Seen<kOneGroup> seen_of(window, k);
        const FloatVector tap = hn::LoadU(FloatTag(), weight + k * kLanes);
        const float* from = channel_of<kOneGroup>(window, in, k);
        BERTH_UNROLL_FULL
        for (int i = 0; i < kCount; ++i, from += step) sum[i] = hn::MulAdd(seen_of(from), tap, sum[i]);
      }
    }
  }
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) hn::Store(sum[i], FloatTag(), sums + i * kLanes);
}

using WindowTile = void (*)(const GroupedJob&, const CopiedWindow&, int64_t begin, int64_t end, FloatVector bias,
                            float* sums);

/// Of 1 to 8 pixels, then of even numbers of them.
struct WindowTiles {
  static constexpr int kCounts = 8 + (kMostPixels - 8) / 2;
  WindowTile of[kCounts];

  static constexpr int count_of(size_t index) {
    return index < 8 ? static_cast<int>(index) + 1 : 2 * static_cast<int>(index) - 6;
  }
  WindowTile tile(int64_t pixels) const { return of[pixels <= 8 ? pixels - 1 : (pixels + 6) / 2]; }
};

template <bool kOneGroup, int kStride, size_t... kIndex>
constexpr WindowTiles window_tiles(std::index_sequence<kIndex...>) {
  return {{window_tile<kOneGroup, kStride, WindowTiles::count_of(kIndex)>...}};
}

template <bool kOneGroup, int kStride>
constexpr WindowTiles kWindowTiles = window_tiles<kOneGroup, kStride>(std::make_index_sequence<WindowTiles::kCounts>());

template <bool kOneGroup>
HWY_INLINE const WindowTiles& tiles_of_stride(int64_t stride) {
  if constexpr (kManyForms) {
    if (stride == 2) return kWindowTiles<kOneGroup, 2>;
  }
  return kWindowTiles<kOneGroup, 1>;
}

/// Ends and stores the sums of pixels side by side, of `count` channels.
template <bool kPart>
HWY_NOINLINE void end_pixels(const GroupedJob& job, const SumEnds& ends, const float* sums, int64_t pixels, float* out,
                             int64_t count) {
  const FloatTag d;
  const int64_t step = job.channels();
  for (int64_t i = 0; i < pixels; ++i, out += step) end_sum<kPart>(ends, hn::Load(d, sums + i * kLanes), out, count);
}

/// How many of `left` pixels the next tile takes: an even number, or all where there is a tile for them.
inline int64_t tile_pixels(int64_t left) {
  if (left <= 8) return left;
  if (left % 2 != 0) return 7;
  const int64_t count = (left + kMostPixels - 1) / kMostPixels;
  return (left / 2 + count - 1) / count * 2;
}

/// A block of pixels that is copied at once: most of a first-level cache, with its weights.
constexpr int64_t kCopiedFloats = 5 * 1024;
constexpr int64_t kWeightFloats = 4 * 1024;

/// Whether run_copied() takes this window.
inline bool takes_copies(const GroupedJob& job) {
  const int64_t row = (kMostPixels - 1) * job.stride[1] + (job.kernel[1] - 1) * job.dilation[1] + 1;
  const int64_t rows = (job.kernel[0] - 1) * job.dilation[0] + 1;
  const bool one = job.panel_columns <= job.columns;  // group
  const int64_t registers = one ? (job.depth + kLanes - 1) / kLanes : 1;
  return row <= kCopiedFloats && rows <= kCopiedFloats && row * rows * registers * kLanes <= kCopiedFloats &&
         job.kernel[0] * job.kernel[1] * job.depth * kLanes <= kWeightFloats;
}

/// `count` floats, and zeros where they do not fill the register.
HWY_INLINE void copy_register(const float* from, int64_t count, float* to) {
  const FloatTag d;
  hn::Store(count == kLanes ? hn::LoadU(d, from) : load_part(from, count), d, to);
}

HWY_INLINE void clear_registers(float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) hn::Store(hn::Zero(FloatTag()), FloatTag(), to + i * kLanes);
}

/// The first pixel of a block and its sizes, counted in the input; those of a strip's rows that are inside it.
struct CopiedBlock {
  const float* in;  // the row, at column 0
  int64_t begin, end;
  int64_t first, rows, columns;
};

/// Copies `count` channels, at most a register's, from channel `channel` on.
inline void copy_plane(const GroupedJob& job, const CopiedBlock& block, int64_t channel, int64_t count, float* to) {
  const int64_t channels = job.in_channels(), columns = block.columns;
  const int64_t from = std::clamp<int64_t>(-block.first, 0, columns);
  const int64_t stop = std::clamp<int64_t>(job.in[1] - block.first, from, columns);
  for (int64_t y = 0; y < block.rows; ++y, to += columns * kLanes) {
    if (y < block.begin || y >= block.end) {
      if (job.counts_padding) clear_registers(to, columns);
      continue;  // else its taps are left out
    }
    clear_registers(to, from);
    clear_registers(to + stop * kLanes, columns - stop);
    const float* row = block.in + (y * job.in[1] + block.first) * channels + channel;
    for (int64_t x = from; x < stop; ++x) copy_register(row + x * channels, count, to + x * kLanes);
  }
}

/// A strip, in blocks of as many columns as are copied at once.
inline void run_copied(const GroupedJob& job, const Strip& strip, const GroupedPanel& panel) {
  HWY_ALIGN float copied[kCopiedFloats];
  HWY_ALIGN float weights[kWeightFloats];
  HWY_ALIGN float sums[kMostPixels * kLanes];
  const bool one = job.panel_columns <= job.columns;  // group
  const WindowTiles& tiles = one ? tiles_of_stride<true>(job.stride[1]) : tiles_of_stride<false>(job.stride[1]);
  const SumEnds ends = ends_of<true>(job, panel.columns);
  const int64_t count = panel.columns.count;
  CopiedWindow window;
  const int64_t planes = (panel.in_count + kLanes - 1) / kLanes;
  window.places = panel.places;
  window.weight = panel.weight;
  if (job.panel_columns < kLanes) {
    const int64_t rows = job.kernel[0] * job.kernel[1] * job.depth;
    for (int64_t k = 0; k < rows; ++k) {
      copy_register(panel.weight + k * job.panel_columns, job.panel_columns, weights + k * kLanes);
    }
    window.weight = weights;
  }
  const int64_t reach[2] = {(job.kernel[0] - 1) * job.dilation[0] + 1, (job.kernel[1] - 1) * job.dilation[1] + 1};
  const auto floats = [&](int64_t rows, int64_t pixels) {
    return ((rows - 1) * job.stride[0] + reach[0]) * ((pixels - 1) * job.stride[1] + reach[1]) * planes * kLanes;
  };
  int64_t high = strip.rows;
  while (high > 1 && floats(high, std::min<int64_t>(job.out[1], kMostPixels)) > kCopiedFloats) --high;
  int64_t wide = job.out[1];
  while (wide > kMostPixels && floats(high, wide) > kCopiedFloats) wide = std::max<int64_t>(kMostPixels, wide / 4 * 2);
  for (int64_t r = 0; r < strip.rows; r += high) {
    const int64_t rows = std::min(high, strip.rows - r);
    const int64_t top = r * job.stride[0];
    for (int64_t x = 0; x < job.out[1]; x += wide) {
      const int64_t pixels = std::min(wide, job.out[1] - x);
      CopiedBlock block = {strip.in + top * job.in[1] * job.in_channels(),
                           strip.begin - top,
                           strip.end - top,
                           x * job.stride[1] - job.padding[1],
                           (rows - 1) * job.stride[0] + reach[0],
                           (pixels - 1) * job.stride[1] + reach[1]};
      window.row = block.columns * kLanes;
      window.plane = block.rows * window.row;
      for (int64_t p = 0; p < planes; ++p) {
        copy_plane(job, block, panel.in_first + p * kLanes, std::min(kLanes, panel.in_count - p * kLanes),
                   copied + p * window.plane);
      }
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t y = (r + i) * job.stride[0], step = job.dilation[0];
        int64_t begin = std::max<int64_t>(0, (strip.begin - y + step - 1) / step);
        int64_t end = y >= strip.end ? 0 : std::min(job.kernel[0], (strip.end - y + step - 1) / step);
        if (job.counts_padding) begin = 0, end = job.kernel[0];
        float* out = strip.out + ((r + i) * job.out[1] + x) * job.channels() + panel.columns.first;
        for (int64_t done = 0; done < pixels;) {
          const int64_t taken = tile_pixels(pixels - done);
          window.in = copied + i * job.stride[0] * window.row + done * job.stride[1] * kLanes;
          tiles.tile(taken)(job, window, begin, end, ends.bias, sums);
          if (count == kLanes) {
            end_pixels<false>(job, ends, sums, taken, out, count);
          } else {
            end_pixels<true>(job, ends, sums, taken, out, count);
          }
          out += taken * job.channels();
          done += taken;
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
