#include "kernels/cpu/tiles.h"

#include <algorithm>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/depthwise.h"

namespace berth::cpu {
namespace {

// Places that one thread takes at a time: enough to keep a panel of weights in the cache for, few enough to share out.
constexpr int64_t kPlaces = 48;
// Half of a second-level cache that is not large.
constexpr int64_t kSmallWeight = 64 * 1024;
// Fewer multiplications than this in all take some 4 microseconds: as long as handing half of them to another thread
// and waiting for it.
constexpr double kSerialWork = 1 << 19;

// Panels of about the same width, whole registers each.
void cut_columns(const TileFunctions& functions, TileJob* job) {
  job->panels = ceil_div(job->columns, functions.max_columns);
  job->panel_columns = align_up(ceil_div(job->columns, job->panels), functions.lanes);
  job->panels = ceil_div(job->columns, job->panel_columns);
}

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
        weight_floats_(layout.packed_numel()),
        zeros_(static_cast<size_t>(std::max(job.kernel[1] * job.depth, 2 * functions.lanes))) {
    job_.zeros = zeros_.data();
  }
  const char* name() const override { return "tiles"; }
  const WeightLayout& weight() const override { return layout_; }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    job_.input = operands.input;
    job_.weight = weight;
    job_.bias = operands.bias;
    job_.out_data = operands.out;
    const double work = work_of(job_);
    const int64_t panels = job_.groups * job_.panels;
    int64_t places = kPlaces;
    const int64_t wanted = 8 * context.threads();
    if (panels * ceil_div(job_.places(), places) < wanted) {
      places = std::max<int64_t>(6, job_.places() * panels / wanted / 6 * 6);
    }
    const int64_t parts = ceil_div(job_.places(), places);
    const int64_t items = panels * parts;
    // What stays in the cache meanwhile: all weights, or one panel.
    const bool panels_inside = weight_floats_ <= kSmallWeight;
    context.parallel_for(items, work < kSerialWork ? items : 1, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = (panels_inside ? item / panels : item % parts) * places;
        const int64_t panel = panels_inside ? item % panels : item / parts;
        functions_.run(job_, panel, first, std::min(first + places, job_.places()));
      }
    });
    return Error::kOk;
  }

 private:
  TileJob job_;
  TileFunctions functions_;
  WeightLayout layout_;
  int64_t weight_floats_;
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
  cut_columns(functions, &job);
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
  cut_columns(functions, &job);
  return std::make_unique<TileKind>(job, functions, panel_layout(job, 1, spec.columns));
}

}  // namespace berth::cpu
