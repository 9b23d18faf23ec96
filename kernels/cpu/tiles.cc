#include "kernels/cpu/tiles.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/first_conv.h"
#include "kernels/cpu/grouped_conv.h"
#include "kernels/cpu/last_conv.h"
#include "kernels/cpu/tiles_narrow.h"
#include "kernels/cpu/tiles_transposed.h"
#include "kernels/cpu/zeros.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all take some 4 microseconds: as long as handing half of them to another thread
// and waiting for it.
constexpr double kSerialWork = 1 << 19;
// Reading an element of the weight from far takes as long as so many multiplications.
constexpr double kReading = 4;
// Pixels that a thread takes at a time where it goes through all weights with them.
constexpr int64_t kPixels = 48;

// Of [group][column][depth][tap][tap] into [group][panel][tap][tap][depth][column].
WeightLayout panel_layout(const TileJob& job, int64_t column_from, int64_t depth_from) {
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  if (job.groups > 1) add(job.groups, job.columns * column_from, job.panels * job.weight_panel);
  l.blocks = 1;
  l.block[0] = job.panel_columns;
  l.block_dim[0] = l.dims;
  add(job.columns, column_from, job.weight_panel);
  add(job.depth, depth_from, job.panel_columns);
  add(job.kernel[0], job.kernel[1], job.weight_tap[0]);
  add(job.kernel[1], 1, job.weight_tap[1]);
  return l;
}

double work_of(const TileJob& job) {
  const double weight = static_cast<double>(job.out_channels()) * static_cast<double>(job.depth * job.taps());
  return (static_cast<double>(job.pixels()) + kReading) * weight;
}

void set_sizes(const ConvSpec& spec, TileJob* job) {
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
  }
}

// Of a weight of these elements.
TileFunctions functions_for(DType type) { return type == DType::kF16 ? half_functions() : tile_functions(); }

class TileEngine final : public PackedEngine {
 public:
  TileEngine(const TileJob& job, const TileFunctions& functions, const WeightLayout& layout, DType type)
      : PackedEngine(layout),
        job_(job),
        run_tiles_(functions.run),
        type_(type),
        weight_numel_(layout.packed_numel()),
        zeros_(std::max(job.kernel[1] * job.depth, 2 * functions.lanes)) {
    job_.zeros = zeros_.data();
    set_block();
  }
  const char* name() const override { return type_ == DType::kF16 ? "f16 tiles" : "tiles"; }
  DType weight_type() const override { return type_; }

  bool resize(const ConvSpec& spec) override {
    if (!spec.channels_last()) return false;
    set_sizes(spec, &job_);
    return cut_again();
  }
  bool resize(const LinearSpec& spec) override {
    job_.in[1] = job_.out[1] = spec.rows;
    return cut_again();
  }

  int64_t row_scratch(int64_t) const override { return job_.is_plain() ? 0 : -1; }

  // A row of pixels: some at a time, with all weights.
  void run_rows(const RowCall& call) const override {
    TileJob job = job_;
    job.batch = 1;
    job.in[0] = job.out[0] = 1;
    job.in[1] = job.out[1] = call.out_count * job_.out[1];
    job.input = call.input;
    job.weight = call.weight;
    job.bias = call.bias;
    job.out_data = call.out;
    job.look_ahead = false;
    cut_into_strips(functions_for(type_), TileShape::kPlain, &job);
    const int64_t strips = job.strips();
    const int64_t block = std::clamp<int64_t>(kPixels * strips / job.pixels(), 1, strips);
    for (int64_t first = 0; first < strips; first += block) {
      const int64_t end = std::min(first + block, strips);
      for (int64_t panel = 0; panel < job.groups * job.panels; ++panel) run_tiles_(job, panel, first, end);
    }
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    job_.input = operands.input;
    job_.weight = weight;
    job_.bias = operands.bias;
    job_.out_data = operands.out;
    const int64_t items = job_.groups * job_.panels * job_.strips();
    context.parallel_for(items, work_of(job_) < kSerialWork ? items : 1,
                         [&](int64_t begin, int64_t end) { run_items(begin, end); });
    return Error::kOk;
  }

 private:
  bool cut_again() {
    cut_panels_into_tiles(functions_for(type_), &job_);
    set_strides(&job_);
    set_block();
    return true;
  }

  // Where there is more input than weight, some strips with all panels after each other; else one panel with all.
  void set_block() {
    const int64_t strips = job_.strips();
    const bool all_weights = weight_numel_ < job_.batch * job_.in[0] * job_.in[1] * job_.in_channels();
    block_ = all_weights && job_.groups * job_.panels > 1
                 ? std::clamp<int64_t>(kPixels * strips / job_.pixels(), 1, strips)
                 : strips;
    job_.look_ahead = !all_weights;
  }

  // Items are strips of a panel: those of a block of strips, panel after panel, then those of the next block.
  void run_items(int64_t begin, int64_t end) const {
    const int64_t panels = job_.groups * job_.panels;
    while (begin < end) {
      const int64_t first = begin / (block_ * panels) * block_;
      const int64_t count = std::min(block_, job_.strips() - first);
      const int64_t panel = (begin - first * panels) / count;
      const int64_t strip = (begin - first * panels) % count;
      const int64_t taken = std::min(count - strip, end - begin);
      run_tiles_(job_, panel, first + strip, first + strip + taken);
      begin += taken;
    }
  }

  TileJob job_;
  decltype(TileFunctions::run) run_tiles_;
  DType type_;
  int64_t weight_numel_;
  int64_t block_ = 1;
  Zeros zeros_;
};

class TileKind final : public EngineKind {
 public:
  TileKind(const TileJob& job, const TileFunctions& functions, const WeightLayout& layout, DType type)
      : job_(job), functions_(functions), layout_(layout), type_(type) {}
  size_t temp_bytes() const override { return 0; }
  std::unique_ptr<Engine> make() const override {
    return std::make_unique<TileEngine>(job_, functions_, layout_, type_);
  }

 private:
  TileJob job_;
  TileFunctions functions_;
  WeightLayout layout_;
  DType type_;
};

// The strides are those of the dense weight.
std::unique_ptr<EngineKind> kind_of(TileJob& job, bool open, int64_t column_from, int64_t depth_from,
                                    DType type = DType::kF32) {
  const TileFunctions functions = functions_for(type);
  if (functions.lanes == 0) return nullptr;
  open ? cut_open_into_tiles(functions, &job) : cut_into_tiles(functions, &job);
  set_strides(&job);
  return std::make_unique<TileKind>(job, functions, panel_layout(job, column_from, depth_from), type);
}

}  // namespace

void set_strides(TileJob* job) {
  job->weight_tap[1] = job->depth * job->panel_columns;
  job->weight_tap[0] = job->kernel[1] * job->weight_tap[1];
  job->weight_panel = job->kernel[0] * job->weight_tap[0];
  job->out_pixel = job->out_channels();
  job->out_row = job->out[1] * job->out_pixel;
  job->out_image = job->out[0] * job->out_row;
}

void set_finish(const Finish& finish, TileJob* job) {
  job->activation = finish.function();
  job->residual = finish.residual != 0;
  using Kind = portable::ActivationKind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const portable::Activation& a = job->activation;
  job->bounded = a.kind == Kind::kNone || a.kind == Kind::kRelu || a.kind == Kind::kClamp;
  job->low = a.kind == Kind::kRelu ? 0 : a.kind == Kind::kClamp ? a.alpha : -kInfinity;
  job->high = a.kind == Kind::kClamp ? a.beta : kInfinity;
}

TileJob tile_job(const ConvSpec& spec) {
  TileJob job;
  set_sizes(spec, &job);
  job.groups = spec.groups;
  job.depth = spec.in_channels / spec.groups;
  job.columns = spec.out_channels / spec.groups;
  for (int i = 0; i < 2; ++i) {
    job.kernel[i] = spec.kernel[i];
    job.stride[i] = spec.stride[i];
    job.padding[i] = spec.padding[i];
    job.dilation[i] = spec.dilation[i];
  }
  set_finish(spec.finish, &job);
  return job;
}

TileJob tile_job(const LinearSpec& spec) {
  TileJob job;
  job.batch = 1;
  job.depth = spec.depth;
  job.columns = spec.columns;
  // All rows are one row of pixels.
  job.in[1] = job.out[1] = spec.rows;
  set_finish(spec.finish, &job);
  return job;
}

std::unique_ptr<EngineKind> tile_kind(const ConvSpec& spec, int threads) {
  if (spec.transposed != 0) return transposed_tile_kind(spec);
  if (auto grouped = grouped_conv_kind(spec, threads)) return grouped;
  if (auto last_conv = last_conv_kind(spec, threads)) return last_conv;
  if (auto first_conv = first_conv_kind(spec, threads)) return first_conv;
  return any_shape_tile_kind(spec);
}

std::unique_ptr<EngineKind> any_shape_tile_kind(const ConvSpec& spec) {
  if (!spec.channels_last()) return nullptr;
  TileJob job = tile_job(spec);
  return kind_of(job, spec.open != 0, job.depth * job.taps(), job.taps());
}

std::unique_ptr<Engine> panel_engine(const ConvSpec& spec, int64_t panel_columns) {
  const TileFunctions functions = tile_functions();
  if (functions.lanes == 0 || panel_columns > functions.max_vectors * functions.lanes) return nullptr;
  TileJob job = tile_job(spec);
  job.panel_columns = panel_columns;
  job.panels = ceil_div(job.columns, panel_columns);
  cut_panels_into_tiles(functions, &job);
  set_strides(&job);
  return std::make_unique<TileEngine>(job, functions, panel_layout(job, job.depth * job.taps(), job.taps()),
                                      DType::kF32);
}

std::unique_ptr<EngineKind> tile_kind(const LinearSpec& spec, int) {
  TileJob job = tile_job(spec);
  return kind_of(job, spec.open != 0, 1, spec.columns);
}

std::unique_ptr<EngineKind> f16_tile_kind(const ConvSpec& spec) {
  const bool depthwise = spec.groups > 1 && spec.groups == spec.in_channels;
  if (spec.transposed != 0 || depthwise || !spec.channels_last()) return nullptr;
  TileJob job = tile_job(spec);
  return job.is_plain() ? kind_of(job, spec.open != 0, job.depth, 1, DType::kF16) : nullptr;
}

std::unique_ptr<EngineKind> f16_tile_kind(const LinearSpec& spec) {
  TileJob job = tile_job(spec);
  return kind_of(job, spec.open != 0, 1, spec.columns, DType::kF16);
}

}  // namespace berth::cpu
