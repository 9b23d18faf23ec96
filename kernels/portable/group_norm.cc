// native_group_norm: the channels of each image in groups, each group brought to mean 0 and variance 1, then scaled and
// shifted channel by channel. Outputs: the result [N, C, …], and mean and reciprocal deviation [N, groups].
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 8192;

struct GroupNorm {
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  int64_t groups;
  double eps;
  Tensor& out;
  Tensor& mean;
  Tensor& rstd;

  int64_t images() const { return input.size(0); }
  int64_t channels() const { return input.size(1); }
  int64_t group_channels() const { return channels() / groups; }
  int64_t plane() const { return input.numel() / (images() * channels()); }

  // y = x * scale + shift in this channel.
  void channel_affine(int64_t channel, Moments moments, double* scale, double* shift) const {
    *scale = moments.rstd * element_or(weight, channel, 1);
    *shift = element_or(bias, channel, 0) - moments.mean * *scale;
  }
};

Error check(KernelContext& context, const arguments::native_group_norm_out& args, const GroupNorm& norm) {
  const Tensor& input = norm.input;
  const bool sizes_match = input.rank() >= 2 && input.size(0) == args.N && input.size(1) == args.C && norm.groups > 0 &&
                           input.size(1) % norm.groups == 0;
  if (!sizes_match) {
    return context.fail(Error::kInvalidArgument, "N and C must be the input's sizes, and groups must divide C");
  }
  for (const Tensor* affine : {norm.weight, norm.bias}) {
    if (affine != nullptr && (affine->rank() != 1 || affine->size(0) != input.size(1))) {
      return context.fail(Error::kInvalidArgument, "weight and bias must have one element a channel");
    }
  }
  for (const Tensor* tensor : {&input, static_cast<const Tensor*>(&norm.out), static_cast<const Tensor*>(&norm.mean),
                               static_cast<const Tensor*>(&norm.rstd), norm.weight, norm.bias}) {
    if (tensor != nullptr && !is_floating(tensor->dtype())) {
      return context.fail(Error::kInvalidArgument, "group_norm takes floating-point tensors only");
    }
  }
  return Error::kOk;
}

Error resize_outputs(KernelContext& context, const GroupNorm& norm) {
  const int32_t sizes[] = {static_cast<int32_t>(norm.images()), static_cast<int32_t>(norm.groups)};
  Error error = resize_out(context, norm.out, norm.input.sizes());
  if (error == Error::kOk) error = resize_out(context, norm.mean, sizes);
  if (error == Error::kOk) error = resize_out(context, norm.rstd, sizes);
  return error;
}

void store_moments(const GroupNorm& norm, int64_t image, int64_t group, Moments moments) {
  store_element(norm.mean, image * norm.mean.stride(0) + group * norm.mean.stride(1), moments.mean);
  store_element(norm.rstd, image * norm.rstd.stride(0) + group * norm.rstd.stride(1), moments.rstd);
}

void run_dense_group(const GroupNorm& norm, int64_t image, int64_t group) {
  const int64_t plane = norm.plane();
  const int64_t first = group * norm.group_channels();
  const int64_t offset = (image * norm.channels() + first) * plane;
  const float* x = norm.input.data<float>() + offset;
  float* y = norm.out.data<float>() + offset;
  const Moments moments = moments_f32(x, norm.group_channels() * plane, norm.eps);
  for (int64_t c = 0; c < norm.group_channels(); ++c) {
    double scale = 0;
    double shift = 0;
    norm.channel_affine(first + c, moments, &scale, &shift);
    scale_shift_f32(x + c * plane, y + c * plane, plane, static_cast<float>(scale), static_cast<float>(shift));
  }
  store_moments(norm, image, group, moments);
}

// The walk over one image's group, or over one of its channels, of one tensor.
Walk part_walk(const Tensor& tensor, int64_t channels) {
  Walk walk(1);
  const int64_t channel_stride = tensor.stride(1);
  walk.add(channels, &channel_stride);
  for (int d = 2; d < tensor.rank(); ++d) {
    const int64_t stride = tensor.stride(d);
    walk.add(tensor.size(d), &stride);
  }
  return walk;
}

void run_any_group(const GroupNorm& norm, const RowReader& whole, const RowReader& reader, const RowReader& writer,
                   int64_t image, int64_t group) {
  const auto x_at = [&](int64_t channel) {
    const int64_t offset = image * norm.input.stride(0) + channel * norm.input.stride(1);
    return norm.input.data<char>() + offset * static_cast<int64_t>(element_size(norm.input.dtype()));
  };
  const auto y_at = [&](int64_t channel) {
    const int64_t offset = image * norm.out.stride(0) + channel * norm.out.stride(1);
    return norm.out.data<char>() + offset * static_cast<int64_t>(element_size(norm.out.dtype()));
  };
  const int64_t first = group * norm.group_channels();
  const Moments moments = whole.moments(x_at(first), norm.eps);
  for (int64_t channel = first; channel < first + norm.group_channels(); ++channel) {
    double scale = 0;
    double shift = 0;
    norm.channel_affine(channel, moments, &scale, &shift);
    for (int64_t i = 0; i < reader.walk.count; i += RowReader::kChunk) {
      const int64_t n = reader.walk.count - i < RowReader::kChunk ? reader.walk.count - i : RowReader::kChunk;
      double values[RowReader::kChunk];
      reader.load(x_at(channel), i, n, values);
      for (int64_t j = 0; j < n; ++j) values[j] = values[j] * scale + shift;
      writer.store(y_at(channel), i, n, values);
    }
  }
  store_moments(norm, image, group, moments);
}

void run(KernelContext& context, const GroupNorm& norm) {
  const bool dense = norm.input.dtype() == DType::kF32 && norm.out.dtype() == DType::kF32 &&
                     norm.input.is_contiguous() && norm.out.is_contiguous();
  const RowReader whole = {norm.input.dtype(), part_walk(norm.input, norm.group_channels())};
  const RowReader reader = {norm.input.dtype(), part_walk(norm.input, 1)};
  const RowReader writer = {norm.out.dtype(), part_walk(norm.out, 1)};
  const int64_t grain = kGrainElements / (norm.group_channels() * norm.plane() + 1) + 1;
  context.parallel_for(norm.images() * norm.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (dense) run_dense_group(norm, i / norm.groups, i % norm.groups);
      if (!dense) run_any_group(norm, whole, reader, writer, i / norm.groups, i % norm.groups);
    }
  });
}

}  // namespace

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args) {
  const GroupNorm norm = {args.input, args.weight, args.bias, args.group, args.eps, args.out0, args.out1, args.out2};
  Error error = check(context, args, norm);
  if (error == Error::kOk) error = resize_outputs(context, norm);
  if (error != Error::kOk) return error;
  if (norm.images() * norm.channels() != 0) run(context, norm);
  return Error::kOk;
}

}  // namespace berth::portable
