// berth::quantized_linear and berth::quantized_conv by plain loops. Dense weights.
#include <algorithm>

#include "kernels/portable/fused_quantized.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr const char* kPacked = "this quantised product's weight is packed; portable kernels take dense ones";

int32_t byte_at(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kI8 ? tensor.data<int8_t>()[i] : tensor.data<uint8_t>()[i];
}

// Sums wrap around, which only unsigned numbers may.
uint32_t product_of(int32_t a, int32_t b) { return static_cast<uint32_t>(a) * static_cast<uint32_t>(b); }

// One row of the input times columns [first, first + count) of the weight, whose row 0 lies at `matrix`.
template <typename Weight>
void sum_row(const QuantizedProduct& p, const Tensor& input, const Tensor& weight, int64_t matrix, int64_t row,
             int64_t first, int64_t count, uint32_t* sums) {
  const int down = weight.rank() - 2, across = weight.rank() - 1;
  const int64_t depth = weight.size(down), step = weight.stride(across);
  const int32_t input_zero = p.input_zero[row];
  int32_t zeros[kQuantizedChunk];
  for (int64_t i = 0; i < count; ++i) {
    zeros[i] = p.weight_zero[first + i];
    sums[i] = 0;
  }
  for (int64_t k = 0; k < depth; ++k) {
    const int32_t x = byte_at(input, row * depth + k) - input_zero;
    const Weight* w = weight.data<Weight>() + matrix + k * weight.stride(down) + first * step;
    for (int64_t i = 0; i < count; ++i) sums[i] += product_of(x, int32_t{w[i * step]} - zeros[i]);
  }
}

// The input's number that tap `k` sees from position `o`; negative, or too large: padding.
int64_t seen_by(const Convolution::Axis& axis, int64_t o, int64_t k) {
  return o * axis.stride - axis.padding + k * axis.dilation;
}

bool sees(const Convolution::Axis& axis, int64_t position) { return position >= 0 && position < axis.in; }

// A position of the result: its image and where it lies on each axis.
struct Position {
  int64_t image = 0;
  int64_t at[3] = {};
};

Position position_of(const Convolution& c, int64_t index) {
  Position position;
  for (int i = 2; i >= 0; --i) {
    position.at[i] = index % c.axis[i].out;
    index /= c.axis[i].out;
  }
  position.image = index;
  return position;
}

uint32_t sum_channel(const Convolution& c, const QuantizedProduct& p, const Position& o, int64_t channel) {
  const int32_t input_zero = p.input_zero[0];
  const int32_t weight_zero = p.weight_zero[channel];
  const int64_t input_step = c.input->stride(1);
  const int64_t weight_step = c.weight->stride(1);
  const int64_t image = o.image * c.input->stride(0) + channel / c.out_channels * c.in_channels * input_step;
  uint32_t sum = 0;
  for (int64_t z = 0; z < c.axis[0].kernel; ++z) {
    const int64_t in_z = seen_by(c.axis[0], o.at[0], z);
    for (int64_t y = 0; y < c.axis[1].kernel && sees(c.axis[0], in_z); ++y) {
      const int64_t in_y = seen_by(c.axis[1], o.at[1], y);
      for (int64_t x = 0; x < c.axis[2].kernel && sees(c.axis[1], in_y); ++x) {
        const int64_t in_x = seen_by(c.axis[2], o.at[2], x);
        if (!sees(c.axis[2], in_x)) continue;
        int64_t from = image + in_z * c.axis[0].in_stride + in_y * c.axis[1].in_stride + in_x * c.axis[2].in_stride;
        int64_t weight = channel * c.weight->stride(0) + z * c.axis[0].kernel_stride + y * c.axis[1].kernel_stride +
                         x * c.axis[2].kernel_stride;
        for (int64_t i = 0; i < c.in_channels; ++i, from += input_step, weight += weight_step) {
          sum += product_of(byte_at(*c.input, from) - input_zero, byte_at(*c.weight, weight) - weight_zero);
        }
      }
    }
  }
  return sum;
}

int64_t offset_of(const Tensor& tensor, const Convolution& c, const Position& o) {
  int64_t offset = o.image * tensor.stride(0);
  for (int i = 0; i < c.spatial; ++i) offset += o.at[3 - c.spatial + i] * tensor.stride(2 + i);
  return offset;
}

void run_position(const Convolution& c, const QuantizedProduct& p, const Position& o) {
  QuantizedPlace place;
  place.out_step = c.out->stride(1);
  if (p.residual != nullptr) place.residual_step = p.residual->stride(1);
  const int64_t channels = c.groups * c.out_channels;
  for (int64_t first = 0; first < channels; first += kQuantizedChunk) {
    const int64_t count = std::min(kQuantizedChunk, channels - first);
    int32_t sums[kQuantizedChunk];
    for (int64_t i = 0; i < count; ++i) sums[i] = static_cast<int32_t>(sum_channel(c, p, o, first + i));
    place.column = first;
    place.out = offset_of(*c.out, c, o) + first * place.out_step;
    if (p.residual != nullptr) place.residual = offset_of(*p.residual, c, o) + first * place.residual_step;
    finish_sums(p, sums, count, place);
  }
}

}  // namespace

Error quantized_linear_out(KernelContext& context, const arguments::quantized_linear_out& args) {
  if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
  const Tensor& weight = args.weight;
  QuantizedProduct product;
  BERTH_RETURN_IF_ERROR(read_quantized_linear(context, args, weight, &product));
  BERTH_RETURN_IF_ERROR(check_memory(context, weight));
  if (args.out.numel() == 0) return Error::kOk;
  const bool batched = weight.rank() == 3;
  const int64_t columns = weight.size(weight.rank() - 1), rows = args.out.numel() / columns;
  const int64_t rows_each = batched ? rows / weight.size(0) : rows;
  const int64_t grain = grain_of(columns * weight.size(weight.rank() - 2));
  context.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t matrix = batched ? row / rows_each * weight.stride(0) : 0;
      for (int64_t first = 0; first < columns; first += kQuantizedChunk) {
        const int64_t count = std::min(kQuantizedChunk, columns - first);
        uint32_t sums[kQuantizedChunk];
        int32_t whole[kQuantizedChunk];
        (product.signed_weight ? sum_row<int8_t> : sum_row<uint8_t>)(product, args.input, weight, matrix, row, first,
                                                                     count, sums);
        for (int64_t i = 0; i < count; ++i) whole[i] = static_cast<int32_t>(sums[i]);
        const int64_t at = row * columns + first;
        finish_sums(product, whole, count, {row, first, at, 1, at, 1});
      }
    }
  });
  return Error::kOk;
}

Error quantized_conv_out(KernelContext& context, const arguments::quantized_conv_out& args) {
  if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
  QuantizedProduct product;
  Convolution c;
  BERTH_RETURN_IF_ERROR(read_quantized_conv(context, args, args.weight, &product, &c));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.weight));
  if (args.out.numel() == 0) return Error::kOk;
  read_convolution_strides(&c);
  const int64_t positions = args.out.numel() / args.out.size(1);
  context.parallel_for(positions, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run_position(c, product, position_of(c, i));
  });
  return Error::kOk;
}

}  // namespace berth::portable
