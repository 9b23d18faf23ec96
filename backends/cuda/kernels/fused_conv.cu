// berth::conv: activation(convolution(input, weight) + bias + residual). Convolutions of single channels are computed
// here, large products of matrices by cuBLASLt, other convolutions of one group on tensor cores (tensor_product.h), and
// the rest by cuDNN; libraries are followed by one pass over the result. Without such a device or library, and for
// other layouts, by this room's plain product.
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/finish.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "backends/cuda/kernels/tensor_product.h"
#include "backends/cuda/libraries.h"
#include "base/result.h"
#include "kernels/portable/fused_conv.h"

namespace berth::cuda {
namespace {

using portable::Convolution;
using portable::Product;

// One channel in and out a group; every tensor row-major. A thread an element.
struct DepthwiseBody {
  struct Axis {
    int32_t in, out, kernel, stride, padding, dilation;
  };
  const float* input;
  const float* weight;
  Axis y, x;
  int32_t channels;
  Finish finish;

  BERTH_HD void operator()(int64_t i) const {
    const Division by_x = divide(i, x.out);
    const Division by_y = divide(by_x.quotient, y.out);
    const auto channel = static_cast<int32_t>(divide(by_y.quotient, channels).rest);
    const float* image = input + by_y.quotient * y.in * x.in;
    const float* taps = weight + channel * y.kernel * x.kernel;
    const int32_t from_y = static_cast<int32_t>(by_y.rest) * y.stride - y.padding;
    const int32_t from_x = static_cast<int32_t>(by_x.rest) * x.stride - x.padding;
    float sum = 0;
    for (int32_t j = 0; j < y.kernel; ++j) {
      const int32_t row = from_y + j * y.dilation;
      if (row < 0 || row >= y.in) continue;
      for (int32_t k = 0; k < x.kernel; ++k) {
        const int32_t column = from_x + k * x.dilation;
        if (column >= 0 && column < x.in) sum += image[row * x.in + column] * taps[j * x.kernel + k];
      }
    }
    if (finish.bias != nullptr) sum += finish.bias[channel];
    if (finish.residual != nullptr) sum += finish.residual[i];
    finish.out[i] = activated(finish.activation, sum);
  }
};

bool is_row_major(const Convolution& c) {
  return c.input->is_contiguous() && c.weight->is_contiguous() && c.out->is_contiguous();
}

bool is_depthwise(const Convolution& c) {
  const bool single = c.in_channels == 1 && c.out_channels == 1;
  bool small = c.input->numel() <= INT32_MAX && c.weight->numel() <= INT32_MAX && c.out->numel() <= INT32_MAX;
  for (const Convolution::Axis& axis : c.axis) small = small && axis.in + 2 * axis.padding <= INT32_MAX;
  return single && small && !c.transposed && c.spatial < 3 && is_row_major(c);
}

Error run_depthwise(KernelContext& context, const Convolution& c, const Finish& finish) {
  const auto axis = [](const Convolution::Axis& from) -> DepthwiseBody::Axis {
    const auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    return {number(from.in),     number(from.out),     number(from.kernel),
            number(from.stride), number(from.padding), number(from.dilation)};
  };
  const DepthwiseBody body = {c.input->data<float>(), c.weight->data<float>(),        axis(c.axis[1]),
                              axis(c.axis[2]),        static_cast<int32_t>(c.groups), finish};
  return for_each(context, c.out->numel(), body);
}

int64_t plane_of(const Convolution& c) { return c.axis[0].out * c.axis[1].out * c.axis[2].out; }

// Whether each image is a product of the weight with it.
bool is_pointwise(const Convolution& c) {
  for (const Convolution::Axis& axis : c.axis) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.padding != 0) return false;
  }
  return c.groups == 1 && !c.transposed;
}

Product pointwise_product(const Convolution& c, const float* residual) {
  const int64_t plane = plane_of(c);
  Product p = portable::matrix_product(c.out_channels, plane, c.in_channels, c.weight->raw(), c.in_channels, 1,
                                       c.input->raw(), plane, 1, c.out->raw(), plane, 1);
  p.batch[0] = {c.batch, 0, c.in_channels * plane, c.out_channels * plane, c.out_channels * plane};
  p.start = residual;
  p.start_row = plane;
  p.start_column = 1;
  return p;
}

// Whether it takes long enough that what cuBLASLt's larger tiles save is more than a pass over the result costs.
bool is_large(const Convolution& c) {
  constexpr int64_t kLarge = int64_t{1} << 28;
  const int64_t inputs = c.batch * c.in_channels * plane_of(c);
  return inputs >= kLarge / c.out_channels;
}

bool fits(int64_t n) { return n <= INT32_MAX / 4; }

// Whether each element of the input gives a square of the result that no other one has a part in.
bool has_squares(const Convolution& c) {
  for (const Convolution::Axis& axis : c.axis) {
    if (axis.kernel != axis.stride || axis.padding != 0 || axis.dilation != 1 || axis.output_padding != 0) return false;
  }
  return c.transposed;
}

// A transposed convolution as a product of the weight, whose rows are channels and places in squares, with each image.
bool try_squares(KernelContext& context, const Convolution& c, const Finish& finish, Error* error) {
  const int64_t square = c.axis[1].kernel * c.axis[2].kernel;
  const int64_t pixels = c.axis[1].in * c.axis[2].in;
  if (!fits(c.batch) || !fits(c.in_channels) || !fits(c.out_channels * square) || !fits(plane_of(c))) return false;
  TensorProduct p;
  p.rows = static_cast<int32_t>(c.out_channels * square);
  p.a = c.weight->data<float>();
  p.depth_a = p.rows;
  p.depth = static_cast<int32_t>(c.in_channels);
  p.b = c.input->data<float>();
  p.images = static_cast<int32_t>(c.batch);
  p.columns = static_cast<int32_t>(pixels);
  p.depth_b = pixels;
  p.image_b = c.in_channels * pixels;
  p.squares = {static_cast<int32_t>(c.axis[1].kernel), static_cast<int32_t>(c.axis[2].kernel),
               static_cast<int32_t>(c.axis[2].in)};
  p.row_out = plane_of(c);
  p.image_out = c.out_channels * p.row_out;
  p.finish = finish;
  p.bias_by_row = true;
  return launch_tensor_product(context, p, error);
}

// On tensor cores, finished as it is computed.
bool try_tensor_cores(KernelContext& context, const Convolution& c, Finish finish, Error* error) {
  const int64_t taps = c.axis[1].kernel * c.axis[2].kernel;
  if (c.groups != 1 || c.spatial > 2 || !is_row_major(c)) return false;
  if (c.transposed) return has_squares(c) && try_squares(context, c, finish, error);
  if (!fits(c.batch) || !fits(c.in_channels * taps) || !fits(plane_of(c))) return false;
  TensorProduct p;
  p.a = c.weight->data<float>();
  p.rows = static_cast<int32_t>(c.out_channels);
  p.depth = static_cast<int32_t>(c.in_channels * taps);
  p.row_a = p.depth;
  p.b = c.input->data<float>();
  p.images = static_cast<int32_t>(c.batch);
  p.columns = static_cast<int32_t>(plane_of(c));
  p.depth_b = c.axis[1].in * c.axis[2].in;
  p.image_b = c.in_channels * p.depth_b;
  p.has_taps = !is_pointwise(c);
  TensorProduct::Axis* const axes[] = {&p.y, &p.x};
  for (int i = 0; i < 2; ++i) {
    const Convolution::Axis& from = c.axis[1 + i];
    const auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    if (!fits(from.in) || !fits(from.padding) || !fits(from.kernel * from.dilation) || !fits(from.out * from.stride)) {
      return false;
    }
    *axes[i] = {number(from.in),     number(from.out),     number(from.kernel),
                number(from.stride), number(from.padding), number(from.dilation)};
  }
  p.row_out = p.columns;
  p.image_out = c.out_channels * p.columns;
  p.finish = finish;
  p.bias_by_row = true;
  return launch_tensor_product(context, p, error);
}

// By a library, and a pass that adds what it did not. False when none takes it, and nothing was queued.
bool try_libraries(KernelContext& context, Convolution c, Finish finish, Error* error) {
  Libraries* libraries = queue_of(context).libraries;
  if (libraries == nullptr || !is_row_major(c)) return false;
  c.bias = nullptr;
  const bool in_place = finish.residual == finish.out;
  if (is_pointwise(c) && libraries->product(pointwise_product(c, finish.residual))) {
    finish.residual = nullptr;
  } else if (libraries->convolution(c, in_place)) {
    if (in_place) finish.residual = nullptr;
  } else {
    return false;
  }
  *error = run_finish(context, finish, c.out->numel());
  return true;
}

Error run_own(KernelContext& context, const Convolution& c, const Finish& finish) {
  if (!c.transposed) return run_own_product(context, portable::forward_product(c), finish);
  const auto phases = [&](int axis) {
    return c.axis[axis].stride < c.axis[axis].out ? c.axis[axis].stride : c.axis[axis].out;
  };
  for (int64_t z = 0; z < phases(0); ++z) {
    for (int64_t y = 0; y < phases(1); ++y) {
      for (int64_t x = 0; x < phases(2); ++x) {
        BERTH_RETURN_IF_ERROR(run_own_product(context, portable::transposed_product(c, {z, y, x}), finish));
      }
    }
  }
  return Error::kOk;
}

}  // namespace

Error fused_conv_out(KernelContext& context, const arguments::fused_conv_out& args) {
  Convolution c;
  Finish finish;
  BERTH_RETURN_IF_ERROR(portable::read_fused_conv(context, args, &c, &finish.activation));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.input, args.weight));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.out));
  if (args.bias != nullptr) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.bias));
  if (args.out.numel() == 0) return Error::kOk;
  portable::read_convolution_strides(&c);
  finish.out = args.out.data<float>();
  finish.bias = args.bias == nullptr ? nullptr : args.bias->data<float>();
  finish.plane = plane_of(c);
  finish.channels = c.out_channels * c.groups;
  const bool same_order = args.residual == nullptr || portable::same_layout(*args.residual, args.out);
  if (args.residual != nullptr && same_order) finish.residual = args.residual->data<float>();
  if (same_order) {
    if (is_depthwise(c)) return run_depthwise(context, c, finish);
    Error error = Error::kOk;
    const bool library_first = is_pointwise(c) && is_large(c);
    if (library_first && try_libraries(context, c, finish, &error)) return error;
    if (try_tensor_cores(context, c, finish, &error)) return error;
    if (!library_first && try_libraries(context, c, finish, &error)) return error;
    return run_own(context, c, finish);
  }
  // A residual in another order: added by a walk over both.
  Finish nothing;
  nothing.out = finish.out;
  BERTH_RETURN_IF_ERROR(run_own(context, c, nothing));
  const Tensor* const tensors[] = {&args.out, &args.out, args.residual};
  const portable::Walk walk = portable::walk_broadcast(tensors);
  BERTH_RETURN_IF_ERROR(
      run_boxes(context, Op::kAdd, DType::kF32, walk, args.out.raw(), args.out.raw(), args.residual->raw()));
  finish.bias = nullptr;  // the product's start
  return run_finish(context, finish, args.out.numel());
}

}  // namespace berth::cuda
