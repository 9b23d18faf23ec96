#include "kernels/cpu/inverted_residual.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/conv_weight.h"
#include "kernels/cpu/inverted_residual_plan.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"
#include "runtime/signature.h"

namespace berth::cpu {
namespace {

using Args = arguments::inverted_residual_out;
using portable::InvertedResidual;

constexpr const char* kBadPacking =
    "the text of a weight's packing is none, or does not fit the weight; was the file changed?";

// The weights of a call; those that are not there have no tensor.
struct Weights {
  Weight of[kBlockStages];

  bool read(const Args& args) {
    const StageArguments stages(args);
    for (int i = 0; i < kBlockStages; ++i) {
      if (stages.weight[i] != nullptr && !read_weight(*stages.weight[i], stages.packing[i], 4, &of[i])) return false;
    }
    return true;
  }
  portable::InvertedResidualWeights sizes() const {
    return {sizes_of(kExpand), sizes_of(kDepthwise), sizes_of(kProject)};
  }
  bool any_packed() const { return of[kExpand].packed || of[kDepthwise].packed || of[kProject].packed; }

 private:
  Span<const int32_t> sizes_of(BlockStage stage) const {
    if (of[stage].tensor == nullptr) return {};
    return {of[stage].dense.size, static_cast<size_t>(of[stage].dense.rank)};
  }
};

// The arguments with dense weights in place of packed ones.
class DenseArguments {
 public:
  DenseArguments(const Args& args, const Weights& weights, const Buffer (&dense)[kBlockStages]) {
    static constexpr uint8_t kOrder[DenseSizes::kMaxRank] = {0, 1, 2, 3, 4};
    count_ = args.values().size();
    for (size_t i = 0; i < count_; ++i) values_[i] = args.values()[i];
    packing_ = EValue(StringRef{"", 0});
    for (int i = 0; i < kBlockStages; ++i) {
      const Weight& weight = weights.of[i];
      if (weight.tensor == nullptr || !weight.packed) continue;
      std::copy_n(weight.dense.size, DenseSizes::kMaxRank, sizes_[i]);
      tensors_[i] =
          Tensor(weight.tensor->dtype(), weight.dense.rank, sizes_[i], kOrder, strides_[i], dense[i].floats());
      dense_[i] = EValue(&tensors_[i]);
      values_[kStageWeight[i]] = &dense_[i];
      values_[kStagePacking[i]] = &packing_;
    }
  }
  DenseArguments(const DenseArguments&) = delete;
  DenseArguments& operator=(const DenseArguments&) = delete;

  Args args() const { return Args({values_, count_}); }

 private:
  int32_t sizes_[kBlockStages][DenseSizes::kMaxRank];
  int64_t strides_[kBlockStages][DenseSizes::kMaxRank];
  Tensor tensors_[kBlockStages];
  EValue dense_[kBlockStages];
  EValue packing_;
  EValue* values_[Signature::kMaxParameters];
  size_t count_ = 0;
};

struct State {
  Weights weights;
  InvertedResidual sizes;
  BlockEngines engines;
  FittedWeight fitted[kBlockStages];
  BlockPlan plan;
  bool by_rows = false;
  Buffer dense[kBlockStages];  // for the portable kernel
  // Where sizes are open: what `plan` may take, and whether engines and plan are for `sizes`, those of the last call.
  bool open = false, ready = true;
  size_t most_bytes = 0;
};

// What a thread has of an image.
class Worker {
 public:
  Worker(const State& state, const Args& args, float* memory)
      : state_(state),
        r_(state.sizes),
        args_(args),
        kept_(memory),
        seen_(memory + state.plan.kept),
        scratch_(seen_ + state.plan.seen) {}

  // Rows of strip `item`, counted over all images.
  void run(int64_t item) {
    const int64_t image = item / state_.plan.strips;
    const int64_t height = r_.axis[0].out, first = item % state_.plan.strips * state_.plan.rows;
    RowCall call;
    call.out_first = first;
    call.out_count = std::min(state_.plan.rows, height - first);
    int64_t end = 0;
    r_.rows_seen(first, call.out_count, &call.in_first, &end);
    call.in_count = end - call.in_first;
    const int64_t row = r_.axis[1].in * r_.channels;
    if (r_.expands) {
      expand(image, call.in_first, end);
      call.input = kept_ + (call.in_first - origin_) * row;
    } else {
      call.input = args_.input.data<float>() + (image * r_.axis[0].in + call.in_first) * row;
    }
    const int64_t out_row = r_.axis[1].out * r_.out_channels, out_at = (image * height + first) * out_row;
    float* const out = args_.out.data<float>() + out_at;
    call.out = r_.projects ? seen_ : out;
    run_stage(kDepthwise, args_.bias, call);
    if (!r_.projects) return;
    if (args_.residual != nullptr && args_.residual->raw() != args_.out.raw())
      std::memcpy(out, args_.residual->data<float>() + out_at, call.out_count * out_row * sizeof(float));
    call.in_first = first;
    call.in_count = call.out_count;
    call.input = seen_;
    call.out = out;
    run_stage(kProject, args_.project_bias, call);
  }

 private:
  void run_stage(BlockStage stage, const Tensor* bias, RowCall& call) const {
    call.weight = state_.fitted[stage].floats();
    call.bias = bias == nullptr ? nullptr : bias->data<float>();
    call.scratch = scratch_;
    state_.engines.of[stage]->run_rows(call);
  }

  // Has rows [begin, end) of what is expanded in memory, row y at (y - origin_) rows.
  void expand(int64_t image, int64_t begin, int64_t end) {
    const int64_t row = r_.axis[1].in * r_.channels;
    if (image != image_ || begin < origin_ || begin > end_) {
      image_ = image;
      origin_ = end_ = begin;
    }
    if (end - origin_ > state_.plan.kept_rows) {
      std::memmove(kept_, kept_ + (begin - origin_) * row, (end_ - begin) * row * sizeof(float));
      origin_ = begin;
    }
    if (end <= end_) return;
    RowCall call;
    call.in_first = call.out_first = end_;
    call.in_count = call.out_count = end - end_;
    call.input = args_.input.data<float>() + (image * r_.axis[0].in + end_) * r_.axis[1].in * r_.in_channels;
    call.out = kept_ + (end_ - origin_) * row;
    run_stage(kExpand, args_.expand_bias, call);
    end_ = end;
  }

  const State& state_;
  const InvertedResidual& r_;
  const Args& args_;
  float* kept_;
  float* seen_;
  float* scratch_;
  int64_t image_ = -1, origin_ = 0, end_ = 0;
};

Error unpack_for_portable(PrepareContext& context, State& state) {
  for (int i = 0; i < kBlockStages; ++i) {
    const Weight& weight = state.weights.of[i];
    if (weight.tensor != nullptr && weight.packed)
      BERTH_RETURN_IF_ERROR(unpack_weight(context, weight, state.dense[i]));
  }
  return Error::kOk;
}

Error fill(PrepareContext& context, const Args& args, State& state) {
  bool constant = true;
  for (int i = 0; i < kBlockStages; ++i) {
    const Weight& weight = state.weights.of[i];
    if (weight.tensor == nullptr || context.is_constant(kStageWeight[i])) continue;
    if (weight.packed) return context.fail(Error::kInvalidProgram, "a packed weight must be a constant");
    constant = false;
  }
  KernelContext check({}, nullptr);
  const Error error = portable::read_inverted_residual(check, args, state.weights.sizes(), &state.sizes);
  // What the portable kernel refuses too, and says why.
  if (error != Error::kOk && !state.weights.any_packed()) return Error::kOk;
  if (error != Error::kOk) return context.fail(error, check.message());
  state.by_rows = constant && make_block_engines(args, state.sizes, context.threads(), &state.engines, &state.plan);
  if (!state.by_rows) return unpack_for_portable(context, state);
  state.open = has_open_sizes(args);
  state.most_bytes = state.plan.bytes();
  for (int i = 0; i < kBlockStages; ++i) {
    Engine* engine = state.engines.of[i].get();
    if (engine == nullptr) continue;
    FittedWeight& fitted = state.fitted[i];
    BERTH_RETURN_IF_ERROR(fit_weight(context, state.weights.of[i], *engine, &fitted));
    if (engine->take_weight(fitted.floats(), fitted.derived, context.pool()) != Error::kOk)
      return context.fail(Error::kMemoryAllocationFailed, "there is no memory to transform its weight");
    engine->forget_layout();
  }
  return Error::kOk;
}

Error run_portable(KernelContext& context, const Args& args, const State& state) {
  const DenseArguments dense(args, state.weights, state.dense);
  return portable::inverted_residual_out(context, dense.args());
}

// Sizes that the engines do not run, such as an image without pixels, with memory of their own. The method's temporary
// memory was measured for the engines.
Error run_rare_sizes(KernelContext& context, const Args& args, const State& state) {
  Buffer unpacked[kBlockStages], temp;
  for (int i = 0; i < kBlockStages; ++i) {
    const Weight& weight = state.weights.of[i];
    if (weight.tensor == nullptr || !weight.packed) continue;
    const size_t size = element_size(weight.tensor->dtype());
    if (!unpacked[i].allocate(weight.layout.numel() * size)) return Error::kMemoryAllocationFailed;
    unpack(weight.layout, weight.tensor->raw(), unpacked[i].floats(), size);
  }
  const DenseArguments dense(args, state.weights, unpacked);
  if (!temp.allocate(portable::inverted_residual_temp_bytes(dense.args(), context.threads()))) {
    return Error::kMemoryAllocationFailed;
  }
  KernelContext own(temp.span(), context.pool(), context.devices(), context.user());
  const Error error = portable::inverted_residual_out(own, dense.args());
  return error == Error::kOk ? error : context.fail(error, own.message());
}

bool are_of_one_image(const InvertedResidual& a, const InvertedResidual& b) {
  return a.batch == b.batch && a.axis[0].in == b.axis[0].in && a.axis[1].in == b.axis[1].in;
}

}  // namespace

Error inverted_residual_prepare(PrepareContext& context, const Args& args, void** out) {
  auto state = std::make_unique<State>();
  if (!state->weights.read(args)) return context.fail(Error::kInvalidProgram, kBadPacking);
  BERTH_RETURN_IF_ERROR(fill(context, args, *state));
  if (state->by_rows || state->weights.any_packed()) *out = state.release();
  return Error::kOk;
}

size_t inverted_residual_temp_bytes(const Args& args, int threads) {
  Weights weights;
  KernelContext check({}, nullptr);
  InvertedResidual sizes;
  if (!weights.read(args) || portable::read_inverted_residual(check, args, weights.sizes(), &sizes) != Error::kOk) {
    return 0;
  }
  const Buffer none[kBlockStages];
  const DenseArguments dense(args, weights, none);
  BlockEngines engines;
  BlockPlan plan;
  // Whether the weights are constants is not known yet.
  const bool by_rows = make_block_engines(args, sizes, threads, &engines, &plan);
  return std::max(portable::inverted_residual_temp_bytes(dense.args(), threads),
                  by_rows ? plan.bytes() + portable::kTempPadding : 0);
}

Error inverted_residual_out(KernelContext& context, const Args& args) {
  auto* state = static_cast<State*>(context.state());
  if (state == nullptr) return portable::inverted_residual_out(context, args);
  if (!state->by_rows) return run_portable(context, args, *state);
  InvertedResidual sizes;
  BERTH_RETURN_IF_ERROR(portable::read_inverted_residual(context, args, state->weights.sizes(), &sizes));
  if (!are_of_one_image(sizes, state->sizes)) {
    if (!state->open) {
      return context.fail(Error::kInvalidArgument,
                          "its tensors are not as large as they were when the method was loaded");
    }
    state->sizes = sizes;
    state->ready = resize_block(args, sizes, context.threads(), state->most_bytes, &state->engines, &state->plan);
  }
  if (!state->ready) return run_rare_sizes(context, args, *state);
  BERTH_RETURN_IF_ERROR(portable::check_inverted_residual_memory(context, args));
  const BlockPlan& plan = state->plan;
  auto* const memory = static_cast<float*>(context.allocate_temp(plan.bytes()));
  if (memory == nullptr && plan.bytes() != 0) return Error::kMemoryAllocationFailed;
  portable::for_each_item(
      context, plan.slots, state->sizes.batch * plan.strips, [](Worker& worker, int64_t item) { worker.run(item); },
      [&](int64_t slot) { return Worker(*state, args, memory + slot * plan.floats()); });
  return Error::kOk;
}

void inverted_residual_release(void* state) { delete static_cast<State*>(state); }

bool inverted_residual_by_rows(const void* state) {
  return state != nullptr && static_cast<const State*>(state)->by_rows;
}

}  // namespace berth::cpu
