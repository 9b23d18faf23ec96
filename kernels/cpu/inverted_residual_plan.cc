#include "kernels/cpu/inverted_residual_plan.h"

#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

using Args = arguments::inverted_residual_out;
using portable::InvertedResidual;

// Rows of the result that a thread takes at a time: as many as windows are computed together, or fewer where what they
// see is larger than what a cache near the thread holds beside the rest.
constexpr int64_t kRows = 4;
constexpr int64_t kNearFloats = 96 * 1024;
// Fewer multiplications than this in all are not worth another thread.
constexpr double kSerialWork = 1 << 19;

void set_last(const int64_t (&size)[2], int64_t channels, int64_t (&stride)[4]) {
  stride[0] = size[0] * size[1] * channels;
  stride[1] = 1;
  stride[2] = size[1] * channels;
  stride[3] = channels;
}

ConvSpec spec_of(const InvertedResidual& r, BlockStage stage, const StageArguments& stages, const Args& args) {
  const portable::Activation* activation[kBlockStages] = {&r.expand, &r.depthwise, &r.project};
  ConvSpec spec;
  spec.open = has_open_sizes(args) ? 1 : 0;
  spec.batch = r.batch;
  spec.in_channels = stage == kExpand ? r.in_channels : r.channels;
  spec.out_channels = stage == kProject ? r.out_channels : r.channels;
  spec.groups = stage == kDepthwise ? r.channels : 1;
  for (int i = 0; i < 2; ++i) {
    const InvertedResidual::Axis& axis = r.axis[i];
    spec.in[i] = stage == kProject ? axis.out : axis.in;
    spec.out[i] = stage == kExpand ? axis.in : axis.out;
    if (stage != kDepthwise) continue;
    spec.kernel[i] = axis.kernel;
    spec.stride[i] = axis.stride;
    spec.padding[i] = axis.padding;
    spec.dilation[i] = axis.dilation;
  }
  set_last(spec.in, spec.in_channels, spec.in_stride);
  set_last(spec.out, spec.out_channels, spec.out_stride);
  spec.weight_type = static_cast<int64_t>(stages.weight[stage]->dtype());
  spec.finish.bias = stages.bias[stage] != nullptr ? 1 : 0;
  spec.finish.residual = stage == kProject && args.residual != nullptr ? 1 : 0;
  spec.finish.activation = static_cast<int64_t>(activation[stage]->kind);
  spec.finish.alpha = static_cast<double>(activation[stage]->alpha);
  spec.finish.beta = static_cast<double>(activation[stage]->beta);
  return spec;
}

int64_t most_rows_seen(const InvertedResidual& r, int64_t rows) {
  const InvertedResidual::Axis& axis = r.axis[0];
  return std::min(axis.in, (rows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
}

// Of calls of up to so many rows.
int64_t most_scratch(const Engine& engine, int64_t rows) {
  int64_t most = 0;
  for (int64_t i = 1; i <= rows; ++i) most = std::max(most, engine.row_scratch(i));
  return most;
}

void set_rows(const InvertedResidual& r, const BlockEngines& engines, int64_t rows, BlockPlan* plan) {
  plan->rows = rows;
  plan->strips = ceil_div(r.axis[0].out, rows);
  plan->scratch = most_scratch(*engines.of[kDepthwise], rows);
  if (r.expands) {
    plan->kept_rows = most_rows_seen(r, rows);
    plan->kept = align_up<int64_t>(plan->kept_rows * r.axis[1].in * r.channels, 16);
    plan->scratch = std::max(plan->scratch, most_scratch(*engines.of[kExpand], plan->kept_rows));
  }
  if (r.projects) {
    plan->seen = align_up<int64_t>(rows * r.axis[1].out * r.channels, 16);
    plan->scratch = std::max(plan->scratch, most_scratch(*engines.of[kProject], rows));
  }
}

void set_slots(const InvertedResidual& r, int threads, BlockPlan* plan) {
  const double pixels = static_cast<double>(r.batch * r.axis[0].out) * static_cast<double>(r.axis[1].out);
  const int64_t products = (r.expands ? r.in_channels : 0) + r.axis[0].kernel * r.axis[1].kernel;
  const double work = pixels * static_cast<double>(r.channels) * static_cast<double>(products + r.out_channels);
  plan->slots = portable::slots_for(threads, r.batch * plan->strips, work, kSerialWork);
}

BlockPlan plan_of(const InvertedResidual& r, const BlockEngines& engines, int threads, size_t most_bytes) {
  BlockPlan plan;
  for (int64_t rows = std::min(kRows, r.axis[0].out); rows > 0; rows /= 2) {
    set_rows(r, engines, rows, &plan);
    set_slots(r, threads, &plan);
    if (plan.floats() <= kNearFloats && plan.bytes() <= most_bytes) break;
  }
  return plan;
}

bool is_last(const Tensor& tensor) { return is_channels_last_f32(tensor) && tensor.device().is_cpu(); }

bool has_rows_layout(const Args& args) {
  return is_last(args.input) && is_last(args.out) && (args.residual == nullptr || is_last(*args.residual));
}

}  // namespace

bool has_open_sizes(const Args& args) {
  return args.input.dynamism() != ShapeDynamism::kStatic || args.out.dynamism() != ShapeDynamism::kStatic;
}

bool make_block_engines(const Args& args, const InvertedResidual& r, int threads, BlockEngines* engines,
                        BlockPlan* plan) {
  if (!has_rows_layout(args) || args.input.numel() == 0 || args.out.numel() == 0) return false;
  const StageArguments stages(args);
  for (const BlockStage stage : {kExpand, kDepthwise, kProject}) {
    if (stages.weight[stage] == nullptr) continue;
    const ConvSpec spec = spec_of(r, stage, stages, args);
    const auto kind = choose_engine(spec, threads, Prefer::kTiles);
    if (kind == nullptr) return false;
    engines->of[stage] = kind->make();
    if (engines->of[stage] == nullptr || engines->of[stage]->row_scratch(1) < 0) return false;
  }
  *plan = plan_of(r, *engines, threads, SIZE_MAX);
  return true;
}

bool resize_block(const Args& args, const InvertedResidual& r, int threads, size_t most_bytes, BlockEngines* engines,
                  BlockPlan* plan) {
  if (!has_rows_layout(args) || args.input.numel() == 0 || args.out.numel() == 0) return false;
  const StageArguments stages(args);
  for (const BlockStage stage : {kExpand, kDepthwise, kProject}) {
    Engine* const engine = engines->of[stage].get();
    if (engine == nullptr) continue;
    if (!engine->resize(spec_of(r, stage, stages, args)) || engine->row_scratch(1) < 0) return false;
  }
  *plan = plan_of(r, *engines, threads, most_bytes);
  return plan->bytes() <= most_bytes;
}

}  // namespace berth::cpu
