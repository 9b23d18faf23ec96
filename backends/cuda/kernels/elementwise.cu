#include <cstring>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "kernels/portable/broadcast.h"

namespace berth::cuda {
namespace {

constexpr int kMaxInputs = 3;

template <typename T>
struct Elementwise {
  struct Operand {
    const void* base;  // null: `number` is the element
    T number;
    DType dtype;
    DType through;  // what elements are rounded to on their way in
  };

  Op op;
  int8_t inputs;
  bool dense;  // every operand lies as the walk goes, or is one element
  DType out_dtype;
  DType out_common;
  void* out;
  uint32_t* fault;
  Numbers<T> numbers;
  Operand in[kMaxInputs];
  Places<kMaxInputs + 1> places;

  BERTH_HD void operator()(int64_t i) const {
    int64_t offsets[kMaxInputs + 1];
    if (dense) {
      for (int k = 0; k <= kMaxInputs; ++k) offsets[k] = i * places.strides[k][0];
    } else {
      places.at(i, offsets);
    }
    T x[kMaxInputs] = {};
    for (int k = 0; k < kMaxInputs; ++k) {
      if (k >= inputs) continue;
      x[k] = in[k].base == nullptr ? in[k].number
                                   : rounded(load<T>(in[k].base, in[k].dtype, offsets[k + 1]), in[k].through);
    }
    if constexpr (std::is_same_v<T, int64_t>) {
      if (divides(op) && x[1] == 0) raise(fault, kDivisionByZero);
    }
    const T result = apply(op, x[0], x[1], x[2], numbers);
    store(out, out_dtype, offsets[0], rounded(result, out_common));
  }
};

// Elements of a type that they are not rounded to by being loaded: see rounds_when_loaded of the portable driver.
DType through_of(const Input& input) {
  const bool shorter = input.common == DType::kF16 || input.common == DType::kBF16;
  return shorter && input.tensor->dtype() != input.common ? input.common : kUnrounded;
}

template <typename T>
T scalar_number(const Scalars& scalars, int i) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return scalars.whole[i];
  } else {
    return static_cast<T>(scalars.real[i]);
  }
}

template <typename T>
T number_at(const void* bytes, DType dtype) {
  if (dtype == DType::kBool) return static_cast<T>(*static_cast<const uint8_t*>(bytes) != 0);
  T x;
  std::memcpy(&x, bytes, sizeof x);
  return x;
}

template <typename T>
void set_numbers(const Output& output, const Scalars& scalars, Elementwise<T>* body) {
  for (int i = 0; i < 3; ++i) body->numbers.value[i] = scalar_number<T>(scalars, i);
  body->numbers.common = output.common;
  body->out_dtype = output.tensor->dtype();
  // Results are rounded to the common type first, then to the output's.
  body->out_common = body->out_dtype != output.common ? output.common : kUnrounded;
}

template <typename T>
Error run_typed(KernelContext& context, Op op, const Output& output, Span<const Input> inputs, const Scalars& scalars) {
  Elementwise<T> body{};
  body.op = op;
  body.inputs = static_cast<int8_t>(inputs.size());
  body.fault = queue_of(context).fault;
  body.out = output.tensor->raw();
  set_numbers(output, scalars, &body);
  const Tensor* tensors[kMaxInputs + 1] = {output.tensor};
  size_t count = 1;
  for (const Input& input : inputs) {
    // A number stands in the walk as the output itself, so that operands keep their places.
    tensors[count++] = input.tensor == nullptr ? output.tensor : input.tensor;
  }
  const portable::Walk walk = portable::walk_broadcast(Span<const Tensor* const>(tensors, count));
  body.places = Places<kMaxInputs + 1>(walk);
  body.dense = walk.rank == 1;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Input& input = inputs[k];
    typename Elementwise<T>::Operand& operand = body.in[k];
    operand.through = kUnrounded;
    if (input.tensor == nullptr) {
      operand.number = number_at<T>(input.scalar, input.compute);
    } else {
      operand.base = input.tensor->raw();
      operand.dtype = input.tensor->dtype();
      operand.through = through_of(input);
    }
  }
  return for_each(context, output.tensor->numel(), body);
}

// u64 does not fit in the integers that operators compute in.
bool is_computed(DType dtype) { return portable::is_real(dtype) && dtype != DType::kU64; }

Error check_dtypes(KernelContext& context, const Output& output, Span<const Input> inputs) {
  if (!is_computed(output.tensor->dtype())) return portable::unsupported_dtype(context);
  for (const Input& input : inputs) {
    if (input.tensor != nullptr && !is_computed(input.tensor->dtype())) return portable::unsupported_dtype(context);
  }
  if (portable::can_cast(output.common, output.tensor->dtype())) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
}

}  // namespace

Error run_elementwise(KernelContext& context, Op op, DType compute, const Output& output, Span<const Input> inputs,
                      const Scalars& scalars) {
  BERTH_RETURN_IF_ERROR(check_dtypes(context, output, inputs));
  const Tensor* tensors[kMaxInputs];
  for (size_t k = 0; k < inputs.size(); ++k) tensors[k] = inputs[k].tensor;
  BERTH_RETURN_IF_ERROR(
      portable::resize_broadcast(context, *output.tensor, Span<const Tensor* const>(tensors, inputs.size())));
  if (output.tensor->numel() == 0) return Error::kOk;
  switch (compute) {
    case DType::kF32: return run_typed<float>(context, op, output, inputs, scalars);
    case DType::kF64: return run_typed<double>(context, op, output, inputs, scalars);
    default: return run_typed<int64_t>(context, op, output, inputs, scalars);
  }
}

Error run_conversion(KernelContext& context, const portable::Walk& walk, void* out, DType out_dtype, const void* in,
                     DType in_dtype) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    Elementwise<T> body{};
    body.op = Op::kIdentity;
    body.inputs = 1;
    body.out = out;
    body.out_dtype = out_dtype;
    body.out_common = kUnrounded;
    body.in[0] = {in, zero, in_dtype, kUnrounded};
    body.places = Places<kMaxInputs + 1>(walk);
    body.dense = walk.rank == 1;
    return for_each(context, walk.count, body);
  };
  switch (portable::compute_dtype(in_dtype)) {
    case DType::kF32: return run(0.0f);
    case DType::kF64: return run(0.0);
    default: return run(int64_t{0});
  }
}

Error run_boxes(KernelContext& context, Op op, DType dtype, const portable::Walk& walk, void* out, const void* a,
                const void* b) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    Elementwise<T> body{};
    body.op = op;
    body.inputs = 2;
    body.fault = queue_of(context).fault;
    body.out = out;
    body.out_dtype = dtype;
    body.out_common = kUnrounded;
    body.numbers.common = dtype;
    body.in[0] = {a, zero, dtype, kUnrounded};
    body.in[1] = {b, zero, dtype, kUnrounded};
    body.places = Places<kMaxInputs + 1>(walk);
    body.dense = walk.rank == 1;
    return for_each(context, walk.count, body);
  };
  return dtype == DType::kF64 ? run(0.0) : run(0.0f);
}

}  // namespace berth::cuda
