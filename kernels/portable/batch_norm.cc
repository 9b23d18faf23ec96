// _native_batch_norm_legit_no_training: y = (x - mean[c]) / sqrt(var[c] + eps) * weight[c] + bias[c] with the running
// statistics. The second and third output, batch statistics of training, are empty.
#include "kernels/portable/batch_norm.h"

#include <cmath>

#include "base/result.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 16384;
constexpr int64_t kChannels = 256;

// y = x * scale + shift in this channel.
void channel_affine(const BatchNorm& norm, int64_t channel, double* scale, double* shift) {
  const double spread = element_or(&norm.spread, channel, 1);
  const double rstd = norm.spread_is_rstd ? spread : 1 / std::sqrt(spread + norm.eps);
  *scale = rstd * element_or(norm.weight, channel, 1);
  *shift = element_or(norm.bias, channel, 0) - element_or(&norm.mean, channel, 0) * *scale;
}
void channel_affine(const BatchNorm& norm, int64_t channel, float* scale, float* shift) {
  double exact_scale = 0;
  double exact_shift = 0;
  channel_affine(norm, channel, &exact_scale, &exact_shift);
  *scale = static_cast<float>(exact_scale);
  *shift = static_cast<float>(exact_shift);
}

BERTH_MULTIVERSION void affine_channels(const float* x, float* y, int64_t n, const float* scale, const float* shift) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale[i] + shift[i];
}

// Channels are the innermost dimension of both, `pixels` of them.
void run_channels_last(KernelContext& context, const BatchNorm& norm, int64_t pixels) {
  const int64_t channels = norm.channels();
  context.parallel_for(pixels, kGrainElements / channels + 1, [&](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < channels; first += kChannels) {
      const int64_t count = channels - first < kChannels ? channels - first : kChannels;
      float scale[kChannels];
      float shift[kChannels];
      for (int64_t c = 0; c < count; ++c) channel_affine(norm, first + c, &scale[c], &shift[c]);
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        const int64_t offset = pixel * channels + first;
        affine_channels(norm.input.data<float>() + offset, norm.out.data<float>() + offset, count, scale, shift);
      }
    }
  });
}

// One channel of one image is a row.
void run_dense(KernelContext& context, const BatchNorm& norm, int64_t plane) {
  context.parallel_for(norm.input.size(0) * norm.channels(), kGrainElements / plane + 1,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           float scale = 0;
                           float shift = 0;
                           channel_affine(norm, i % norm.channels(), &scale, &shift);
                           scale_shift_f32(norm.input.data<float>() + i * plane, norm.out.data<float>() + i * plane,
                                           plane, scale, shift);
                         }
                       });
}

void run_any_channel(const BatchNorm& norm, const RowReader& reader, const RowReader& writer, int64_t channel) {
  double scale = 0;
  double shift = 0;
  channel_affine(norm, channel, &scale, &shift);
  const char* x =
      norm.input.data<char>() + channel * norm.input.stride(1) * static_cast<int64_t>(element_size(norm.input.dtype()));
  char* y = norm.out.data<char>() + channel * norm.out.stride(1) * static_cast<int64_t>(element_size(norm.out.dtype()));
  for (int64_t i = 0; i < reader.walk.count; i += RowReader::kChunk) {
    const int64_t n = reader.walk.count - i < RowReader::kChunk ? reader.walk.count - i : RowReader::kChunk;
    double values[RowReader::kChunk];
    reader.load(x, i, n, values);
    for (int64_t j = 0; j < n; ++j) values[j] = values[j] * scale + shift;
    writer.store(y, i, n, values);
  }
}

void run_any(KernelContext& context, const BatchNorm& norm) {
  const uint32_t other_dims = ~uint32_t{2};
  const Tensor* tensors[] = {&norm.out, &norm.input};
  const Walk walk = walk_dims(tensors, other_dims);
  const RowReader reader = {norm.input.dtype(), operand_walk(walk, 1)};
  const RowReader writer = {norm.out.dtype(), operand_walk(walk, 0)};
  context.parallel_for(norm.channels(), kGrainElements / walk.count + 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) run_any_channel(norm, reader, writer, channel);
  });
}

}  // namespace

Error check_statistics(KernelContext& context, const BatchNorm& norm, const Tensor& statistics) {
  if (statistics.rank() == 1 && statistics.size(0) == norm.channels() && is_floating(statistics.dtype())) {
    return Error::kOk;
  }
  return context.fail(Error::kInvalidArgument,
                      "weight, bias and statistics must be floating and have one element a channel");
}

Error prepare_batch_norm(KernelContext& context, const BatchNorm& norm) {
  if (norm.input.rank() < 2) {
    return context.fail(Error::kInvalidArgument, "batch_norm takes tensors of at least two dimensions");
  }
  for (const Tensor* tensor : {norm.weight, norm.bias}) {
    if (tensor != nullptr) BERTH_RETURN_IF_ERROR(check_statistics(context, norm, *tensor));
  }
  if (!is_floating(norm.input.dtype()) || !is_floating(norm.out.dtype())) {
    return context.fail(Error::kInvalidArgument, "batch_norm takes floating-point tensors only");
  }
  return resize_out(context, norm.out, norm.input.sizes());
}

void run_batch_norm(KernelContext& context, const BatchNorm& norm) {
  if (norm.out.numel() == 0) return;
  const bool f32 = norm.input.dtype() == DType::kF32 && norm.out.dtype() == DType::kF32;
  const int rank = norm.input.rank();
  const int64_t plane = norm.input.numel() / (norm.input.size(0) * norm.channels());
  const bool channels_last = norm.input.dim_order()[rank - 1] == 1;
  if (f32 && norm.input.is_contiguous() && norm.out.is_contiguous()) {
    run_dense(context, norm, plane);
  } else if (f32 && channels_last && same_layout(norm.input, norm.out)) {
    run_channels_last(context, norm, norm.input.numel() / norm.channels());
  } else {
    run_any(context, norm);
  }
}

Error native_batch_norm_legit_no_training_out(KernelContext& context,
                                              const arguments::native_batch_norm_legit_no_training_out& args) {
  const BatchNorm norm = {args.input,       args.weight, args.bias, args.running_mean,
                          args.running_var, false,       args.eps,  args.out0};
  BERTH_RETURN_IF_ERROR(prepare_batch_norm(context, norm));
  BERTH_RETURN_IF_ERROR(check_statistics(context, norm, norm.mean));
  BERTH_RETURN_IF_ERROR(check_statistics(context, norm, norm.spread));
  const int32_t none[] = {0};
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out1, none));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out2, none));
  run_batch_norm(context, norm);
  return Error::kOk;
}

}  // namespace berth::portable
