#include "kernels/cpu/tiles_transposed.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/zeros.h"

namespace berth::cpu {
namespace {

constexpr int64_t kMostStride = 8;
// See tiles.cc.
constexpr double kSerialWork = 1 << 19;

// Along one axis, the positions phase, phase + stride, …: they see the taps first, first - step, … (so many), the first
// of them at the position of the input that a padding of so much stands for, each next one `dilation` further.
struct Phase {
  int64_t positions = 0, taps = 0, first = 0, step = 1, padding = 0, dilation = 1;
};

int64_t positions(const ConvSpec& s, int axis, int64_t phase) {
  return phase < s.out[axis] ? (s.out[axis] - 1 - phase) / s.stride[axis] + 1 : 0;
}

// Tap k brings position i of the input to i * stride + k * dilation - padding.
Phase phase_of(const ConvSpec& s, int axis, int64_t phase) {
  Phase p;
  const int64_t stride = s.stride[axis];
  p.positions = positions(s, axis, phase);
  p.step = stride / std::gcd(stride, s.dilation[axis]);
  p.dilation = p.step * s.dilation[axis] / stride;
  for (int64_t tap = 0; tap < s.kernel[axis]; ++tap) {
    const int64_t from = phase + s.padding[axis] - tap * s.dilation[axis];
    if (from % stride != 0) continue;
    ++p.taps;
    p.first = tap;
    p.padding = -(from / stride);
  }
  return p;
}

TileJob whole_job(const ConvSpec& s) {
  TileJob job;
  job.batch = s.batch;
  job.groups = s.groups;
  job.depth = s.in_channels / s.groups;
  job.columns = s.out_channels / s.groups;
  job.strided_output = true;
  for (int i = 0; i < 2; ++i) job.in[i] = s.in[i];
  set_finish(s.finish, &job);
  return job;
}

// One of the convolutions that a transposed one is, and where its result and its taps begin.
struct Part {
  int64_t phase[2] = {0, 0};
  TileJob job;
  int64_t out = 0;
  int64_t weight = 0;
};

// As many pixels as the result has in this phase; none where it is smaller than a stride.
void set_sizes(const ConvSpec& s, const TileFunctions& functions, Part* part) {
  TileJob& job = part->job;
  job.batch = s.batch;
  for (int i = 0; i < 2; ++i) {
    job.in[i] = s.in[i];
    job.out[i] = positions(s, i, part->phase[i]);
  }
  part->out = (part->phase[0] * s.out[1] + part->phase[1]) * s.out_channels;
  job.out_row = s.stride[0] * s.out[1] * s.out_channels;
  job.out_image = s.out[0] * s.out[1] * s.out_channels;
  if (job.out[0] > 0 && job.out[1] > 0) {
    cut_into_strips(functions, TileShape::kRow, &job);
  } else {
    job.rows = 0;
  }
}

// Parts without positions are left out; that with most taps is the first.
std::vector<Part> parts_of(const ConvSpec& s, const TileFunctions& functions) {
  std::vector<Part> parts;
  for (int64_t y = 0; y < s.stride[0]; ++y) {
    for (int64_t x = 0; x < s.stride[1]; ++x) {
      const Phase phase[2] = {phase_of(s, 0, y), phase_of(s, 1, x)};
      if (phase[0].positions == 0 || phase[1].positions == 0) continue;
      Part part;
      part.phase[0] = y;
      part.phase[1] = x;
      part.job = whole_job(s);
      for (int i = 0; i < 2; ++i) {
        part.job.out[i] = phase[i].positions;
        part.job.kernel[i] = phase[i].taps;
        part.job.padding[i] = phase[i].padding;
        part.job.dilation[i] = phase[i].dilation;
        part.job.weight_tap[i] = -phase[i].step;
      }
      part.weight = phase[0].first * s.kernel[1] + phase[1].first;
      parts.push_back(part);
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.job.taps() > b.job.taps(); });
  TileJob cut = parts[0].job;
  s.open != 0 ? cut_open_into_tiles(functions, &cut) : cut_into_tiles(functions, &cut);
  const int64_t tap = cut.groups * cut.panels * cut.depth * cut.panel_columns;
  for (Part& part : parts) {
    TileJob& job = part.job;
    job.panels = cut.panels;
    job.panel_columns = cut.panel_columns;
    set_sizes(s, functions, &part);
    job.weight_tap[0] *= s.kernel[1] * tap;
    job.weight_tap[1] *= tap;
    job.weight_panel = job.depth * job.panel_columns;
    part.weight *= tap;
    job.out_pixel = s.stride[1] * s.out_channels;
  }
  return parts;
}

// Of [group][depth][column][tap][tap] into [tap][tap][group][panel][depth][column].
WeightLayout layout_of(const ConvSpec& s, const TileJob& job) {
  const int64_t taps = s.kernel[0] * s.kernel[1];
  const int64_t group = job.panels * job.weight_panel;
  const int64_t tap = job.groups * group;
  const int64_t size[] = {job.groups, job.columns, job.depth, s.kernel[0], s.kernel[1]};
  const int64_t from[] = {job.depth * job.columns * taps, taps, job.columns * taps, s.kernel[1], 1};
  const int64_t stride[] = {group, job.weight_panel, job.panel_columns, s.kernel[1] * tap, tap};
  WeightLayout l;
  for (int i = job.groups > 1 ? 0 : 1; i < 5; ++i) {
    if (i == 1) l.block_dim[0] = l.dims;
    l.size[l.dims] = size[i];
    l.from[l.dims] = from[i];
    l.stride[l.dims++] = stride[i];
  }
  l.blocks = 1;
  l.block[0] = job.panel_columns;
  return l;
}

class TransposedEngine final : public PackedEngine {
 public:
  TransposedEngine(const std::vector<Part>& parts, const TileFunctions& functions, const WeightLayout& layout,
                   double work)
      : PackedEngine(layout),
        parts_(parts),
        functions_(functions),
        work_(work),
        zeros_(std::max(parts[0].job.depth, 2 * functions.lanes)) {
    count_rows();
  }
  const char* name() const override { return "tiles"; }

  bool resize(const ConvSpec& spec) override {
    // A phase without positions in the largest sizes has no part.
    if (!spec.channels_last() || static_cast<int64_t>(parts_.size()) != spec.stride[0] * spec.stride[1]) return false;
    for (Part& part : parts_) set_sizes(spec, functions_, &part);
    count_rows();
    work_ = spec.flops() / 2;
    return true;
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    for (Part& part : parts_) {
      part.job.input = operands.input;
      part.job.weight = weight + part.weight;
      part.job.bias = operands.bias;
      part.job.zeros = zeros_.data();
      part.job.out_data = operands.out + part.out;
    }
    const int64_t items = rows_ * row_items();
    context.parallel_for(items, work_ < kSerialWork ? items : 1, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) run_item(item / row_items(), item % row_items());
    });
    return Error::kOk;
  }

 private:
  void count_rows() {
    rows_ = 0;
    for (const Part& part : parts_) rows_ = std::max(rows_, part.job.rows);
  }

  // An item is a panel of a row of a part; all parts of a row lie side by side in the result.
  int64_t panels() const { return parts_[0].job.groups * parts_[0].job.panels; }
  int64_t row_items() const { return static_cast<int64_t>(parts_.size()) * panels(); }
  void run_item(int64_t row, int64_t item) const {
    const TileJob& job = parts_[item / panels()].job;
    if (row < job.rows) functions_.run(job, item % panels(), row * job.strips_per_row, (row + 1) * job.strips_per_row);
  }

  std::vector<Part> parts_;
  TileFunctions functions_;
  double work_;
  Zeros zeros_;
  int64_t rows_ = 0;
};

class TransposedKind final : public EngineKind {
 public:
  TransposedKind(const ConvSpec& spec, const TileFunctions& functions)
      : parts_(parts_of(spec, functions)),
        functions_(functions),
        layout_(layout_of(spec, parts_[0].job)),
        work_(spec.flops() / 2) {}
  size_t temp_bytes() const override { return 0; }
  std::unique_ptr<Engine> make() const override {
    return std::make_unique<TransposedEngine>(parts_, functions_, layout_, work_);
  }

 private:
  std::vector<Part> parts_;
  TileFunctions functions_;
  WeightLayout layout_;
  double work_;
};

}  // namespace

std::unique_ptr<EngineKind> transposed_tile_kind(const ConvSpec& spec) {
  if (spec.transposed == 0 || !spec.channels_last()) return nullptr;
  if (spec.stride[0] > kMostStride || spec.stride[1] > kMostStride) return nullptr;
  return std::make_unique<TransposedKind>(spec, tile_functions());
}

}  // namespace berth::cpu
