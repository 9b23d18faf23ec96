#include "kernels/cpu/conv.h"

#include <cstdlib>
#include <cstring>

#include "format/arguments.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_weight.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"
#include "runtime/log.h"
#include "runtime/signature.h"

namespace berth::cpu {
namespace {

constexpr const char* kBadPacking =
    "the text of its weight's packing is none, or does not fit the weight; was the file changed?";

struct Conv {
  using Spec = ConvSpec;
  using Args = arguments::fused_conv_out;
  static constexpr size_t kPacking = arg::fused_conv_out::packing;
  static constexpr int kRank = 0;
  static constexpr auto kPortable = portable::fused_conv_out;
  static constexpr auto kPortableTemp = portable::fused_conv_temp_bytes;
  static Fit read(const Args& args, const Weight& weight, Spec* spec) { return read_conv(args, weight, spec); }
  static Error resize(KernelContext& context, const Args& args, const Weight& weight) {
    return resize_conv(context, args, weight);
  }
};

struct Linear {
  using Spec = LinearSpec;
  using Args = arguments::fused_linear_out;
  static constexpr size_t kPacking = arg::fused_linear_out::packing;
  static constexpr int kRank = 2;
  static constexpr auto kPortable = portable::fused_linear_out;
  static constexpr auto kPortableTemp = portable::fused_linear_temp_bytes;
  static Fit read(const Args& args, const Weight& weight, Spec* spec) { return read_linear(args, weight, spec); }
  static Error resize(KernelContext& context, const Args& args, const Weight& weight) {
    return resize_linear(context, args, weight);
  }
};

constexpr size_t kWeight = arg::fused_conv_out::weight;
static_assert(kWeight == size_t{arg::fused_linear_out::weight});

// The arguments with a dense weight in place of a packed one.
template <typename Op>
class DenseArguments {
 public:
  DenseArguments(const typename Op::Args& args, const Weight& weight, DType type, void* data) {
    static constexpr uint8_t kOrder[DenseSizes::kMaxRank] = {0, 1, 2, 3, 4};
    std::memcpy(sizes_, weight.dense.size, sizeof(sizes_));
    tensor_ = Tensor(type, weight.dense.rank, sizes_, kOrder, strides_, data);
    weight_ = EValue(&tensor_);
    packing_ = EValue(StringRef{"", 0});
    count_ = args.values().size();
    for (size_t i = 0; i < count_; ++i) values_[i] = args.values()[i];
    values_[kWeight] = &weight_;
    values_[Op::kPacking] = &packing_;
  }
  DenseArguments(const DenseArguments&) = delete;
  DenseArguments& operator=(const DenseArguments&) = delete;

  typename Op::Args args() const { return typename Op::Args({values_, count_}); }

 private:
  int32_t sizes_[DenseSizes::kMaxRank];
  int64_t strides_[DenseSizes::kMaxRank];
  Tensor tensor_;
  EValue weight_;
  EValue packing_;
  EValue* values_[Signature::kMaxParameters];
  size_t count_ = 0;
};

// Elements of what an engine reads and writes; 0 of what is not there, -1 of another element type than f32 or, of input
// and result, bf16.
struct Reads {
  int64_t input = 0, bias = 0, residual = 0, out = 0;
  bool narrow_input = false, narrow_out = false;

  bool operator==(const Reads& other) const {
    return input == other.input && bias == other.bias && residual == other.residual && out == other.out &&
           narrow_input == other.narrow_input && narrow_out == other.narrow_out;
  }
};

bool is_narrow(const Tensor& tensor) { return tensor.dtype() == DType::kBF16; }

template <typename Op>
Reads reads_of(const typename Op::Args& args) {
  const auto elements = [](const Tensor* tensor) {
    if (tensor == nullptr) return int64_t{0};
    return tensor->dtype() == DType::kF32 ? tensor->numel() : int64_t{-1};
  };
  const bool narrow_input = is_narrow(args.input), narrow_out = is_narrow(args.out);
  return {narrow_input ? args.input.numel() : elements(&args.input), elements(args.bias), elements(args.residual),
          narrow_out ? args.out.numel() : elements(&args.out),       narrow_input,        narrow_out};
}

// The sizes that the engine is ready for, where calls have different ones.
struct OpenSizes {
  ConvSpec conv;
  LinearSpec linear;
  // Of the last call's input and result, while the engine is ready for them; of no dimension before.
  portable::Sizes input, out;

  ConvSpec& of(const ConvSpec&) { return conv; }
  LinearSpec& of(const LinearSpec&) { return linear; }
};

struct State {
  std::unique_ptr<Engine> engine;                               // null: the portable kernel
  FittedWeight fitted;                                          // as the engine wants it, or dense
  std::unique_ptr<Weight> weight = std::make_unique<Weight>();  // null where an engine has taken it for all calls
  Buffer temp;                                                  // for the portable kernel on a weight that is computed
  Reads reads;                                                  // what the call must still be like
  std::unique_ptr<OpenSizes> open;                              // null where all sizes are fixed
};

Error unpack_for_portable(PrepareContext& context, State& state) {
  BERTH_RETURN_IF_ERROR(unpack_weight(context, *state.weight, state.fitted.owned));
  state.fitted.data = state.fitted.owned.floats();
  return Error::kOk;
}

template <typename Op>
std::unique_ptr<EngineKind> kind_of(const typename Op::Args& args, const Weight& weight, int threads,
                                    typename Op::Spec* spec) {
  return Op::read(args, weight, spec) == Fit::kTaken ? choose_engine(*spec, threads) : nullptr;
}

template <typename Op>
Error fill(PrepareContext& context, const typename Op::Args& args, State& state) {
  const bool constant = context.is_constant(kWeight);
  typename Op::Spec spec;
  const auto kind = kind_of<Op>(args, *state.weight, context.threads(), &spec);
  if (!constant && state.weight->packed)
    return context.fail(Error::kInvalidProgram, "a packed weight must be a constant");
  if (kind != nullptr && constant) {
    state.engine = kind->make();
    if (state.engine == nullptr) return context.fail(Error::kMemoryAllocationFailed, "its engine cannot be made");
    if (spec.open != 0) {
      state.open = std::make_unique<OpenSizes>();
      state.open->of(spec) = spec;
    }
    state.reads = reads_of<Op>(args);
    BERTH_RETURN_IF_ERROR(fit_weight(context, *state.weight, *state.engine, &state.fitted));
    if (state.engine->take_weight(static_cast<const float*>(state.fitted.data), state.fitted.derived, context.pool()) !=
        Error::kOk)
      return context.fail(Error::kMemoryAllocationFailed, "there is no memory to transform its weight");
    if (state.open == nullptr) {
      state.weight.reset();
      state.engine->forget_layout();
    }
    return Error::kOk;
  }
  if (state.weight->packed) return unpack_for_portable(context, state);
  // The method's temporary memory was measured for the engine.
  if (kind != nullptr && !state.temp.allocate(Op::kPortableTemp(args, context.threads()))) {
    return context.fail(Error::kMemoryAllocationFailed, "there is no memory for its intermediate results");
  }
  return Error::kOk;
}

template <typename Op>
Error prepare(PrepareContext& context, const typename Op::Args& args, void** out) {
  auto state = std::make_unique<State>();
  if (!read_weight(args.weight, args.packing, Op::kRank, state->weight.get())) {
    return context.fail(Error::kInvalidProgram, kBadPacking);
  }
  BERTH_RETURN_IF_ERROR(fill<Op>(context, args, *state));
  const bool needed = state->engine != nullptr || state->weight->packed || !state->temp.span().empty();
  if (needed) *out = state.release();
  return Error::kOk;
}

template <typename Op>
size_t temp_bytes(const typename Op::Args& args, int threads) {
  Weight weight;
  if (!read_weight(args.weight, args.packing, Op::kRank, &weight)) return 0;
  typename Op::Spec spec;
  const auto kind = kind_of<Op>(args, weight, threads, &spec);
  if (kind != nullptr) return kind->temp_bytes();
  if (!weight.packed) return Op::kPortableTemp(args, threads);
  const DenseArguments<Op> dense(args, weight, weight.tensor->dtype(), nullptr);
  return Op::kPortableTemp(dense.args(), threads);
}

// The engines add to what is in the result's memory.
void copy_residual(KernelContext& context, const Tensor& residual, Tensor& out) {
  if (residual.raw() == out.raw()) return;
  const float* from = residual.data<float>();
  float* to = out.data<float>();
  context.parallel_for(out.numel(), 16384, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, (end - begin) * sizeof(float));
  });
}

template <typename Op>
Error run_portable(KernelContext& context, const typename Op::Args& args, const State& state) {
  if (!state.weight->packed) {
    KernelContext own(state.temp.span(), context.pool(), context.devices(), context.user());
    const Error error = Op::kPortable(own, args);
    return error == Error::kOk ? error : context.fail(error, own.message());
  }
  const DenseArguments<Op> dense(args, *state.weight, state.weight->tensor->dtype(),
                                 const_cast<void*>(state.fitted.data));
  return Op::kPortable(context, dense.args());
}

// Sizes that no engine runs, with memory of their own: no elements to read, or a row that is narrower than a tile. The
// method's temporary memory was measured for the engine.
template <typename Op>
Error run_rare_sizes(KernelContext& context, const typename Op::Args& args, const State& state) {
  const WeightLayout& layout = state.engine->weight();
  const size_t size = element_size(state.engine->weight_type());
  Buffer dense, temp;
  if (!dense.allocate(layout.numel() * size)) return Error::kMemoryAllocationFailed;
  unpack(layout, state.fitted.data, dense.floats(), size);
  const DenseArguments<Op> with_dense(args, *state.weight, state.engine->weight_type(), dense.floats());
  if (!temp.allocate(Op::kPortableTemp(with_dense.args(), context.threads()))) return Error::kMemoryAllocationFailed;
  KernelContext own(temp.span(), context.pool(), context.devices(), context.user());
  const Error error = Op::kPortable(own, with_dense.args());
  return error == Error::kOk ? error : context.fail(error, own.message());
}

// Gives the result its sizes, and has the engine get ready for them; sets `*ready` to whether it is.
template <typename Op>
Error take_sizes(KernelContext& context, const typename Op::Args& args, State& state, bool* ready) {
  OpenSizes& open = *state.open;
  const bool same = args.input.sizes() == open.input.span() && args.out.sizes() == open.out.span() &&
                    (args.residual == nullptr || args.residual->sizes() == open.out.span());
  *ready = same;
  if (same) return Error::kOk;
  open.input.rank = open.out.rank = 0;
  BERTH_RETURN_IF_ERROR(Op::resize(context, args, *state.weight));
  typename Op::Spec spec;
  const Fit fit = Op::read(args, *state.weight, &spec);
  if (fit == Fit::kWrong) return context.fail(Error::kInvalidArgument, "the sizes of its tensors do not fit");
  typename Op::Spec& last = open.of(spec);
  *ready = fit == Fit::kTaken;
  if (*ready && std::memcmp(&spec, &last, sizeof(spec)) != 0) {
    *ready = state.engine->resize(spec);
    if (*ready) last = spec;
  }
  if (!*ready) return Error::kOk;
  open.input = portable::sizes_of(args.input);
  open.out = portable::sizes_of(args.out);
  return Error::kOk;
}

template <typename Op>
Error call(KernelContext& context, const typename Op::Args& args) {
  State* state = static_cast<State*>(context.state());
  if (state == nullptr) return Op::kPortable(context, args);
  if (state->engine == nullptr) return run_portable<Op>(context, args, *state);
  const Tensor& input = args.input;
  Tensor& out = args.out;
  if (state->open != nullptr) {
    bool ready = false;
    BERTH_RETURN_IF_ERROR(take_sizes<Op>(context, args, *state, &ready));
    if (!ready) return run_rare_sizes<Op>(context, args, *state);
  } else if (!(reads_of<Op>(args) == state->reads)) {
    return context.fail(Error::kInvalidArgument,
                        "its tensors are not as large as they were when the method was loaded");
  }
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, input, out));
  Operands operands;
  if (is_narrow(input)) {
    operands.narrow_input = input.data<uint16_t>();
  } else {
    operands.input = input.data<float>();
  }
  if (is_narrow(out)) {
    operands.narrow_out = out.data<uint16_t>();
  } else {
    operands.out = out.data<float>();
  }
  if (args.bias != nullptr) {
    BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.bias));
    operands.bias = args.bias->template data<float>();
  }
  if (args.residual != nullptr) {
    BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.residual));
    // Beside a result of bf16, which is not made in its place.
    if (is_narrow(out)) {
      operands.out = const_cast<float*>(args.residual->template data<float>());
    } else {
      copy_residual(context, *args.residual, out);
    }
  }
  return state->engine->run(context, operands, static_cast<const float*>(state->fitted.data));
}

}  // namespace

Error conv_out(KernelContext& context, const arguments::fused_conv_out& args) { return call<Conv>(context, args); }
size_t conv_temp_bytes(const arguments::fused_conv_out& args, int threads) { return temp_bytes<Conv>(args, threads); }
Error conv_prepare(PrepareContext& context, const arguments::fused_conv_out& args, void** state) {
  return prepare<Conv>(context, args, state);
}

Error linear_out(KernelContext& context, const arguments::fused_linear_out& args) {
  return call<Linear>(context, args);
}
size_t linear_temp_bytes(const arguments::fused_linear_out& args, int threads) {
  return temp_bytes<Linear>(args, threads);
}
Error linear_prepare(PrepareContext& context, const arguments::fused_linear_out& args, void** state) {
  return prepare<Linear>(context, args, state);
}

void conv_release(void* state) { delete static_cast<State*>(state); }

const char* conv_engine(const void* state) {
  const State* made = static_cast<const State*>(state);
  return made == nullptr || made->engine == nullptr ? "portable" : made->engine->name();
}

bool conv_uses_weight_in_place(const void* state) {
  const State* made = static_cast<const State*>(state);
  return made->fitted.data != nullptr && made->fitted.data != made->fitted.owned.floats();
}

}  // namespace berth::cpu
