// quantized_decomposed::mixed_mm and mixed_linear: floating rows times a weight of bytes.
//
//   mixed_mm      out[i, j] = sum over k of input[i, k] * (weight[k, j] - zero[k]) * scale[k]
//   mixed_linear  out[i, j] = sum over k of input[i, k] * (weight[j, k] - zero[j, g]) * scale[j, g], g the group of k
//
// Sums are kept in f32, a group's apart.
#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/quantized_weight.h"

namespace berth::portable {
namespace {

struct Product {
  const Tensor& input;
  QuantizedWeight weight;
  Tensor& out;
  bool transposed;  // a row of the weight for each column of the result: mixed_linear

  int64_t inner() const { return input.size(1); }
  int64_t columns() const { return transposed ? weight.rows() : weight.columns; }
};

template <typename T>
float linear_element(const Product& p, const T* x, int64_t j) {
  float sum = 0;
  const int64_t width = p.weight.group_columns();
  for (int64_t g = 0; g < p.weight.groups; ++g) {
    const float zero = p.weight.zero_point(j, g);
    float part = 0;
    for (int64_t k = g * width; k < (g + 1) * width; ++k) {
      part += static_cast<float>(x[k * p.input.stride(1)]) * (p.weight.number(j, k) - zero);
    }
    sum += part * p.weight.scale(j, g);
  }
  return sum;
}

template <typename T>
float mm_element(const Product& p, const T* x, int64_t j) {
  float sum = 0;
  for (int64_t k = 0; k < p.inner(); ++k) {
    const float weight = (p.weight.number(k, j) - p.weight.zero_point(k, 0)) * p.weight.scale(k, 0);
    sum += static_cast<float>(x[k * p.input.stride(1)]) * weight;
  }
  return sum;
}

template <typename T>
void multiply(KernelContext& context, const Product& p) {
  const int64_t columns = p.columns();
  const int64_t bytes = static_cast<int64_t>(element_size(p.out.dtype()));
  context.parallel_for(p.out.numel(), grain_of(4 * p.inner()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* x = p.input.data<T>() + i / columns * p.input.stride(0);
      const float sum = p.transposed ? linear_element(p, x, i % columns) : mm_element(p, x, i % columns);
      const int64_t at = i / columns * p.out.stride(0) + i % columns * p.out.stride(1);
      convert_elements(DType::kF32, &sum, p.out.dtype(), p.out.data<char>() + at * bytes, 1);
    }
  });
}

Error run(KernelContext& context, const Product& p) {
  const Tensor& weight = *p.weight.bytes;
  if (p.input.rank() != 2 || p.inner() != (p.transposed ? weight.size(1) : weight.size(0))) {
    return context.fail(Error::kInvalidArgument, "input and weight of a mixed product do not match");
  }
  if (!p.transposed && p.weight.groups != 1) {
    return context.fail(Error::kInvalidArgument, "mixed_mm takes one scale for each row of the weight");
  }
  const int32_t sizes[] = {p.input.sizes()[0], static_cast<int32_t>(p.columns())};
  BERTH_RETURN_IF_ERROR(resize_out(context, p.out, sizes));
  BERTH_RETURN_IF_ERROR(check_memory(context, p.input, p.out));
  return dispatch_floating(context, p.input.dtype(), [&](auto tag) {
    multiply<typename decltype(tag)::type>(context, p);
    return Error::kOk;
  });
}

}  // namespace

Error mixed_mm_out(KernelContext& context, const arguments::mixed_mm_out& args) {
  Product p = {args.input, {}, args.out, false};
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, p.input, p.out));
  BERTH_RETURN_IF_ERROR(read_weight(context, args.weight, args.weight_scales, args.weight_zero_points, 8, &p.weight));
  return run(context, p);
}

Error mixed_linear_out(KernelContext& context, const arguments::mixed_linear_out& args) {
  Product p = {args.input, {}, args.out, true};
  const int64_t dtype = args.dtype.value_or(static_cast<int64_t>(p.input.dtype()));
  if (!is_floating(p.out.dtype()) || dtype != static_cast<int64_t>(p.out.dtype())) {
    return context.fail(Error::kInvalidArgument, "out must be of the dtype that is asked for, else of the input's");
  }
  BERTH_RETURN_IF_ERROR(read_weight(context, args.weight, args.weight_scales, args.weight_zero_points, 8, &p.weight));
  return run(context, p);
}

}  // namespace berth::portable
