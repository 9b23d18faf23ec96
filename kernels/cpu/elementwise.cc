#include "kernels/cpu/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/element_table.h"
#include "kernels/portable/fused_elementwise.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

using elementwise::Op;

// Operands that a step does not have are 0 there, which is the first input here.
ChainStep step_of(IntList numbers, size_t s) {
  ChainStep step;
  step.op = static_cast<Op>(numbers[4 * s]);
  for (size_t k = 0; k < 3; ++k) step.operand[k] = static_cast<uint8_t>(numbers[4 * s + 1 + k]);
  return step;
}

// `*chain` from berth::elementwise's arguments; false when the portable kernel must say what is wrong with them.
bool read_chain(const arguments::fused_elementwise_out& args, Chain* chain) {
  const TensorList inputs = args.inputs;
  const IntList numbers = args.code;
  const Span<const double> constants = args.constants;
  const auto number = [&](size_t i) { return numbers[i]; };
  if (elementwise::problem_of(inputs.size(), constants.size(), numbers.size(), number) != nullptr) return false;
  chain->inputs = inputs.size();
  chain->constants = constants.size();
  chain->steps = numbers.size() / 4;
  for (size_t i = 0; i < inputs.size(); ++i) {
    chain->input[i] = &inputs[i];
    if (!elementwise::is_input_type(chain->input[i]->dtype())) return false;
  }
  for (size_t i = 0; i < constants.size(); ++i) chain->constant[i] = static_cast<float>(constants[i]);
  for (size_t s = 0; s < chain->steps; ++s) chain->step[s] = step_of(numbers, s);
  return true;
}

// Elements [begin, begin + count) of a tensor, in the order of its memory.
class FlatPart {
 public:
  FlatPart(const Tensor& whole, int64_t begin, int64_t count, void* elsewhere = nullptr)
      : size_(static_cast<int32_t>(count)) {
    static constexpr uint8_t kOrder[1] = {0};
    const int64_t at = begin * static_cast<int64_t>(element_size(whole.dtype()));
    void* const data = elsewhere != nullptr ? elsewhere : static_cast<char*>(whole.raw()) + at;
    tensor_ = Tensor(whole.dtype(), 1, &size_, kOrder, &stride_, data);
  }
  FlatPart(const FlatPart&) = delete;
  FlatPart& operator=(const FlatPart&) = delete;
  Tensor& tensor() { return tensor_; }

 private:
  int32_t size_;
  int64_t stride_ = 1;
  Tensor tensor_;
};

// Of an output that begins where the input does, and has narrower elements: part by part, each as much larger as the
// input's elements are, so that its bytes are those of parts that have been read. Threads share a part.
void run_narrowing(KernelContext& context, Chain chain, const Tensor& input, Tensor& out) {
  constexpr int64_t kFirst = 1024, kMost = 1 << 30;
  alignas(64) uint8_t first[kFirst * sizeof(float)];
  const int64_t count = out.numel();
  const auto size = static_cast<int64_t>(element_size(out.dtype()));
  const int64_t growth = static_cast<int64_t>(element_size(input.dtype())) / size;
  for (int64_t begin = 0, end = std::min(count, kFirst); begin < count;) {
    FlatPart from(input, begin, end - begin);
    FlatPart to(out, begin, end - begin, begin == 0 ? first : nullptr);
    std::fill_n(chain.input, chain.inputs, &from.tensor());
    run_chain(context, chain, to.tensor());
    if (begin == 0) std::memcpy(out.raw(), first, static_cast<size_t>(end * size));
    begin = end;
    end = std::min({count, end * growth, end + kMost});
  }
}

// `inputs` are the operator's: a chain may have others, or none of some of them.
Error run(KernelContext& context, const Chain& chain, Span<const Tensor* const> inputs, Tensor& out,
          bool narrows = false) {
  BERTH_RETURN_IF_ERROR(portable::resize_broadcast(context, out, inputs));
  for (const Tensor* input : inputs) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *input));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, out));
  if (narrows) {
    run_narrowing(context, chain, *inputs[0], out);
  } else {
    run_chain(context, chain, out);
  }
  return Error::kOk;
}

// Whether these tensors are of the types that the tables were made for.
bool fits(const TabledChain& tabled, TensorList inputs) {
  if (inputs.size() != tabled.inputs) return false;
  for (size_t k = 0; k < tabled.inputs; ++k) {
    if (inputs[k].dtype() != tabled.type[k]) return false;
  }
  return true;
}

// An operator of two tensors. Where both have the output's layout the portable kernel is as fast.
template <typename Args>
Error run_binary(KernelContext& context, const Args& args, Op op,
                 Error (*portable_kernel)(KernelContext&, const Args&)) {
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  Tensor& out = args.out;
  const bool f32 = a.dtype() == DType::kF32 && b.dtype() == DType::kF32 && out.dtype() == DType::kF32;
  if (!f32 || (portable::same_layout(a, out) && portable::same_layout(b, out))) return portable_kernel(context, args);
  Chain chain;
  chain.inputs = 2;
  chain.steps = 1;
  chain.input[0] = &a;
  chain.input[1] = &b;
  chain.step[0] = {op, {0, 1, 0}};
  return run(context, chain, {chain.input, chain.inputs}, out);
}

bool is_one(const EValue& scalar) { return scalar.is_scalar() && scalar.scalar_to<double>() == 1; }

}  // namespace

Error elementwise_out(KernelContext& context, const arguments::fused_elementwise_out& args) {
  const auto* const tabled = static_cast<const TabledChain*>(context.state());
  Tensor& out = args.out;
  Chain chain;
  const bool prepared = tabled != nullptr && fits(*tabled, args.inputs);
  if (prepared) chain = tabled->chain;
  if ((!prepared && !read_chain(args, &chain)) ||
      out.dtype() != elementwise::result_type(chain.step[chain.steps - 1].op)) {
    return portable::fused_elementwise_out(context, args);
  }
  const bool narrows = portable::narrows_in_place(args);
  if (!prepared) return run(context, chain, {chain.input, chain.inputs}, out, narrows);
  const Tensor* inputs[elementwise::kMaxInputs];
  for (size_t k = 0; k < tabled->inputs; ++k) inputs[k] = &args.inputs[k];
  for (size_t k = 0; k < chain.inputs; ++k) chain.input[k] = inputs[tabled->source[k]];
  return run(context, chain, {inputs, tabled->inputs}, out, narrows);
}

Error elementwise_prepare(PrepareContext&, const arguments::fused_elementwise_out& args, void** state) {
  Chain chain;
  if (read_chain(args, &chain)) *state = make_tables(chain).release();
  return Error::kOk;
}

void elementwise_release(void* state) { delete static_cast<TabledChain*>(state); }

Error add_out(KernelContext& context, const arguments::add_out& args) {
  if (!is_one(args.alpha)) return portable::add_out(context, args);
  return run_binary(context, args, Op::kAdd, portable::add_out);
}

Error sub_out(KernelContext& context, const arguments::sub_out& args) {
  if (!is_one(args.alpha)) return portable::sub_out(context, args);
  return run_binary(context, args, Op::kSub, portable::sub_out);
}

Error mul_out(KernelContext& context, const arguments::mul_out& args) {
  return run_binary(context, args, Op::kMul, portable::mul_out);
}

Error div_out(KernelContext& context, const arguments::div_out& args) {
  return run_binary(context, args, Op::kDiv, portable::div_out);
}

}  // namespace berth::cpu
