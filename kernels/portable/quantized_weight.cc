#include "kernels/portable/quantized_weight.h"

#include "kernels/portable/layout_arguments.h"

namespace berth::portable {
namespace {

Error check_parameters(KernelContext& context, const Tensor& tensor, const QuantizedWeight& weight) {
  const bool floating = tensor.dtype() == DType::kF32 || has_16_bits(tensor.dtype());
  if (!floating || tensor.rank() < 1 || tensor.rank() > 2 || tensor.size(0) != weight.rows() ||
      (tensor.rank() == 2 ? tensor.size(1) : 1) != weight.groups) {
    return context.fail(Error::kInvalidArgument,
                        "scales and zero points must be f32, f16 or bf16, [rows] or [rows, groups]");
  }
  return check_memory(context, tensor);
}

}  // namespace

float QuantizedWeight::number(int64_t row, int64_t column) const {
  const int64_t first = row * bytes->stride(0);
  if (bits == 8) {
    const int64_t at = first + column * bytes->stride(1);
    return bytes->dtype() == DType::kI8 ? bytes->data<int8_t>()[at] : bytes->data<uint8_t>()[at];
  }
  const int64_t in_byte = 8 / bits;
  const uint8_t byte = bytes->data<uint8_t>()[first + column / in_byte * bytes->stride(1)];
  // Of two numbers the first is the upper half of the byte; of four it is the lowest bits.
  if (bits == 4) return static_cast<float>((column % 2 == 0 ? byte >> 4 : byte & 15) - 8);
  return static_cast<float>((byte >> 2 * (column % 4) & 3) - 2);
}

float QuantizedWeight::parameter(const Tensor& tensor, int64_t row, int64_t group) const {
  const int64_t at = row * tensor.stride(0) + (tensor.rank() == 2 ? group * tensor.stride(1) : 0);
  float value = 0;
  const char* address = tensor.data<char>() + at * static_cast<int64_t>(element_size(tensor.dtype()));
  convert_elements(tensor.dtype(), address, DType::kF32, &value, 1);
  return value;
}

Error read_weight(KernelContext& context, const Tensor& bytes, const Tensor& scales, const Tensor* zero_points,
                  int bits, QuantizedWeight* weight) {
  const bool byte = bytes.dtype() == DType::kU8 || (bits == 8 && bytes.dtype() == DType::kI8);
  if (bytes.rank() != 2 || !byte) {
    return context.fail(Error::kInvalidArgument, "a quantised weight must be a matrix of bytes");
  }
  weight->bytes = &bytes;
  weight->scales = &scales;
  weight->zero_points = zero_points;
  weight->bits = bits;
  weight->columns = bytes.size(1) * (8 / bits);
  weight->groups = weight->scales->rank() == 2 ? weight->scales->size(1) : 1;
  if (weight->groups < 1 || weight->columns % weight->groups != 0) {
    return context.fail(Error::kInvalidArgument, "the groups of a quantised weight do not divide its columns");
  }
  BERTH_RETURN_IF_ERROR(check_parameters(context, *weight->scales, *weight));
  if (weight->zero_points != nullptr) {
    BERTH_RETURN_IF_ERROR(check_parameters(context, *weight->zero_points, *weight));
  }
  return check_memory(context, bytes);
}

}  // namespace berth::portable
