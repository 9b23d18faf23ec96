#include "kernels/portable/conv_arguments.h"

#include <numeric>

#include "kernels/portable/dispatch.h"

namespace berth::portable {
namespace {

// No size, step or padding that makes sense is larger, and products of two such numbers stay below 2^62.
constexpr int64_t kMost = INT32_MAX;

Error check_tensors(KernelContext& context, const Convolution& c) {
  const int rank = c.input->rank();
  if (rank < 3 || rank > 5 || c.weight->rank() != rank || c.out->rank() != rank) {
    return context.fail(Error::kInvalidArgument, "input, weight and out of a convolution need the same rank, 3 to 5");
  }
  if (c.checked_types) return Error::kOk;
  const DType dtype = c.input->dtype();
  if (!is_floating(dtype) && !is_integer(dtype)) return unsupported_dtype(context);
  if (c.weight->dtype() != dtype || c.out->dtype() != dtype || (c.bias != nullptr && c.bias->dtype() != dtype)) {
    return context.fail(Error::kInvalidArgument, "the tensors of a convolution must have one dtype");
  }
  return Error::kOk;
}

Error read_channels(KernelContext& context, Convolution* c) {
  if (c->groups < 1 || c->groups > kMost) return context.fail(Error::kInvalidArgument, "groups must be at least 1");
  const Tensor& weight = *c->weight;
  const int64_t in_channels = c->input->size(1);
  const int64_t in_weight = c->transposed ? weight.size(0) : weight.size(1) * c->groups;
  const int64_t out_channels = c->transposed ? weight.size(1) * c->groups : weight.size(0);
  if (in_channels < 1 || in_channels != in_weight || in_channels % c->groups != 0) {
    return context.fail(Error::kInvalidArgument, "the input's channels do not match the weight's and the groups");
  }
  if (out_channels % c->groups != 0 || out_channels > kMost) {
    return context.fail(Error::kInvalidArgument, "the weight's output channels do not divide into the groups");
  }
  if (c->bias != nullptr && (c->bias->rank() != 1 || c->bias->size(0) != out_channels)) {
    return context.fail(Error::kInvalidArgument, "a convolution's bias needs one element an output channel");
  }
  c->batch = c->input->size(0);
  c->in_channels = in_channels / c->groups;
  c->out_channels = out_channels / c->groups;
  return Error::kOk;
}

// One number for all axes, or one an axis.
Error read_axes(KernelContext& context, IntList list, int64_t least, int64_t Convolution::Axis::*field,
                Convolution* c) {
  Integers numbers;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &numbers));
  if (numbers.count != 1 && numbers.count != c->spatial) {
    return context.fail(Error::kInvalidArgument, "a convolution's list needs one entry, or one a spatial axis");
  }
  for (int i = 0; i < c->spatial; ++i) {
    const int64_t x = numbers[numbers.count == 1 ? 0 : i];
    if (x < least || x > kMost) {
      return context.fail(Error::kInvalidArgument, "a convolution's stride, dilation or padding is out of range");
    }
    c->axis[3 - c->spatial + i].*field = x;
  }
  return Error::kOk;
}

Error find_out_size(KernelContext& context, bool transposed, Convolution::Axis* axis) {
  if (axis->kernel < 1) return context.fail(Error::kInvalidArgument, "a convolution's kernel is empty");
  const int64_t reach = axis->dilation * (axis->kernel - 1) + 1;
  if (transposed) {
    if (axis->output_padding >= axis->stride && axis->output_padding >= axis->dilation) {
      return context.fail(Error::kInvalidArgument, "output_padding must be smaller than stride or dilation");
    }
    // Each term is below 2^62, so halves cannot overflow.
    const int64_t span = (axis->in - 1) * axis->stride;
    if (span / 2 + reach / 2 > 2 * kMost) return context.fail(Error::kInvalidArgument, "a convolution is too large");
    axis->out = span + reach - 2 * axis->padding + axis->output_padding;
  } else {
    const int64_t room = axis->in + 2 * axis->padding - reach;
    if (room < 0) return context.fail(Error::kInvalidArgument, "a convolution's kernel is larger than its input");
    axis->out = room / axis->stride + 1;
  }
  if (axis->in < 1 || axis->out < 1 || axis->out > kMost) {
    return context.fail(Error::kInvalidArgument, "a convolution's result would have no or too many elements");
  }
  return Error::kOk;
}

}  // namespace

Error read_convolution_lists(KernelContext& context, const ConvolutionLists& lists, Convolution* c) {
  BERTH_RETURN_IF_ERROR(check_tensors(context, *c));
  BERTH_RETURN_IF_ERROR(read_channels(context, c));
  c->spatial = c->input->rank() - 2;
  BERTH_RETURN_IF_ERROR(read_axes(context, lists.stride, 1, &Convolution::Axis::stride, c));
  BERTH_RETURN_IF_ERROR(read_axes(context, lists.padding, 0, &Convolution::Axis::padding, c));
  BERTH_RETURN_IF_ERROR(read_axes(context, lists.dilation, 1, &Convolution::Axis::dilation, c));
  if (c->transposed)
    BERTH_RETURN_IF_ERROR(read_axes(context, lists.output_padding, 0, &Convolution::Axis::output_padding, c));
  for (int i = 0; i < c->spatial; ++i) {
    Convolution::Axis& axis = c->axis[3 - c->spatial + i];
    axis.in = c->input->size(2 + i);
    axis.kernel = c->weight->size(2 + i);
    BERTH_RETURN_IF_ERROR(find_out_size(context, c->transposed, &axis));
  }
  return Error::kOk;
}

Sizes convolution_sizes(const Convolution& c) {
  Sizes sizes;
  push_size(&sizes, c.batch);
  push_size(&sizes, c.out_channels * c.groups);
  for (int i = 3 - c.spatial; i < 3; ++i) push_size(&sizes, c.axis[i].out);
  return sizes;
}

void read_convolution_strides(Convolution* c) {
  for (int i = 0; i < c->spatial; ++i) {
    Convolution::Axis& axis = c->axis[3 - c->spatial + i];
    axis.in_stride = c->input->stride(2 + i);
    axis.kernel_stride = c->weight->stride(2 + i);
    axis.out_stride = c->out->stride(2 + i);
  }
}

namespace {

// All that a forward convolution and a phase of a transposed one have in common.
Product base_product(const Convolution& c) {
  Product p;
  p.dtype = c.out->dtype();
  p.rows = c.out_channels;
  p.channels = c.in_channels;
  p.row_c = c.out->stride(1);
  p.channel_b = c.input->stride(1);
  p.row_a = c.weight->stride(c.transposed ? 1 : 0);
  p.channel_a = c.weight->stride(c.transposed ? 0 : 1);
  p.batch[0] = {c.batch, 0, c.input->stride(0), c.out->stride(0), 0};
  p.batch[1].count = c.groups;
  p.batch[1].a = c.weight->stride(0) * (c.transposed ? c.in_channels : c.out_channels);
  p.batch[1].b = c.input->stride(1) * c.in_channels;
  p.batch[1].c = c.out->stride(1) * c.out_channels;
  p.batch[1].start = c.out_channels;
  p.a = c.weight->raw();
  p.b = c.input->raw();
  p.c = c.out->raw();
  p.start = c.bias == nullptr ? nullptr : c.bias->raw();
  p.start_row = 1;
  return p;
}

template <typename T>
T* advance(T* elements, int64_t count, DType dtype) {
  using Byte = std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>;
  if (elements == nullptr) return nullptr;
  return static_cast<Byte*>(elements) + count * static_cast<int64_t>(element_size(dtype));
}

}  // namespace

Product forward_product(const Convolution& c) {
  Product p = base_product(c);
  for (int i = 0; i < 3; ++i) {
    const Convolution::Axis& axis = c.axis[i];
    p.axis[i] = {axis.out,           axis.in,        axis.stride,    -axis.padding, axis.kernel, axis.dilation,
                 axis.kernel_stride, axis.in_stride, axis.out_stride};
  }
  return p;
}

Product transposed_product(const Convolution& c, const int64_t (&phase)[3]) {
  Product p = base_product(c);
  for (int i = 0; i < 3; ++i) {
    const Convolution::Axis& axis = c.axis[i];
    const int64_t common = std::gcd(axis.stride, axis.dilation);
    const int64_t tap_step = axis.stride / common;
    const int64_t position = phase[i] + axis.padding;
    int64_t first = 0;
    while (first < axis.kernel && first < tap_step && (position - first * axis.dilation) % axis.stride != 0) ++first;
    Product::Axis& grid = p.axis[i];
    grid.count = (axis.out - phase[i] + axis.stride - 1) / axis.stride;
    grid.size = axis.in;
    grid.b = axis.in_stride;
    grid.c = axis.out_stride * axis.stride;
    p.c = advance(p.c, phase[i] * axis.out_stride, p.dtype);
    if (first == axis.kernel || first == tap_step) {
      p.channels = 0;  // no tap reaches this phase: its positions hold the bias alone
      continue;
    }
    grid.taps = (axis.kernel - first + tap_step - 1) / tap_step;
    grid.tap_step = -axis.dilation / common;
    grid.origin = (position - first * axis.dilation) / axis.stride;
    grid.tap_a = axis.kernel_stride * tap_step;
    p.a = advance(p.a, first * axis.kernel_stride, p.dtype);
  }
  return p;
}

}  // namespace berth::portable
