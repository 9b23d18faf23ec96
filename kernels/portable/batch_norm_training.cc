// _native_batch_norm_legit: batch_norm with the statistics of the batch, which are results too. Where there are running
// statistics, these move towards them by `momentum` (the variance as that of a sample). Without training it is what
// _native_batch_norm_legit_no_training is.
#include <cmath>

#include "kernels/portable/batch_norm.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 16384;

struct Running {
  Tensor* mean = nullptr;  // null: none
  Tensor* variance = nullptr;
  double momentum = 0;

  void move(Tensor& tensor, int64_t channel, double value) const {
    store_element(tensor, channel, (1 - momentum) * element_or(&tensor, channel, 0) + momentum * value);
  }
};

// REQUIRES: the input has elements.
void find_statistics(KernelContext& context, const BatchNorm& norm, const Running& running, Tensor& mean,
                     Tensor& rstd) {
  const uint32_t other_dims = ~uint32_t{2};
  const Tensor* tensors[] = {&norm.input};
  const RowReader reader = {norm.input.dtype(), walk_dims(tensors, other_dims)};
  const int64_t stride = norm.input.stride(1) * static_cast<int64_t>(element_size(norm.input.dtype()));
  const double n = static_cast<double>(reader.walk.count);
  context.parallel_for(norm.channels(), kGrainElements / reader.walk.count + 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const Moments moments = reader.moments(norm.input.data<char>() + c * stride, 0);
      const double variance = 1 / (moments.rstd * moments.rstd);  // infinity gives back 0
      store_element(mean, c, moments.mean);
      store_element(rstd, c, 1 / std::sqrt(variance + norm.eps));
      if (running.mean == nullptr) continue;
      running.move(*running.mean, c, moments.mean);
      running.move(*running.variance, c, variance * n / (n - 1));
    }
  });
}

Error train(KernelContext& context, const BatchNorm& norm, const Running& running, Tensor& mean, Tensor& rstd) {
  BERTH_RETURN_IF_ERROR(prepare_batch_norm(context, norm));
  const int32_t channels[] = {norm.input.sizes()[1]};
  for (Tensor* statistics : {&mean, &rstd}) {
    if (!is_floating(statistics->dtype())) return unsupported_dtype(context);
    BERTH_RETURN_IF_ERROR(resize_out(context, *statistics, channels));
    BERTH_RETURN_IF_ERROR(check_memory(context, *statistics));
  }
  if (norm.input.numel() == 0) {
    for (int64_t c = 0; c < norm.channels(); ++c) {
      store_element(mean, c, NAN);
      store_element(rstd, c, NAN);
    }
    return Error::kOk;
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, norm.input, norm.out));
  find_statistics(context, norm, running, mean, rstd);
  run_batch_norm(context, norm);
  return Error::kOk;
}

}  // namespace

Error native_batch_norm_legit_out(KernelContext& context, const arguments::native_batch_norm_legit_out& args) {
  Tensor& running_mean = args.running_mean;
  Tensor& running_variance = args.running_var;
  Tensor& mean = args.save_mean;
  Tensor& rstd = args.save_invstd;
  const bool training = args.training;
  const BatchNorm norm = {
      args.input, args.weight, args.bias, training ? mean : running_mean, training ? rstd : running_variance,
      training,   args.eps,    args.out};
  BERTH_RETURN_IF_ERROR(prepare_batch_norm(context, norm));
  BERTH_RETURN_IF_ERROR(check_statistics(context, norm, running_mean));
  BERTH_RETURN_IF_ERROR(check_statistics(context, norm, running_variance));
  BERTH_RETURN_IF_ERROR(check_memory(context, running_mean, running_variance));
  if (training) {
    return train(context, norm, {&running_mean, &running_variance, args.momentum}, mean, rstd);
  }
  const int32_t none[] = {0};
  BERTH_RETURN_IF_ERROR(resize_out(context, mean, none));
  BERTH_RETURN_IF_ERROR(resize_out(context, rstd, none));
  run_batch_norm(context, norm);
  return Error::kOk;
}

Error native_batch_norm_legit_no_stats_out(KernelContext& context,
                                           const arguments::native_batch_norm_legit_no_stats_out& args) {
  if (!args.training) {
    return context.fail(Error::kInvalidArgument, "batch_norm without running statistics is for training alone");
  }
  Tensor& mean = args.save_mean;
  Tensor& rstd = args.save_invstd;
  const BatchNorm norm = {args.input, args.weight, args.bias, mean, rstd, true, args.eps, args.out};
  return train(context, norm, Running(), mean, rstd);
}

}  // namespace berth::portable
