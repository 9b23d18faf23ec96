#include "kernels/cpu/norm.h"

#include <algorithm>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/row_norm.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

// Elements of a norm that are worth another thread: about two microseconds of work.
constexpr int64_t kGrainElements = 1 << 13;

bool matches(const Tensor* affine, const Tensor& input, int leading) {
  if (affine == nullptr) return true;
  bool same = are_dense_f32(*affine) && affine->rank() == input.rank() - leading && affine->raw() != nullptr;
  for (int d = 0; same && d < affine->rank(); ++d) same = affine->size(d) == input.size(leading + d);
  return same;
}

// The sizes of mean and rstd: 1 in the dimensions that are normalised.
portable::Sizes moment_sizes(const Tensor& input, int leading) {
  portable::Sizes sizes = portable::sizes_of(input);
  for (int d = leading; d < sizes.rank; ++d) sizes.data[d] = 1;
  return sizes;
}

using RowsFunction = void (*)(const float* x, int64_t rows, int64_t n, float* y);

template <typename Args>
Error run_softmax(KernelContext& context, const Args& args, RowsFunction function,
                  Error (*portable_kernel)(KernelContext&, const Args&)) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  const int64_t dim = args.dim;
  int normal = 0;
  const bool rows = self.dtype() == DType::kF32 && out.dtype() == DType::kF32 && self.numel() > 0 && self.rank() > 0 &&
                    portable::normalize_dim(dim, self.rank(), &normal) && self.dim_order()[self.rank() - 1] == normal &&
                    self.dim_order() == out.dim_order();
  if (!rows) return portable_kernel(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  const int64_t n = self.size(normal);
  context.parallel_for(self.numel() / n, std::max<int64_t>(1, kGrainElements / n), [&](int64_t begin, int64_t end) {
    function(self.data<float>() + begin * n, end - begin, n, out.data<float>() + begin * n);
  });
  return Error::kOk;
}

}  // namespace

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args) {
  const Tensor& input = args.input;
  const Tensor* weight = args.weight;
  const Tensor* bias = args.bias;
  Tensor& out = args.out0;
  Tensor& mean = args.out1;
  Tensor& rstd = args.out2;
  const IntList shape = args.normalized_shape;
  const int leading = input.rank() - static_cast<int>(shape.size());
  bool fast = leading >= 0 && leading < input.rank() && input.numel() > 0 && are_dense_f32(input, out, mean, rstd) &&
              matches(weight, input, leading) && matches(bias, input, leading);
  for (size_t i = 0; fast && i < shape.size(); ++i) fast = shape[i] == input.size(leading + static_cast<int>(i));
  if (!fast) return portable::native_layer_norm_out(context, args);
  const portable::Sizes moments = moment_sizes(input, leading);
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, input, out, portable::sizes_of(input)));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, mean, moments.span()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, rstd, moments.span()));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, mean, rstd));
  const int64_t n = input.numel() / mean.numel();
  const auto eps = static_cast<float>(args.eps);
  context.parallel_for(mean.numel(), std::max<int64_t>(1, kGrainElements / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      normalize_row(input.data<float>() + i * n, n, eps, weight == nullptr ? nullptr : weight->data<float>(),
                    bias == nullptr ? nullptr : bias->data<float>(), out.data<float>() + i * n, mean.data<float>() + i,
                    rstd.data<float>() + i);
    }
  });
  return Error::kOk;
}

Error softmax_out(KernelContext& context, const arguments::softmax_out& args) {
  return run_softmax(context, args, softmax_of_rows, portable::softmax_out);
}

Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args) {
  return run_softmax(context, args, log_softmax_of_rows, portable::log_softmax_out);
}

}  // namespace berth::cpu
