#include "kernels/cpu/tiles_narrow.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/pair_job.h"
#include "kernels/cpu/zeros.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// Pairs of the depth of a panel that stay in a second-level cache while strips come by; and how many strips are worth
// it.
constexpr int64_t kNearDepth = 1024;
constexpr int64_t kManyStrips = 6;
// Floats of a result of bf16 that stay in a first-level cache until they are rounded: a few strips of a panel.
constexpr int64_t kNearResult = 1 << 12;

bool takes(const ConvSpec& spec) {
  const bool depthwise = spec.groups > 1 && spec.groups == spec.in_channels;
  return spec.transposed == 0 && !depthwise && spec.channels_last();
}

class PairEngine final : public PackedEngine {
 public:
  PairEngine(const PairJob& job, const PairCutter& cutter, const WeightLayout& layout, const RoundedInput& rounded,
             int threads)
      : PackedEngine(layout),
        job_(job),
        cutter_(cutter),
        functions_(cutter.functions(job)),
        rounded_(rounded),
        most_(rounded.all()),
        threads_(threads),
        zeros_(std::max(job.tiles.kernel[1] * job.tiles.depth, 2 * functions_.tiles.lanes)) {
    job_.tiles.zeros = zeros_.data();
    job_.tiles.look_ahead = rounded.slots == 0;
  }
  const char* name() const override { return "bf16 tiles"; }
  DType weight_type() const override { return DType::kBF16; }

  bool resize(const ConvSpec& spec) override {
    if (!takes(spec)) return false;
    PairJob job = job_;
    job.set_sizes(spec);
    return cut_again(job);
  }
  bool resize(const LinearSpec& spec) override {
    PairJob job = job_;
    job.in[1] = job.tiles.out[1] = spec.rows;
    return cut_again(job);
  }

  int64_t row_scratch(int64_t rows) const override {
    if (!job_.product || job_.stride[0] != 1 || job_.stride[1] != 1 || job_.narrow_input || job_.narrow_out) return -1;
    const TileJob job = row_job(rows);
    return align_up<int64_t>(row_block(job) * job.strip_height * job_.pixel_pairs(), 16);
  }

  // A row of pixels: some at a time, with all weights.
  void run_rows(const RowCall& call) const override {
    TileJob job = row_job(call.out_count);
    job.input = call.scratch;
    job.weight = call.weight;
    job.bias = call.bias;
    job.out_data = call.out;
    job.look_ahead = false;
    const int64_t strips = job.strips(), block = row_block(job);
    for (int64_t first = 0; first < strips; first += block) {
      const int64_t end = std::min(first + block, strips);
      job.first_pixel = job.strip_begin(first);
      round_run(call.input + job.first_pixel * job.groups * job_.depth, job.strip_begin(end) - job.first_pixel,
                call.scratch);
      for (int64_t panel = 0; panel < job.groups * job.panels; ++panel) functions_.tiles.run(job, panel, first, end);
    }
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    float* memory = nullptr;
    if (rounded_.bytes() > 0) {
      memory = static_cast<float*>(context.allocate_temp(rounded_.bytes()));
      if (memory == nullptr) return Error::kMemoryAllocationFailed;
    }
    job_.tiles.weight = weight;
    job_.tiles.bias = operands.bias;
    job_.tiles.out_data = operands.out;
    input_ = operands.input;
    narrow_input_ = operands.narrow_input;
    narrow_out_ = operands.narrow_out;
    if (rounded_.slots == 0) {
      run_whole(context, memory);
    } else if (job_.product) {
      run_blocks(context, memory);
    } else {
      run_bands(context, memory);
    }
    return Error::kOk;
  }

 private:
  // Has job_ be `job`, whose sizes are others, if its rounded input fits into as much memory as before. Padding in
  // memory may be too much of it.
  bool cut_again(PairJob& job) {
    return (cutter_.prefers_matrices(job) && cut_again(job, true)) || cut_again(job, false);
  }
  bool cut_again(PairJob& job, bool matrix) {
    job.set_matrix(matrix);
    cutter_.cut_strips(&job);
    RoundedInput rounded(job, threads_);
    if (!rounded.fit(job, threads_, most_)) return false;
    job.tiles.look_ahead = rounded.slots == 0;
    job_ = job;
    functions_ = cutter_.functions(job);
    rounded_ = rounded;
    return true;
  }

  TileJob row_job(int64_t rows) const {
    TileJob job = job_.tiles;
    job.batch = 1;
    job.in[0] = job.out[0] = 1;
    job.in[1] = job.out[1] = rows * job_.tiles.out[1];
    cut_into_strips(functions_.tiles, TileShape::kPlain, &job);
    return job;
  }
  int64_t row_block(const TileJob& job) const {
    const int64_t pixels = job_.matrix ? kPairMatrixPixels : kPairPixels;
    return std::clamp<int64_t>(pixels * job.strips() / job.pixels(), 1, job.strips());
  }

  // `count` pixels from the input's pixel `begin` on as pairs.
  void round_run(int64_t begin, int64_t count, float* to) const {
    const int64_t channels = job_.tiles.groups * job_.depth;
    if (job_.narrow_input) return copy_run(narrow_input_ + begin * channels, count, to);
    round_run(input_ + begin * channels, count, to);
  }
  // The same of an input that is rounded.
  void copy_run(const uint16_t* from, int64_t count, float* to) const {
    const int64_t depth = job_.depth, runs = count * job_.tiles.groups;
    if (depth % 2 == 0) {
      std::memcpy(to, from, runs * depth * sizeof(uint16_t));
      return;
    }
    auto* pixel = reinterpret_cast<uint16_t*>(to);
    for (int64_t i = 0; i < runs; ++i, from += depth, pixel += depth + 1) {
      std::memcpy(pixel, from, depth * sizeof(uint16_t));
      pixel[depth] = 0;
    }
  }
  // REQUIRES: job_.is_in_place().
  const float* pairs_in_place() const { return reinterpret_cast<const float*>(narrow_input_); }
  void round_run(const float* from, int64_t count, float* to) const {
    const int64_t groups = job_.tiles.groups;
    if (job_.depth % 2 == 0) return functions_.narrow(from, count * groups * job_.depth, to);
    functions_.narrow_pixels(from, count * groups, job_.depth, to);
  }

  // Line `y` of an image of a window's input, with its padding.
  void round_line(int64_t image, int64_t y, float* to) const {
    const TileJob& t = job_.tiles;
    const int64_t pairs = job_.pixel_pairs();
    if (y < 0 || y >= job_.in[0]) {
      std::fill_n(to, t.in[1] * pairs, 0.0f);
      return;
    }
    const int64_t left = std::min(job_.padding[1], t.in[1]);
    const int64_t seen = std::clamp<int64_t>(t.in[1] - left, 0, job_.in[1]);
    std::fill_n(to, left * pairs, 0.0f);
    round_run((image * job_.in[0] + y) * job_.in[1], seen, to + left * pairs);
    std::fill_n(to + (left + seen) * pairs, (t.in[1] - left - seen) * pairs, 0.0f);
  }
  void round_lines(int64_t image, int64_t begin, int64_t end, float* to) const {
    for (int64_t line = begin; line < end; ++line, to += job_.tiles.in[1] * job_.pixel_pairs()) {
      round_line(image, line - job_.padding[0], to);
    }
  }

  void round_whole(KernelContext& context, float* memory) const {
    const TileJob& t = job_.tiles;
    if (job_.matrix && !job_.product) {
      return context.parallel_for(t.batch * t.in[0], portable::grain_of(t.in[1] * job_.pixel_pairs()),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t line = begin; line < end; ++line) {
                                      round_lines(line / t.in[0], line % t.in[0], line % t.in[0] + 1,
                                                  memory + line * t.in[1] * job_.pixel_pairs());
                                    }
                                  });
    }
    context.parallel_for(job_.in_pixels(), portable::grain_of(job_.pixel_pairs()), [&](int64_t begin, int64_t end) {
      round_pixels(begin, end, memory + begin * job_.pixel_pairs());
    });
  }

  // What pixels [begin, end) of the result of a product read, or these pixels of the input.
  void round_pixels(int64_t begin, int64_t end, float* to) const {
    const TileJob& t = job_.tiles;
    if (!job_.product || (job_.stride[0] == 1 && job_.stride[1] == 1)) return round_run(begin, end - begin, to);
    for (; begin < end; ++begin, to += job_.pixel_pairs()) {
      const int64_t row = begin / t.out[1];
      const int64_t x = begin % t.out[1] * job_.stride[1];
      const int64_t y = row % t.out[0] * job_.stride[0];
      round_run((row / t.out[0] * job_.in[0] + y) * job_.in[1] + x, 1, to);
    }
  }

  void run_blocks(KernelContext& context, float* memory) const {
    const int64_t strips = job_.tiles.strips();
    portable::for_each_item(
        context, rounded_.slots, rounded_.blocks(job_),
        [&](TileJob& job, int64_t item) {
          const int64_t begin = item * rounded_.block;
          const int64_t end = std::min(begin + rounded_.block, strips);
          if (!job_.is_in_place()) {
            job.first_pixel = job.strip_begin(begin);
            round_pixels(job.first_pixel, job.strip_begin(end), const_cast<float*>(job.input));
          }
          for (int64_t panel = 0; panel < job.groups * job.panels; ++panel)
            run_panel(job, narrow_out_, panel, begin, end, false);
        },
        [&](int64_t slot) {
          TileJob job = job_.tiles;
          job.input = job_.is_in_place() ? pairs_in_place() : memory + slot * rounded_.floats;
          return job;
        });
  }

  // Rows of the result of a window, whose input is rounded for them alone.
  void run_bands(KernelContext& context, float* memory) const {
    const int64_t bands = ceil_div(job_.tiles.out[0], rounded_.block);
    portable::for_each_item(
        context, rounded_.slots, rounded_.blocks(job_),
        [&](float* lines, int64_t item) {
          const int64_t image = item / bands, y = item % bands * rounded_.block;
          const PairJob band = band_job(image, y, lines);
          const TileJob& job = band.tiles;
          uint16_t* const out =
              job_.narrow_out ? narrow_out_ + image * job_.tiles.out_image + y * job_.tiles.out_row : nullptr;
          const int64_t first = y * job.stride[0];
          round_lines(image, first, first + job.in[0], lines);
          const int64_t strips = job.strips(), block = strips_at_once(band, 1);
          for (int64_t begin = 0; begin < strips; begin += block) {
            for (int64_t panel = 0; panel < job.groups * job.panels; ++panel) {
              run_panel(job, out, panel, begin, std::min(begin + block, strips), false);
            }
          }
        },
        [&](int64_t slot) { return memory + slot * rounded_.floats; });
  }
  PairJob band_job(int64_t image, int64_t y, const float* lines) const {
    PairJob band = job_;
    TileJob& job = band.tiles;
    job.batch = 1;
    job.out[0] = std::min(rounded_.block, job.out[0] - y);
    job.in[0] = job_.seen(0, job.out[0]);
    job.input = lines;
    if (job.out_data != nullptr) job.out_data += image * job_.tiles.out_image + y * job_.tiles.out_row;
    cutter_.cut_strips(&band);
    return band;
  }

  void run_whole(KernelContext& context, float* memory) {
    TileJob& job = job_.tiles;
    job.input = job_.is_in_place() ? pairs_in_place() : memory;
    if (!job_.is_in_place()) round_whole(context, memory);
    const int64_t strips = job.strips();
    const int64_t panels = job.groups * job.panels;
    // Where there is more weight than input, one panel with all strips; else some strips with all panels.
    const bool all_weights = job_.weight_pairs() < job_.in_pixels() * job_.pixel_pairs();
    const int64_t block = all_weights ? strips_at_once(job_, threads_) : strips;
    const int64_t items = panels * strips;
    context.parallel_for(items, pair_work(job) < kPairSerialWork ? items : 1, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t first = begin / (block * panels) * block;
        const int64_t count = std::min(block, strips - first);
        const int64_t panel = (begin - first * panels) / count;
        const int64_t strip = (begin - first * panels) % count;
        const int64_t taken = std::min(count - strip, end - begin);
        run_panel(job, narrow_out_, panel, first + strip, first + strip + taken, is_deep(taken));
        begin += taken;
      }
    });
  }

  // Whether so many strips of a panel are summed in parts of their depth.
  bool is_deep(int64_t strips) const {
    return !job_.matrix && job_.product && job_.tiles.groups == 1 && job_.tiles.depth > kNearDepth &&
           strips >= kManyStrips;
  }

  // Strips of a panel, in parts of their depth or at once. A result of bf16, which `out` begins with, is rounded as it
  // comes or out of floats near by.
  void run_panel(const TileJob& job, uint16_t* out, int64_t panel, int64_t begin, int64_t end, bool deep) const {
    if (!job_.narrow_out) return run_strips(job, panel, begin, end, deep);
    if (functions_.run_rounded != nullptr) return functions_.run_rounded(job, out, panel, begin, end);
    alignas(64) float sums[kNearResult];
    const int64_t width = job.panel_columns;
    const int64_t first_column = panel / job.panels * job.columns + panel % job.panels * width;
    const int64_t columns = std::min(width, job.columns - panel % job.panels * width);
    const int64_t block = std::max<int64_t>(1, kNearResult / (job.strip_height * width));
    TileJob near = job;
    near.out_pixel = width;
    near.out_row = near.out[1] * near.out_pixel;
    near.out_image = near.out[0] * near.out_row;
    for (int64_t strip = begin; strip < end; strip += block) {
      const int64_t last = std::min(strip + block, end);
      const int64_t pixel = first_pixel_of(job, strip), pixels = first_pixel_of(job, last) - pixel;
      near.out_data = sums - pixel * width - first_column;
      for (int64_t i = 0; job.residual && i < pixels; ++i) {
        std::copy_n(job.out_data + (pixel + i) * job.out_pixel + first_column, columns, sums + i * width);
      }
      run_strips(near, panel, strip, last, deep);
      functions_.round_rows(sums, width, pixels, columns, out + pixel * job.out_pixel + first_column, job.out_pixel);
    }
  }
  // Of the result, in memory's order.
  static int64_t first_pixel_of(const TileJob& job, int64_t strip) {
    return strip / job.strips_per_row * job.row_pixels + job.strip_begin(strip % job.strips_per_row);
  }

  // A deep panel in parts, each with all strips before the next.
  void run_strips(const TileJob& job, int64_t panel, int64_t begin, int64_t end, bool deep) const {
    if (!deep) return functions_.tiles.run(job, panel, begin, end);
    for (int64_t k = 0; k < job.depth; k += kNearDepth) {
      TileJob part = job;
      part.depth = std::min(kNearDepth, job.depth - k);
      part.input_step = job.depth;
      part.input = job.input + k;
      part.weight = job.weight + k * job.panel_columns;
      part.look_ahead = false;
      if (k > 0) part.bias = nullptr;
      part.residual = job.residual || k > 0;
      if (k + part.depth < job.depth) {
        part.activation.kind = portable::ActivationKind::kNone;
        part.bounded = true;
        part.low = -std::numeric_limits<float>::infinity();
        part.high = std::numeric_limits<float>::infinity();
      }
      functions_.tiles.run(part, panel, begin, end);
    }
  }

  PairJob job_;
  PairCutter cutter_;
  PairFunctions functions_;
  RoundedInput rounded_;
  int64_t most_;  // floats of temporary memory
  int threads_;
  const float* input_ = nullptr;
  const uint16_t* narrow_input_ = nullptr;
  uint16_t* narrow_out_ = nullptr;
  Zeros zeros_;
};

class PairKind final : public EngineKind {
 public:
  PairKind(const PairJob& job, const PairCutter& cutter, const WeightLayout& layout, int threads)
      : job_(job), cutter_(cutter), layout_(layout), rounded_(job, threads), threads_(threads) {}
  size_t temp_bytes() const override { return rounded_.bytes() == 0 ? 0 : rounded_.bytes() + portable::kTempPadding; }
  std::unique_ptr<Engine> make() const override {
    return std::make_unique<PairEngine>(job_, cutter_, layout_, rounded_, threads_);
  }

 private:
  PairJob job_;
  PairCutter cutter_;
  WeightLayout layout_;
  RoundedInput rounded_;
  int threads_;
};

std::unique_ptr<EngineKind> pair_kind(PairJob& job, bool open, int64_t column_from, int64_t depth_from, int threads) {
  const PairCutter cutter;
  if (cutter.lanes() == 0) return nullptr;
  job.tiles.depth = ceil_div<int64_t>(job.depth, 2);
  job.set_matrix(cutter.prefers_matrices(job));
  cutter.cut_panels(open, &job);
  return std::make_unique<PairKind>(job, cutter, pair_layout(job, column_from, depth_from), threads);
}

}  // namespace

std::unique_ptr<EngineKind> bf16_tile_kind(const ConvSpec& spec, int threads) {
  if (!takes(spec)) return nullptr;
  PairJob job;
  job.tiles = tile_job(spec);
  job.narrow_input = spec.narrow_input != 0;
  job.narrow_out = spec.narrow_out != 0;
  job.depth = job.tiles.depth;
  job.product = job.tiles.taps() == 1 && spec.padding[0] == 0 && spec.padding[1] == 0;
  for (int i = 0; i < 2; ++i) {
    job.padding[i] = spec.padding[i];
    if (!job.product) continue;
    job.stride[i] = spec.stride[i];
    job.tiles.stride[i] = 1;
  }
  job.set_sizes(spec);
  return pair_kind(job, spec.open != 0, job.depth * job.tiles.taps(), job.tiles.taps(), threads);
}

std::unique_ptr<EngineKind> bf16_tile_kind(const LinearSpec& spec, int threads) {
  PairJob job;
  job.tiles = tile_job(spec);
  job.narrow_input = spec.narrow_input != 0;
  job.narrow_out = spec.narrow_out != 0;
  job.depth = spec.depth;
  job.product = true;
  job.in[1] = spec.rows;
  return pair_kind(job, spec.open != 0, 1, spec.columns, threads);
}

}  // namespace berth::cpu
