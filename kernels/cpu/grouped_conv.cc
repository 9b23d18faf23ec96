#include "kernels/cpu/grouped_conv.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"

namespace berth::cpu {
namespace {

// Fewer multiplications than this in all are not worth another thread: handing half of them over takes about 0.8
// microseconds. Those that are shared leave their results where the next operator's threads look for them.
constexpr double kSerialWork = 1 << 16;
constexpr int64_t kItems = 4;  // of work, for each thread
constexpr int64_t kLine = 16;  // floats
// Wider groups are for tiles, which have registers side by side.
constexpr int64_t kMostColumns = 16;

// Channels of the result that share a register of `lanes`; 0 where this kernel is not for such groups. What they see of
// a pixel fits a register too, or is one group's.
int64_t columns_of_panel(int64_t groups, int64_t depth, int64_t columns, int64_t lanes) {
  if (columns > kMostColumns) return 0;
  if (columns > lanes) return columns % lanes == 0 ? lanes : 0;
  const int64_t sharing = std::clamp<int64_t>(lanes / depth, 1, lanes / columns);
  const int64_t used = std::min(sharing, groups) * columns;
  return 2 * used >= std::min(lanes, groups * columns) ? sharing * columns : 0;
}

void set_sizes(const ConvSpec& spec, GroupedJob* job) {
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
  }
}

GroupedJob job_of(const ConvSpec& spec, int64_t panel_columns) {
  GroupedJob job;
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
  job.activation = spec.finish.function();
  job.residual = spec.finish.residual != 0;
  job.panel_columns = panel_columns;
  job.weight_tap = job.is_depthwise() ? job.groups : job.depth * panel_columns;
  job.weight_panel = job.is_depthwise() ? panel_columns : job.kernel[0] * job.kernel[1] * job.weight_tap;
  return job;
}

bool all_finite(const float* x, int64_t count) {
  uint32_t odd = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    odd += (bits & 0x7F800000u) == 0x7F800000u ? 1u : 0u;
  }
  return odd == 0;
}

// Of [channel][depth][tap][tap].
WeightLayout layout_of(const GroupedJob& job) {
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  const int64_t taps = job.kernel[0] * job.kernel[1];
  if (job.is_depthwise()) {
    add(job.groups, taps, 1);
  } else {
    l.blocks = 1;
    l.block[0] = job.panel_columns;
    l.block_dim[0] = 0;
    add(job.channels(), job.depth * taps, job.weight_panel);
    add(job.depth, taps, job.panel_columns);
  }
  add(job.kernel[0], job.kernel[1], job.kernel[1] * job.weight_tap);
  add(job.kernel[1], 1, job.weight_tap);
  return l;
}

class GroupedEngine final : public PackedEngine {
 public:
  explicit GroupedEngine(const GroupedJob& job)
      : PackedEngine(layout_of(job)), job_(job), functions_(grouped_functions()) {}
  const char* name() const override { return job_.is_depthwise() ? "depthwise" : "groups"; }

  // Depthwise sums leave out what is outside, whatever the weight, as the portable kernel's do.
  Error take_weight(const float* weight, const float*, ThreadPool*) override {
    const int64_t floats = ceil_div(job_.channels(), job_.panel_columns) * job_.weight_panel;
    const bool padded = job_.padding[0] != 0 || job_.padding[1] != 0;
    job_.counts_padding = padded && !job_.is_depthwise() && !all_finite(weight, floats);
    return Error::kOk;
  }

  bool resize(const ConvSpec& spec) override {
    if (!spec.channels_last()) return false;
    set_sizes(spec, &job_);
    return true;
  }

  int64_t row_scratch(int64_t) const override { return 0; }

  // An image of these rows alone.
  void run_rows(const RowCall& call) const override {
    GroupedJob job = job_;
    job.batch = 1;
    job.input = call.input;
    job.weight = call.weight;
    job.bias = call.bias;
    job.out_data = call.out;
    job.in[0] = call.in_count;
    job.out[0] = call.out_count;
    job.padding[0] = call.in_first - (call.out_first * job.stride[0] - job.padding[0]);
    functions_.run(job, 0, job.strips(), 0, job.channels());
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    job_.input = operands.input;
    job_.weight = weight;
    job_.bias = operands.bias;
    job_.out_data = operands.out;
    const int64_t strips = job_.batch * job_.strips(), channels = job_.channels();
    const int64_t parts = channel_parts(strips, context.threads());
    const int64_t items = strips * parts;
    const double work = static_cast<double>(job_.batch * job_.out[0] * job_.out[1] * channels) *
                        static_cast<double>(job_.kernel[0] * job_.kernel[1] * job_.depth);
    const int64_t part = align_up(ceil_div(channels, parts), job_.panel_columns);
    context.parallel_for(items, work < kSerialWork ? items : 1, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t first = begin / strips * part;
        const int64_t stop = std::min(end, (begin / strips + 1) * strips);
        if (first < channels) {
          functions_.run(job_, begin % strips, begin % strips + stop - begin, first, std::min(part, channels - first));
        }
        begin = stop;
      }
    });
    return Error::kOk;
  }

 private:
  // How many threads share a strip's channels. Only where each has whole lines of the cache for itself.
  int64_t channel_parts(int64_t strips, int threads) const {
    if (threads == 1 || job_.channels() % kLine != 0) return 1;
    return std::clamp<int64_t>(kItems * threads / strips, 1, job_.channels() / kLine);
  }

  GroupedJob job_;
  GroupedFunctions functions_;
};

class GroupedKind final : public EngineKind {
 public:
  explicit GroupedKind(const GroupedJob& job) : job_(job) {}
  size_t temp_bytes() const override { return 0; }
  std::unique_ptr<Engine> make() const override { return std::make_unique<GroupedEngine>(job_); }

 private:
  GroupedJob job_;
};

}  // namespace

std::unique_ptr<EngineKind> grouped_conv_kind(const ConvSpec& spec, int) {
  if (spec.transposed != 0 || spec.groups == 1 || !spec.channels_last()) return nullptr;
  const GroupedFunctions functions = grouped_functions();
  const int64_t panel =
      columns_of_panel(spec.groups, spec.in_channels / spec.groups, spec.out_channels / spec.groups, functions.lanes);
  if (panel == 0) return nullptr;
  const GroupedJob job = job_of(spec, panel);
  return functions.takes(job) ? std::make_unique<GroupedKind>(job) : nullptr;
}

}  // namespace berth::cpu
