// convolution_backward: the gradients of a convolution's input, weight and bias, each element by its definition.
//
// An input position i, a tap k and an output position o belong together where
//
//   forward      o * stride + k * dilation = i + padding
//   transposed   i * stride + k * dilation = o + padding
//
// so that, with channels of one group, grad_input[i] = sum over k of grad_output[o] * weight[k] and grad_weight[k] =
// sum over i of input[i] * grad_output[o].
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/narrow.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

struct Position {
  int64_t at[3];
};

Position position_of(int64_t index, int64_t height, int64_t width) {
  return {{index / width / height, index / width % height, index % width}};
}

// The offset in grad_output of the position that belongs to `input` and `tap`; false when there is none.
bool output_offset(const Convolution& c, const Position& input, const Position& tap, int64_t* offset) {
  *offset = 0;
  for (int d = 0; d < 3; ++d) {
    const Convolution::Axis& axis = c.axis[d];
    int64_t position = 0;
    if (c.transposed) {
      position = input.at[d] * axis.stride + tap.at[d] * axis.dilation - axis.padding;
    } else {
      position = input.at[d] + axis.padding - tap.at[d] * axis.dilation;
      if (position < 0 || position % axis.stride != 0) return false;
      position /= axis.stride;
    }
    if (position < 0 || position >= axis.out) return false;
    *offset += position * axis.out_stride;
  }
  return true;
}

struct Backward {
  Convolution c;  // c.out is `result`
  Tensor result;  // grad_output
  Tensor* grad_input;
  Tensor* grad_weight;
  Tensor* grad_bias;
  bool wanted[3];

  int64_t positions() const { return c.axis[0].in * c.axis[1].in * c.axis[2].in; }
  int64_t taps() const { return c.axis[0].kernel * c.axis[1].kernel * c.axis[2].kernel; }
  Position position(int64_t i) const { return position_of(i, c.axis[1].in, c.axis[2].in); }
  Position tap(int64_t i) const { return position_of(i, c.axis[1].kernel, c.axis[2].kernel); }

  // Channels within group `g`, in the weight's first two dimensions.
  int64_t weight_offset(int64_t g, int64_t in, int64_t out) const {
    const int64_t first = c.transposed ? g * c.in_channels + in : g * c.out_channels + out;
    return first * c.weight->stride(0) + (c.transposed ? out : in) * c.weight->stride(1);
  }
  // Of a position in `tensor`, which has the spatial sizes of the input or of the kernel.
  int64_t spatial_offset(const Tensor& tensor, const Position& position) const {
    int64_t offset = 0;
    for (int d = 0; d < c.spatial; ++d) offset += position.at[3 - c.spatial + d] * tensor.stride(2 + d);
    return offset;
  }
};

template <typename T>
double input_gradient(const Backward& b, int64_t n, int64_t g, int64_t in, const Position& position) {
  const Convolution& c = b.c;
  double sum = 0;
  for (int64_t k = 0; k < b.taps(); ++k) {
    const Position tap = b.tap(k);
    int64_t offset = 0;
    if (!output_offset(c, position, tap, &offset)) continue;
    const T* gradient = c.out->data<T>() + n * c.out->stride(0) + g * c.out_channels * c.out->stride(1) + offset;
    const T* weight = c.weight->data<T>() + b.spatial_offset(*c.weight, tap);
    for (int64_t out = 0; out < c.out_channels; ++out) {
      sum += static_cast<double>(gradient[out * c.out->stride(1)]) *
             static_cast<double>(weight[b.weight_offset(g, in, out)]);
    }
  }
  return sum;
}

template <typename T>
void run_input(KernelContext& context, const Backward& b) {
  const Convolution& c = b.c;
  Tensor& to = *b.grad_input;
  const int64_t channels = c.groups * c.in_channels;
  const int64_t positions = b.positions();
  context.parallel_for(
      c.batch * channels, grain_of(positions * b.taps() * c.out_channels), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t n = i / channels;
          const int64_t channel = i % channels;
          T* plane = to.data<T>() + n * to.stride(0) + channel * to.stride(1);
          for (int64_t p = 0; p < positions; ++p) {
            const Position position = b.position(p);
            const double sum = input_gradient<T>(b, n, channel / c.in_channels, channel % c.in_channels, position);
            plane[b.spatial_offset(to, position)] = narrow<T>(sum);
          }
        }
      });
}

template <typename T>
double weight_gradient(const Backward& b, int64_t g, int64_t in, int64_t out, const Position& tap) {
  const Convolution& c = b.c;
  const T* input = c.input->data<T>() + (g * c.in_channels + in) * c.input->stride(1);
  const T* gradient = c.out->data<T>() + (g * c.out_channels + out) * c.out->stride(1);
  double sum = 0;
  for (int64_t p = 0; p < b.positions(); ++p) {
    const Position position = b.position(p);
    int64_t offset = 0;
    if (!output_offset(c, position, tap, &offset)) continue;
    const T* x = input + b.spatial_offset(*c.input, position);
    for (int64_t n = 0; n < c.batch; ++n) {
      sum +=
          static_cast<double>(x[n * c.input->stride(0)]) * static_cast<double>(gradient[offset + n * c.out->stride(0)]);
    }
  }
  return sum;
}

template <typename T>
void run_weight(KernelContext& context, const Backward& b) {
  const Convolution& c = b.c;
  Tensor& to = *b.grad_weight;
  const int64_t pairs = c.in_channels * c.out_channels;
  context.parallel_for(c.groups * pairs, grain_of(b.taps() * b.positions() * c.batch), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i / pairs;
      const int64_t out = i % pairs / c.in_channels;
      const int64_t in = i % c.in_channels;
      const int64_t first = c.transposed ? g * c.in_channels + in : g * c.out_channels + out;
      T* taps = to.data<T>() + first * to.stride(0) + (c.transposed ? out : in) * to.stride(1);
      for (int64_t k = 0; k < b.taps(); ++k) {
        const Position tap = b.tap(k);
        taps[b.spatial_offset(to, tap)] = narrow<T>(weight_gradient<T>(b, g, in, out, tap));
      }
    }
  });
}

template <typename T>
void run_bias(const Backward& b) {
  const Tensor& gradient = *b.c.out;
  const int64_t plane = b.c.axis[0].out * b.c.axis[1].out * b.c.axis[2].out;
  for (int64_t channel = 0; channel < gradient.size(1); ++channel) {
    double sum = 0;
    for (int64_t n = 0; n < gradient.size(0); ++n) {
      const int64_t first = (n * gradient.size(1) + channel) * plane;
      for (int64_t i = 0; i < plane; ++i) {
        sum += static_cast<double>(gradient.data<T>()[element_offset(gradient, first + i)]);
      }
    }
    b.grad_bias->data<T>()[channel] = narrow<T>(sum);
  }
}

Error resize_wanted(KernelContext& context, const Backward& b) {
  const int32_t channels[] = {b.c.out->sizes()[1]};
  const Span<const int32_t> sizes[] = {b.c.input->sizes(), b.c.weight->sizes(), channels};
  Tensor* const gradients[] = {b.grad_input, b.grad_weight, b.grad_bias};
  for (int i = 0; i < 3; ++i) {
    if (!b.wanted[i]) continue;
    BERTH_RETURN_IF_ERROR(check_same_dtype(context, *b.c.input, *gradients[i]));
    BERTH_RETURN_IF_ERROR(resize_out(context, *gradients[i], sizes[i]));
    BERTH_RETURN_IF_ERROR(check_memory(context, *gradients[i]));
  }
  return Error::kOk;
}

// The arguments as those of the convolution whose result has the gradient grad_output.
Error read_backward(KernelContext& context, const arguments::convolution_backward_out& args, Backward* b) {
  b->result = args.grad_output;
  BERTH_RETURN_IF_ERROR(read_convolution(context, args, nullptr, b->result, &b->c));
  if (b->c.out->sizes() != convolution_sizes(b->c).span()) {
    return context.fail(Error::kInvalidArgument, "grad_output does not have the sizes of the convolution's result");
  }
  if (!is_floating(b->c.input->dtype())) return unsupported_dtype(context);
  read_convolution_strides(&b->c);
  const Span<const bool> mask = args.output_mask;
  if (mask.size() != 3) return context.fail(Error::kInvalidArgument, "output_mask needs three entries");
  for (size_t i = 0; i < 3; ++i) b->wanted[i] = mask[i];
  b->grad_input = &args.out0;
  b->grad_weight = &args.out1;
  b->grad_bias = &args.out2;
  BERTH_RETURN_IF_ERROR(check_memory(context, *b->c.input, *b->c.weight));
  return check_memory(context, *b->c.out);
}

}  // namespace

// What output_mask does not ask for is left as it is.
Error convolution_backward_out(KernelContext& context, const arguments::convolution_backward_out& args) {
  Backward b;
  BERTH_RETURN_IF_ERROR(read_backward(context, args, &b));
  BERTH_RETURN_IF_ERROR(resize_wanted(context, b));
  return dispatch_floating(context, b.c.input->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (b.wanted[0] && b.grad_input->numel() != 0) run_input<T>(context, b);
    if (b.wanted[1] && b.grad_weight->numel() != 0) run_weight<T>(context, b);
    if (b.wanted[2]) run_bias<T>(b);
    return Error::kOk;
  });
}

}  // namespace berth::portable
