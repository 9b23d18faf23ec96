// The blocks of winograd.h, once for each instruction set: transform the input, multiply, transform back.
#include <algorithm>

#include "kernels/cpu/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/winograd_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/tiles_finish-inl.h"
#include "kernels/cpu/winograd_product-inl.h"
#include "kernels/cpu/winograd_transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Where a tile lies: its image, and its first pixel of the result.
struct Pixel {
  int64_t image, y, x;
};

// Tiles one after another, without a division each.
class Tiles {
 public:
  Tiles(const WinogradJob& job, int64_t tile, int64_t size)
      : job_(job),
        size_(size),
        x_(tile % job.tiles[1]),
        y_(tile / job.tiles[1] % job.tiles[0]),
        image_(tile / job.tiles[1] / job.tiles[0]) {}

  Pixel pixel() const { return {image_, y_ * size_, x_ * size_}; }
  void next() {
    if (++x_ < job_.tiles[1]) return;
    x_ = 0;
    if (++y_ < job_.tiles[0]) return;
    y_ = 0;
    ++image_;
  }

 private:
  const WinogradJob& job_;
  int64_t size_;
  int64_t x_, y_, image_;
};

// The pixel of the input that pixel (y, x) of the result sees first may be outside.
const float* seen(const WinogradJob& job, int64_t image, int64_t y, int64_t x) {
  if (!inside(y, job.in[0]) || !inside(x, job.in[1])) return job.zeros;
  return job.input + ((image * job.in[0] + y) * job.in[1] + x) * job.depth;
}

// What happens to sums of some columns before they are stored.
class Finish {
 public:
  Finish(const WinogradJob& job, int64_t first)
      : job_(job), count_(std::min(kLanes, job.columns - first)), bias_(hn::Zero(FloatTag())) {
    if (job.bias != nullptr) bias_ = load(job.bias + first);
  }

  HWY_INLINE void store(FloatVector sum, float* to) const {
    const FloatTag d;
    FloatVector x = hn::Add(sum, bias_);
    if (job_.residual) x = hn::Add(x, load(to));
    if (HWY_LIKELY(job_.bounded)) {
      x = within(hn::Set(d, job_.low), hn::Set(d, job_.high), x);
      return HWY_LIKELY(count_ == kLanes) ? hn::StoreU(x, d, to) : store_part(x, to, count_);
    }
    store_slowly(x, to);
  }

 private:
  HWY_INLINE FloatVector load(const float* from) const {
    return HWY_LIKELY(count_ == kLanes) ? hn::LoadU(FloatTag(), from) : load_part(from, count_);
  }

  HWY_NOINLINE void store_slowly(FloatVector x, float* to) const {
    const portable::Activation& activation = job_.activation;
    const bool simple = is_simple(activation.kind);
    store_part(simple ? activate_simply(activation, x) : x, to, count_);
    if (!simple) portable::activate(activation, to, count_);
  }

  const WinogradJob& job_;
  int64_t count_;
  FloatVector bias_;
};

template <typename Transform>
struct Blocks {
  static constexpr int kSize = Transform::kPixels;
  static constexpr int kSide = Transform::kPositions;
  static constexpr int kPositions = kSide * kSide;

  // All channels of one tile: to[position * stride + channel]. at(i, j) is a pixel that it sees.
  template <typename At>
  static HWY_INLINE void transform_channels(const WinogradJob& job, At at, float* to, int64_t stride) {
    const FloatTag d;
    for (int64_t c = 0; c < job.depth; c += kLanes) {
      const int64_t left = job.depth - c;
      FloatVector half[kSide][kSide];
      BERTH_UNROLL_FULL
      for (int j = 0; j < kSide; ++j) {
        FloatVector column[kSide], t[kSide];
        BERTH_UNROLL_FULL
        for (int i = 0; i < kSide; ++i) {
          column[i] = HWY_LIKELY(left >= kLanes) ? hn::LoadU(d, at(i, j) + c) : load_part(at(i, j) + c, left);
        }
        Transform::input(column, t);
        BERTH_UNROLL_FULL
        for (int i = 0; i < kSide; ++i) half[i][j] = t[i];
      }
      BERTH_UNROLL_FULL
      for (int i = 0; i < kSide; ++i) {
        FloatVector t[kSide];
        Transform::input(half[i], t);
        BERTH_UNROLL_FULL
        for (int j = 0; j < kSide; ++j) hn::StoreU(t[j], d, to + (i * kSide + j) * stride + c);
      }
    }
  }

  static void transform_tile(const WinogradJob& job, const Pixel& pixel, float* to, int64_t stride) {
    const int64_t y = pixel.y - job.padding[0], x = pixel.x - job.padding[1];
    if (y >= 0 && x >= 0 && y + kSide <= job.in[0] && x + kSide <= job.in[1]) {
      const float* first = seen(job, pixel.image, y, x);
      const int64_t row = job.in[1] * job.depth, depth = job.depth;
      return transform_channels(
          job, [=](int i, int j) { return first + i * row + j * depth; }, to, stride);
    }
    const float* from[kSide][kSide];
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) from[i][j] = seen(job, pixel.image, y + i, x + j);
    }
    transform_channels(
        job, [&](int i, int j) { return from[i][j]; }, to, stride);
  }

  // One register of columns of a pixel, directly.
  static HWY_NOINLINE FloatVector direct(const WinogradJob& job, int64_t panel, int64_t column, int64_t image,
                                         int64_t y, int64_t x) {
    const FloatTag d;
    constexpr int64_t kKernel = WinogradJob::kKernel;
    FloatVector sum = hn::Zero(d);
    for (int64_t tap = 0; tap < kKernel * kKernel; ++tap) {
      const float* a = seen(job, image, y - job.padding[0] + tap / kKernel, x - job.padding[1] + tap % kKernel);
      const float* b = job.weight + (panel * kKernel * kKernel + tap) * job.depth * job.panel_columns + column;
      for (int64_t k = 0; k < job.depth; ++k, b += job.panel_columns) {
        sum = hn::MulAdd(hn::Set(d, a[k]), hn::LoadU(d, b), sum);
      }
    }
    return sum;
  }

  // What is not finite, directly.
  static HWY_NOINLINE void repair(const WinogradJob& job, const Pixel& pixel, int64_t panel, int64_t column,
                                  FloatVector (&y)[kSize][kSize]) {
    const FloatTag d;
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        if (hn::AllTrue(d, hn::IsFinite(y[i][j]))) continue;
        y[i][j] = direct(job, panel, column, pixel.image, pixel.y + i, pixel.x + j);
      }
    }
  }

  // One register of columns of one tile; from[position * stride] are their products.
  static HWY_INLINE void finish_tile(const WinogradJob& job, const Pixel& pixel, int64_t panel, int64_t column,
                                     const float* from, int64_t stride) {
    const FloatTag d;
    FloatVector half[kSize][kSide], y[kSize][kSize];
    BERTH_UNROLL_FULL
    for (int j = 0; j < kSide; ++j) {
      FloatVector m[kSide], t[kSize];
      BERTH_UNROLL_FULL
      for (int i = 0; i < kSide; ++i) m[i] = hn::LoadU(d, from + (i * kSide + j) * stride);
      Transform::output(m, t);
      BERTH_UNROLL_FULL
      for (int i = 0; i < kSize; ++i) half[i][j] = t[i];
    }
    // Zero, unless something is not finite.
    FloatVector check = hn::Zero(d);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kSize; ++i) {
      Transform::output(half[i], y[i]);
      FloatVector row = hn::Zero(d);
      BERTH_UNROLL_FULL
      for (int j = 0; j < kSize; ++j) row = hn::MulAdd(y[i][j], hn::Zero(d), row);
      check = hn::Add(check, row);
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Eq(check, hn::Zero(d))))) repair(job, pixel, panel, column, y);
    const int64_t first = panel * job.panel_columns + column;
    const int64_t rows = std::min<int64_t>(kSize, job.out[0] - pixel.y);
    const int64_t across = std::min<int64_t>(kSize, job.out[1] - pixel.x);
    const Finish finish(job, first);
    float* out = job.out_data + ((pixel.image * job.out[0] + pixel.y) * job.out[1] + pixel.x) * job.columns + first;
    BERTH_UNROLL_FULL
    for (int i = 0; i < kSize; ++i) {
      if (i >= rows) break;
      BERTH_UNROLL_FULL
      for (int j = 0; j < kSize; ++j) {
        if (j >= across) break;
        finish.store(y[i][j], out + (i * job.out[1] + j) * job.columns);
      }
    }
  }

  static void run(const WinogradJob& job, int64_t begin, int64_t end, int64_t first, int64_t last, float* scratch) {
    const int64_t count = end - begin;
    const int64_t in_stride = job.block * job.depth_row + kLanes;
    const int64_t out_stride = job.block * job.panel_columns + kLanes;
    float* seen_tiles = scratch;
    float* products = scratch + kPositions * in_stride;
    Tiles tiles(job, begin, kSize);
    for (int64_t t = 0; t < count; ++t, tiles.next()) {
      transform_tile(job, tiles.pixel(), seen_tiles + t * job.depth_row, in_stride);
    }
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t floats = job.depth * job.panel_columns;
      const float* weight = job.transformed + panel * kPositions * floats;
      for (int64_t position = 0; position < kPositions; ++position, weight += floats) {
        multiply(job, seen_tiles + position * in_stride, weight, count, products + position * out_stride);
      }
      Tiles back(job, begin, kSize);
      const int64_t columns = std::min(job.panel_columns, job.columns - panel * job.panel_columns);
      for (int64_t t = 0; t < count; ++t, back.next()) {
        const Pixel pixel = back.pixel();
        for (int64_t column = 0; column < columns; column += kLanes) {
          finish_tile(job, pixel, panel, column, products + t * job.panel_columns + column, out_stride);
        }
      }
    }
  }

  static void transform_weight(const WinogradJob& job, int64_t begin, int64_t end, float* transformed) {
    constexpr int64_t kKernel = WinogradJob::kKernel;
    const int64_t floats = job.depth * job.panel_columns, registers = floats / kLanes;
    for (int64_t next = begin; next < end;) {
      const int64_t panel = next / registers, first = next % registers;
      const int64_t last = std::min(registers, first + end - next);
      const float* from = job.weight + panel * kKernel * kKernel * floats;
      float* to = transformed + panel * kPositions * floats;
      for (int64_t r = first; r < last; ++r) transform_taps(from + r * kLanes, to + r * kLanes, floats);
      next += last - first;
    }
  }

  // One register of columns at one depth: taps, and then positions, are `stride` apart.
  static HWY_INLINE void transform_taps(const float* from, float* to, int64_t stride) {
    const FloatTag d;
    constexpr int kKernel = WinogradJob::kKernel;
    FloatVector half[kSide][kKernel];
    BERTH_UNROLL_FULL
    for (int j = 0; j < kKernel; ++j) {
      FloatVector g[kKernel], t[kSide];
      BERTH_UNROLL_FULL
      for (int i = 0; i < kKernel; ++i) g[i] = hn::LoadU(d, from + (i * kKernel + j) * stride);
      Transform::weight(g, t);
      BERTH_UNROLL_FULL
      for (int i = 0; i < kSide; ++i) half[i][j] = t[i];
    }
    BERTH_UNROLL_FULL
    for (int i = 0; i < kSide; ++i) {
      FloatVector t[kSide];
      Transform::weight(half[i], t);
      BERTH_UNROLL_FULL
      for (int j = 0; j < kSide; ++j) hn::StoreU(t[j], d, to + (i * kSide + j) * stride);
    }
  }

  // products[tile, column] = tiles[tile, depth] times weight[depth, column], in runs of about the same depth.
  static void multiply(const WinogradJob& job, const float* tiles, const float* weight, int64_t count,
                       float* products) {
    const int64_t runs = (job.depth + Transform::kRun - 1) / Transform::kRun;
    for (int64_t run = 0; run < runs; ++run) {
      const int64_t from = run * job.depth / runs, depth = (run + 1) * job.depth / runs - from;
      const Product p = {tiles + from, job.depth_row, weight + from * job.panel_columns, products, depth, run > 0};
      switch (job.panel_columns / kLanes) {
        case 1: multiply_all<1>(p, count); break;
#if HWY_TARGET == HWY_AVX3
        case 3: multiply_all<3>(p, count); break;
        case 4: multiply_all<4>(p, count); break;
#endif
        default: multiply_all<2>(p, count); break;
      }
    }
  }
};

template <typename Transform>
WinogradFunctions functions_of() {
  using B = Blocks<Transform>;
  return {kLanes, kTileColumns, B::kSize, B::kPositions, B::transform_weight, B::run};
}

WinogradFunctions functions(WinogradTile tile) {
  return tile == WinogradTile::k2 ? functions_of<Transform2>() : functions_of<Transform4>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

WinogradFunctions winograd_functions(WinogradTile tile) { return HWY_DYNAMIC_DISPATCH(functions)(tile); }

}  // namespace berth::cpu
#endif
