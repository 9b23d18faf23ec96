// What is done plane by plane: pooling and resampling.
#include <algorithm>

#include "backends/vulkan/kernels/chain.h"
#include "backends/vulkan/kernels/kernels.h"
#include "kernels/portable/pool_arguments.h"
#include "kernels/portable/upsample_arguments.h"

namespace berth::vulkan {
namespace {

using portable::Pooling;
using portable::WindowLists;

// As in pool.comp.
enum Kind { kLargest, kMean, kAdaptiveMean };
// As in upsample.comp.
enum Resampling { kNearest, kBilinear, kCornersAligned };

// Strides of batch, channel, row and column of images with or without a batch.
void put_strides(Launch& ask, const Tensor& tensor) {
  for (int d = tensor.rank() - 4; d < tensor.rank(); ++d) ask.number(d < 0 ? 0 : tensor.stride(d));
}

// What fusion moves (compiler/fuse/move_quantization.h).
bool are_bytes(const Tensor& input, const Tensor& out) { return input.dtype() == out.dtype() && is_byte(out.dtype()); }

struct Means {
  bool pads_count = true;
  int64_t divisor = 0;
};

Error pool(KernelContext& context, const Pooling& p, Kind kind, const Tensor* indices, Means means) {
  const Tensor* const both[] = {p.input, p.out};
  const bool bytes = kind == kLargest && are_bytes(*p.input, *p.out);
  if (!bytes) BERTH_RETURN_IF_ERROR(require_floats(context, both));
  Launch ask = bytes ? Launch::of_any_type(context, ShaderId::pool_typed, ShaderId::pool_typed)
                     : Launch(context, ShaderId::pool, ShaderId::pool_texels);
  ask.constant(kind).constant(indices != nullptr ? 1 : 0);
  ask.writes(*p.out).reads(*p.input);
  if (indices != nullptr) {
    ask.writes(*indices);
  } else {
    ask.none();
  }
  ask.number(p.channels);
  for (const portable::WindowAxis& axis : p.axis) {
    ask.number(axis.in).number(axis.out).number(axis.kernel).number(axis.stride).number(axis.padding);
    ask.number(axis.dilation);
    // What the kernel computes with on the way.
    ask.check((axis.out + 1) * axis.in + axis.out).check(axis.out * axis.stride + axis.kernel * axis.dilation);
  }
  int64_t window[2];  // at most
  for (int k = 0; k < 2; ++k) {
    const portable::WindowAxis& axis = p.axis[k];
    window[k] = kind == kAdaptiveMean ? axis.in / std::max<int64_t>(axis.out, 1) + 2 : axis.kernel;
  }
  ask.rounds(window[0] * (1 + window[1]));
  put_strides(ask, *p.input);
  put_strides(ask, *p.out);
  if (indices != nullptr) {
    put_strides(ask, *indices);
    ask.check(2 * indices->numel());
  } else {
    ask.number(0).number(0).number(0).number(0);
  }
  ask.number(means.pads_count ? 1 : 0).number(means.divisor);
  return ask.run(p.out->numel());
}

Error upsample(KernelContext& context, const portable::Upsampling& u, Resampling kind, const float (&step)[2]) {
  const Tensor* const both[] = {u.input, u.out};
  const bool bytes = kind == kNearest && are_bytes(*u.input, *u.out);
  if (!bytes) BERTH_RETURN_IF_ERROR(require_floats(context, both));
  Launch ask = bytes ? Launch::of_any_type(context, ShaderId::upsample_typed, ShaderId::upsample_typed)
                     : Launch(context, ShaderId::upsample, ShaderId::upsample_texels);
  ask.constant(kind).writes(*u.out).reads(*u.input).number(u.channels);
  ask.number(u.axis[0].in).number(u.axis[1].in).number(u.axis[0].out).number(u.axis[1].out);
  ask.real(step[0]).real(step[1]);
  put_strides(ask, *u.input);
  put_strides(ask, *u.out);
  return ask.run(u.out->numel());
}

float step_of(const portable::WindowAxis& axis, double factor) {
  return factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(axis.in) / static_cast<float>(axis.out);
}

}  // namespace

Error avg_pool2d_out(KernelContext& context, const arguments::avg_pool2d_out& args) {
  Pooling p;
  const WindowLists lists = {args.kernel_size, args.stride, args.padding, std::nullopt, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(portable::read_pooling(context, args.self, lists, args.out, &p));
  const int64_t divisor = args.divisor_override.value_or(0);
  if (divisor == 0 && args.divisor_override.has_value()) {
    return context.fail(Error::kInvalidArgument, "average pooling's divisor is 0");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, portable::pooling_sizes(p).span()));
  return pool(context, p, kMean, nullptr, {args.count_include_pad, divisor});
}

Error max_pool2d_with_indices_out(KernelContext& context, const arguments::max_pool2d_with_indices_out& args) {
  Tensor& indices = args.indices;
  Pooling p;
  const WindowLists lists = {args.kernel_size, args.stride, args.padding, args.dilation, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(portable::read_pooling(context, args.self, lists, args.out, &p));
  if (indices.dtype() != DType::kI64 || indices.rank() != args.out.rank()) {
    return context.fail(Error::kInvalidArgument, "max pooling's indices are i64, of the output's rank");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, portable::pooling_sizes(p).span()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, indices, portable::pooling_sizes(p).span()));
  return pool(context, p, kLargest, indices.raw() == nullptr ? nullptr : &indices, {});
}

Error adaptive_avg_pool2d_out(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args) {
  Pooling p;
  BERTH_RETURN_IF_ERROR(portable::prepare_adaptive_pooling(context, args, &p));
  return pool(context, p, kAdaptiveMean, nullptr, {});
}

Error upsample_nearest2d_vec_out(KernelContext& context, const arguments::upsample_nearest2d_vec_out& args) {
  portable::Upsampling u;
  BERTH_RETURN_IF_ERROR(
      portable::read_upsampling(context, args.input, args.output_size, args.scale_factors, args.out, &u));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, portable::pooling_sizes(u).span()));
  return upsample(context, u, kNearest, {step_of(u.axis[0], u.factor[0]), step_of(u.axis[1], u.factor[1])});
}

Error upsample_bilinear2d_vec_out(KernelContext& context, const arguments::upsample_bilinear2d_vec_out& args) {
  portable::Upsampling u;
  BERTH_RETURN_IF_ERROR(
      portable::read_upsampling(context, args.input, args.output_size, args.scale_factors, args.out, &u));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, portable::pooling_sizes(u).span()));
  if (!args.align_corners) {
    return upsample(context, u, kBilinear, {step_of(u.axis[0], u.factor[0]), step_of(u.axis[1], u.factor[1])});
  }
  float step[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    if (u.axis[k].out > 1) step[k] = static_cast<float>(u.axis[k].in - 1) / static_cast<float>(u.axis[k].out - 1);
  }
  return upsample(context, u, kCornersAligned, step);
}

}  // namespace berth::vulkan
