#include "kernels/cpu/tiles.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/depthwise.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all take some 4 microseconds: as long as handing half of them to another thread
// and waiting for it.
constexpr double kSerialWork = 1 << 19;
// Places that a thread takes at a time where it goes through all weights with them.
constexpr int64_t kPlaces = 48;

// Of [group][column][depth][tap][tap] into [group][panel][tap][tap][depth][column].
WeightLayout panel_layout(const TileJob& job, int64_t column_from, int64_t depth_from) {
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  const int64_t row = job.panel_columns;
  const int64_t panel = row * job.depth * job.taps();
  if (job.groups > 1) add(job.groups, job.columns * column_from, job.panels * panel);
  l.blocks = 1;
  l.block[0] = row;
  l.block_dim[0] = l.dims;
  add(job.columns, column_from, panel);
  add(job.depth, depth_from, row);
  add(job.kernel[0], job.kernel[1], row * job.depth * job.kernel[1]);
  add(job.kernel[1], 1, row * job.depth);
  return l;
}

double work_of(const TileJob& job) {
  return static_cast<double>(job.places()) * static_cast<double>(job.out_channels()) *
         static_cast<double>(job.depth * job.taps());
}

class TileEngine final : public Engine {
 public:
  TileEngine(const TileJob& job, const TileFunctions& functions, const WeightLayout& layout)
      : job_(job),
        functions_(functions),
        layout_(layout),
        zeros_(static_cast<size_t>(std::max(job.kernel[1] * job.depth, 2 * functions.lanes))) {
    job_.zeros = zeros_.data();
    // Where there is more input than weight, some strips with all panels after each other; else one panel with all.
    const int64_t strips = job.strips();
    const bool all_weights = layout.packed_numel() < job.batch * job.in[0] * job.in[1] * job.in_channels();
    block_ = all_weights ? std::clamp<int64_t>(kPlaces * strips / job.places(), 1, strips) : strips;
  }
  const char* name() const override { return "tiles"; }
  const WeightLayout& weight() const override { return layout_; }

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
  // Items are strips of a panel: those of a block of strips, panel after panel, then those of the next block.
  void run_items(int64_t begin, int64_t end) const {
    const int64_t panels = job_.groups * job_.panels;
    while (begin < end) {
      const int64_t first = begin / (block_ * panels) * block_;
      const int64_t count = std::min(block_, job_.strips() - first);
      const int64_t panel = (begin - first * panels) / count;
      const int64_t strip = (begin - first * panels) % count;
      const int64_t taken = std::min(count - strip, end - begin);
      functions_.run(job_, panel, first + strip, first + strip + taken);
      begin += taken;
    }
  }

  TileJob job_;
  TileFunctions functions_;
  WeightLayout layout_;
  int64_t block_;
  std::vector<float> zeros_;
};

class TileKind final : public EngineKind {
 public:
  TileKind(const TileJob& job, const TileFunctions& functions, const WeightLayout& layout)
      : job_(job), functions_(functions), layout_(layout) {}
  size_t temp_bytes() const override { return 0; }
  std::unique_ptr<Engine> make() const override { return std::make_unique<TileEngine>(job_, functions_, layout_); }

 private:
  TileJob job_;
  TileFunctions functions_;
  WeightLayout layout_;
};

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

}  // namespace

std::unique_ptr<EngineKind> tile_kind(const ConvSpec& spec, int threads) {
  if (auto depthwise = depthwise_kind(spec, threads)) return depthwise;
  if (spec.transposed != 0 || !spec.channels_last()) return nullptr;
  TileJob job;
  job.batch = spec.batch;
  job.groups = spec.groups;
  job.depth = spec.in_channels / spec.groups;
  job.columns = spec.out_channels / spec.groups;
  for (int i = 0; i < 2; ++i) {
    job.in[i] = spec.in[i];
    job.out[i] = spec.out[i];
    job.kernel[i] = spec.kernel[i];
    job.stride[i] = spec.stride[i];
    job.padding[i] = spec.padding[i];
    job.dilation[i] = spec.dilation[i];
  }
  set_finish(spec.finish, &job);
  const TileFunctions functions = tile_functions();
  cut_into_tiles(functions, &job);
  return std::make_unique<TileKind>(job, functions, panel_layout(job, job.depth * job.taps(), job.taps()));
}

std::unique_ptr<EngineKind> tile_kind(const LinearSpec& spec, int) {
  TileJob job;
  job.batch = 1;
  job.depth = spec.depth;
  job.columns = spec.columns;
  // All rows are one row of places.
  job.in[1] = job.out[1] = spec.rows;
  set_finish(spec.finish, &job);
  const TileFunctions functions = tile_functions();
  cut_into_tiles(functions, &job);
  return std::make_unique<TileKind>(job, functions, panel_layout(job, 1, spec.columns));
}

}  // namespace berth::cpu
