#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/quantize.h"

namespace berth::portable {
namespace {

// The numbers of a quantised type; unsigned ones of 32 bits and wider types are none.
bool limits_of(DType dtype, QuantRange* range) {
  switch (dtype) {
    case DType::kU8: *range = {0, UINT8_MAX}; return true;
    case DType::kI8: *range = {INT8_MIN, INT8_MAX}; return true;
    case DType::kU16: *range = {0, UINT16_MAX}; return true;
    case DType::kI16: *range = {INT16_MIN, INT16_MAX}; return true;
    case DType::kI32: *range = {INT32_MIN, INT32_MAX}; return true;
    default: return false;
  }
}

}  // namespace

Error read_range(KernelContext& context, int64_t low, int64_t high, int64_t dtype, const Tensor& quantized,
                 QuantRange* range) {
  *range = {low, high};
  QuantRange limits = {0, 0};
  if (!limits_of(quantized.dtype(), &limits) || dtype != static_cast<int64_t>(quantized.dtype())) {
    return context.fail(Error::kInvalidArgument,
                        "the quantised tensor must be of the dtype that is named: u8, i8, u16, i16 or i32");
  }
  if (range->low > range->high || range->low < limits.low || range->high > limits.high) {
    return context.fail(Error::kInvalidArgument, "quant_min and quant_max are not a range of the quantised dtype");
  }
  return Error::kOk;
}

Error ParameterView::make(KernelContext& context, const Tensor& parameters, int rank) {
  int64_t count = 1;
  for (int d = 0; d < rank; ++d) {
    order_[d] = static_cast<uint8_t>(d);
    count *= sizes_[d];
  }
  if (parameters.numel() != count || !parameters.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "scales and zero points need one element for each group of elements");
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, parameters));
  view_ = Tensor(parameters.dtype(), rank, sizes_, order_, strides_, parameters.raw());
  return Error::kOk;
}

Error ParameterView::along(KernelContext& context, const Tensor& parameters, const Tensor& like, int64_t axis) {
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, axis, like, &dim));
  for (int d = 0; d < like.rank(); ++d) sizes_[d] = d == dim ? like.sizes()[d] : 1;
  return make(context, parameters, like.rank());
}

Error ParameterView::for_rows(KernelContext& context, const Tensor& parameters, const Tensor& like) {
  if (like.rank() == 0) return context.fail(Error::kInvalidArgument, "a tensor of rank 0 has no rows");
  for (int d = 0; d < like.rank(); ++d) sizes_[d] = d + 1 < like.rank() ? like.sizes()[d] : 1;
  return make(context, parameters, like.rank());
}

Error read_one(KernelContext& context, const Tensor& tensor, double* out) {
  if (tensor.numel() != 1 || !is_real(tensor.dtype())) {
    return context.fail(Error::kInvalidArgument, "a scale or zero point that is a tensor must have one element");
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, tensor));
  convert_elements(tensor.dtype(), tensor.raw(), DType::kF64, out, 1);
  return Error::kOk;
}

}  // namespace berth::portable
