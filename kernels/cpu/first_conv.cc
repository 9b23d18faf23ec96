#include "kernels/cpu/first_conv.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

constexpr int64_t kMaxDepth = 4;
// An image of no more elements is copied with its borders, rather than each pixel at the border with its own.
constexpr int64_t kSmallImage = 4096;
// Fewer multiplications than this in all are not worth another thread: handing half of them over takes about 0.8
// microseconds. Those that are shared leave their results where the next operator's threads look for them.
constexpr double kSerialWork = 1 << 18;

bool has_strides(const int64_t (&stride)[4], const int64_t (&expected)[4]) {
  for (int i = 0; i < 4; ++i) {
    if (stride[i] != 0 && stride[i] != expected[i]) return false;
  }
  return true;
}

bool is_last(const ConvSpec& spec) {
  const int64_t depth = spec.in_channels, area = spec.in[0] * spec.in[1];
  return has_strides(spec.in_stride, {depth * area, 1, depth * spec.in[1], depth});
}

bool is_planes(const ConvSpec& spec) {
  const int64_t depth = spec.in_channels, area = spec.in[0] * spec.in[1];
  return has_strides(spec.in_stride, {depth * area, area, spec.in[1], 1});
}

void set_sizes(const ConvSpec& spec, bool planes, FirstConvJob* job) {
  const int64_t depth = spec.in_channels, area = spec.in[0] * spec.in[1];
  job->batch = spec.batch;
  for (int i = 0; i < 2; ++i) {
    job->in[i] = spec.in[i];
    job->out[i] = spec.out[i];
  }
  job->image_step = depth * area;
  job->row_step = planes ? spec.in[1] : depth * spec.in[1];
  job->column_step = planes ? 1 : depth;
  job->runs = planes ? depth : 1;
  job->run = planes ? spec.kernel[1] : depth * spec.kernel[1];
  job->run_step = planes ? area : 0;
}

bool is_first_conv(const ConvSpec& spec) {
  const int64_t columns = spec.out_channels;
  const int64_t out[4] = {columns * spec.out[0] * spec.out[1], 1, columns * spec.out[1], columns};
  return spec.transposed == 0 && spec.groups == 1 && spec.in_channels <= kMaxDepth && spec.dilation[0] == 1 &&
         spec.dilation[1] == 1 && spec.finish.residual == 0 && has_strides(spec.out_stride, out);
}

bool job_of(const ConvSpec& spec, const FirstConvFunctions& functions, FirstConvJob* job) {
  const bool last = is_last(spec);
  if (!is_first_conv(spec) || (!last && !is_planes(spec))) return false;
  set_sizes(spec, !last, job);
  job->depth = spec.in_channels;
  job->columns = spec.out_channels;
  for (int i = 0; i < 2; ++i) {
    job->kernel[i] = spec.kernel[i];
    job->stride[i] = spec.stride[i];
    job->padding[i] = spec.padding[i];
  }
  job->activation = spec.finish.function();
  // Panels of about the same width, whole registers each.
  job->panels = ceil_div(job->columns, functions.max_columns);
  job->panel_columns = align_up(ceil_div(job->columns, job->panels), functions.lanes);
  job->panels = ceil_div(job->columns, job->panel_columns);
  return functions.takes(*job);
}

// Of [column][depth][tap][tap].
WeightLayout layout_of(const FirstConvJob& job) {
  const int64_t row = job.panel_columns;
  const bool planes = job.runs > 1;
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  l.blocks = 1;
  l.block[0] = row;
  l.block_dim[0] = 0;
  const int64_t taps = job.kernel[0] * job.kernel[1];
  add(job.columns, job.depth * taps, row * job.depth * taps);
  add(job.depth, taps, planes ? row * job.kernel[1] : row);
  add(job.kernel[0], job.kernel[1], row * job.depth * job.kernel[1]);
  add(job.kernel[1], 1, planes ? row : row * job.depth);
  return l;
}

// Elements of all rows with what their pixels see outside of them; 0 where there is none, or too many.
int64_t widened(const FirstConvJob& job) {
  if (job.padding[1] == 0) return 0;
  const int64_t floats = job.batch * job.in[0] * job.span(job.out[1]) * job.depth;
  return floats <= kSmallImage ? floats : 0;
}

// Copies the rows of `*job` to `to`, with zeros around them, and has it read those.
void widen(FirstConvJob* job, float* to) {
  const int64_t row = job->span(job->out[1]) * job->column_step;
  const int64_t before = std::min(row, job->padding[1] * job->column_step);
  const int64_t inside = std::min(row - before, job->in[1] * job->column_step);
  float* next = to;
  for (int64_t n = 0; n < job->batch; ++n) {
    for (int64_t c = 0; c < job->runs; ++c) {
      const float* from = job->input + n * job->image_step + c * job->run_step;
      for (int64_t y = 0; y < job->in[0]; ++y, from += job->row_step, next += row) {
        std::fill(next, next + before, 0.0f);
        std::memcpy(next + before, from, inside * sizeof(float));
        std::fill(next + before + inside, next + row, 0.0f);
      }
    }
  }
  job->input = to;
  job->in[1] = job->span(job->out[1]);
  job->padding[1] = 0;
  job->row_step = row;
  job->run_step = job->in[0] * row;
  job->image_step = job->runs * job->run_step;
}

class FirstConvEngine final : public PackedEngine {
 public:
  FirstConvEngine(const FirstConvJob& job, const FirstConvFunctions& functions)
      : PackedEngine(layout_of(job)), job_(job), functions_(functions) {}
  // The word that program files have for it.
  const char* name() const override { return "stem"; }

  bool resize(const ConvSpec& spec) override {
    const bool planes = job_.runs > 1;
    FirstConvJob job = job_;
    set_sizes(spec, planes, &job);
    if (!is_first_conv(spec) || !(planes ? is_planes(spec) : is_last(spec)) || !functions_.takes(job)) return false;
    job_ = job;
    return true;
  }

  Error run(KernelContext& context, const Operands& operands, const float* weight) override {
    FirstConvJob job = job_;
    job.input = operands.input;
    job.weight = weight;
    job.bias = operands.bias;
    job.out_data = operands.out;
    if (const int64_t floats = widened(job)) {
      auto* wide = static_cast<float*>(context.allocate_temp(floats * sizeof(float)));
      if (wide == nullptr) return Error::kMemoryAllocationFailed;
      widen(&job, wide);
    }
    const int64_t rows = job.batch * job.out[0];
    const double work = static_cast<double>(rows * job.out[1]) * static_cast<double>(job.columns) *
                        static_cast<double>(job.kernel[0] * job.runs * job.run);
    context.parallel_for(rows, work < kSerialWork ? rows : 1,
                         [&](int64_t begin, int64_t end) { functions_.run(job, begin, end); });
    return Error::kOk;
  }

 private:
  FirstConvJob job_;
  FirstConvFunctions functions_;
};

class FirstConvKind final : public EngineKind {
 public:
  FirstConvKind(const FirstConvJob& job, const FirstConvFunctions& functions, bool open)
      : job_(job), functions_(functions), open_(open) {}
  size_t temp_bytes() const override {
    const int64_t floats = open_ ? kSmallImage : widened(job_);
    return floats == 0 ? 0 : floats * sizeof(float) + portable::kTempPadding;
  }
  std::unique_ptr<Engine> make() const override { return std::make_unique<FirstConvEngine>(job_, functions_); }

 private:
  FirstConvJob job_;
  FirstConvFunctions functions_;
  bool open_;  // whether other sizes come, which may be small ones
};

}  // namespace

std::unique_ptr<EngineKind> first_conv_kind(const ConvSpec& spec, int) {
  const FirstConvFunctions functions = first_conv_functions();
  FirstConvJob job;
  if (!job_of(spec, functions, &job)) return nullptr;
  return std::make_unique<FirstConvKind>(job, functions, spec.open != 0);
}

}  // namespace berth::cpu
