#include "kernels/cpu/norm.h"

#include <algorithm>

#include "base/half.h"
#include "kernels/cpu/row_norm.h"
#include "kernels/cpu/wide_rows.h"
#include "kernels/portable/fused_rms_norm.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

// Elements of a norm that are worth another thread: about two microseconds of work.
constexpr int64_t kGrainElements = 1 << 13;

bool is_ours(DType type) { return type == DType::kF32 || has_16_bits(type); }

// f32, or the 16 bits of `input`.
bool matches(const Tensor* affine, const Tensor& input, int leading) {
  if (affine == nullptr) return true;
  bool same = (affine->dtype() == DType::kF32 || affine->dtype() == input.dtype()) && affine->is_contiguous() &&
              affine->rank() == input.rank() - leading;
  for (int d = 0; same && d < affine->rank(); ++d) same = affine->size(d) == input.size(leading + d);
  return same;
}

// The sizes of mean and rstd: 1 in the dimensions that are normalised.
portable::Sizes moment_sizes(const Tensor& input, int leading) {
  portable::Sizes sizes = portable::sizes_of(input);
  for (int d = leading; d < sizes.rank; ++d) sizes.data[d] = 1;
  return sizes;
}

// The rows of a softmax along the dimension that is innermost in memory; false for another.
bool rows_of(const Tensor& self, int64_t dim, WideRows* rows) {
  int normal = 0;
  if (!is_ours(self.dtype()) || self.numel() == 0 || self.rank() == 0 ||
      !portable::normalize_dim(dim, self.rank(), &normal) || self.dim_order()[self.rank() - 1] != normal) {
    return false;
  }
  rows->n = self.size(normal);
  rows->rows = self.numel() / rows->n;
  return true;
}

using RowsFunction = void (*)(const float* x, int64_t rows, int64_t n, float* y);

template <typename Args>
Error run_softmax(KernelContext& context, const Args& args, RowsFunction function,
                  Error (*portable_kernel)(KernelContext&, const Args&)) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  WideRows rows;
  if (self.dtype() != out.dtype() || self.dim_order() != out.dim_order() || !rows_of(self, args.dim, &rows)) {
    return portable_kernel(context, args);
  }
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  const int64_t n = rows.n;
  if (has_16_bits(self.dtype())) {
    return rows.run(context, self.dtype(), self.raw(), out.raw(),
                    [&](int64_t, int64_t count, float* x) { function(x, count, n, x); });
  }
  context.parallel_for(rows.rows, std::max<int64_t>(1, kGrainElements / n), [&](int64_t begin, int64_t end) {
    function(self.data<float>() + begin * n, end - begin, n, out.data<float>() + begin * n);
  });
  return Error::kOk;
}

size_t temp_of_softmax(const Tensor& self, int64_t dim, int threads) {
  WideRows rows;
  if (!has_16_bits(self.dtype()) || !rows_of(self, dim, &rows)) return 0;
  return rows.temp_bytes(threads) + portable::kTempPadding;
}

struct LayerNorm {
  const arguments::native_layer_norm_out& args;
  WideRows rows;
  const float* weight = nullptr;
  const float* bias = nullptr;

  void run(const float* x, int64_t row, float* y) const {
    float mean = 0, rstd = 0;
    normalize_row(x, rows.n, static_cast<float>(args.eps), weight, bias, y, &mean, &rstd);
    store(mean, args.out1, row);
    store(rstd, args.out2, row);
  }

  static void store(float moment, Tensor& moments, int64_t row) {
    if (moments.dtype() == DType::kF32) moments.data<float>()[row] = moment;
    if (moments.dtype() == DType::kF16) moments.data<Half>()[row] = moment;
    if (moments.dtype() == DType::kBF16) moments.data<BFloat16>()[row] = moment;
  }
};

// The rows that are normalised; false for what the portable kernel must look at.
bool rows_of(const arguments::native_layer_norm_out& args, WideRows* rows) {
  const Tensor& input = args.input;
  const IntList shape = args.normalized_shape;
  const int leading = input.rank() - static_cast<int>(shape.size());
  bool ours = is_ours(input.dtype()) && leading >= 0 && leading < input.rank() && input.numel() > 0 &&
              input.is_contiguous() && matches(args.weight, input, leading) && matches(args.bias, input, leading);
  rows->n = 1;
  for (size_t i = 0; ours && i < shape.size(); ++i) {
    ours = shape[i] == input.size(leading + static_cast<int>(i));
    rows->n *= shape[i];
  }
  if (ours) rows->rows = input.numel() / rows->n;
  return ours;
}

bool has_memory(const Tensor* affine) { return affine == nullptr || affine->raw() != nullptr; }

bool takes_rest(const arguments::native_layer_norm_out& args) {
  const Tensor& mean = args.out1;
  const Tensor& rstd = args.out2;
  return has_memory(args.weight) && has_memory(args.bias) && args.out0.dtype() == args.input.dtype() &&
         args.out0.is_contiguous() && is_ours(mean.dtype()) && mean.is_contiguous() && is_ours(rstd.dtype()) &&
         rstd.is_contiguous();
}

int64_t affine_floats(const arguments::native_layer_norm_out& args, const WideRows& rows) {
  const auto narrow = [](const Tensor* affine) { return affine != nullptr && has_16_bits(affine->dtype()) ? 1 : 0; };
  return (narrow(args.weight) + narrow(args.bias)) * align_up<int64_t>(rows.n, 16);
}

// In f32, in `*temp` and past it where it has 16 bits.
const float* wide_affine(const Tensor* affine, int64_t n, float** temp) {
  if (affine == nullptr || affine->dtype() == DType::kF32) return affine == nullptr ? nullptr : affine->data<float>();
  float* const wide = *temp;
  widen(affine->dtype(), affine->raw(), wide, n);
  *temp += align_up<int64_t>(n, 16);
  return wide;
}

Error run_layer_norm(KernelContext& context, LayerNorm norm) {
  const Tensor& input = norm.args.input;
  Tensor& out = norm.args.out0;
  const WideRows& rows = norm.rows;
  const int64_t floats = affine_floats(norm.args, rows);
  auto* temp = floats == 0 ? nullptr : static_cast<float*>(context.allocate_temp(floats * sizeof(float)));
  if (temp == nullptr && floats != 0) return Error::kMemoryAllocationFailed;
  norm.weight = wide_affine(norm.args.weight, rows.n, &temp);
  norm.bias = wide_affine(norm.args.bias, rows.n, &temp);
  if (has_16_bits(input.dtype())) {
    return rows.run(context, input.dtype(), input.raw(), out.raw(), [&](int64_t first, int64_t count, float* x) {
      for (int64_t i = 0; i < count; ++i) norm.run(x + i * rows.n, first + i, x + i * rows.n);
    });
  }
  context.parallel_for(rows.rows, std::max<int64_t>(1, kGrainElements / rows.n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      norm.run(input.data<float>() + i * rows.n, i, out.data<float>() + i * rows.n);
    }
  });
  return Error::kOk;
}

}  // namespace

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args) {
  WideRows rows;
  if (!rows_of(args, &rows) || !takes_rest(args)) return portable::native_layer_norm_out(context, args);
  const Tensor& input = args.input;
  const portable::Sizes moments = moment_sizes(input, input.rank() - static_cast<int>(args.normalized_shape.size()));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, input, args.out0, portable::sizes_of(input)));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, moments.span()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, moments.span()));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.out1, args.out2));
  return run_layer_norm(context, {args, rows});
}

size_t native_layer_norm_temp_bytes(const arguments::native_layer_norm_out& args, int threads) {
  WideRows rows;
  if (!has_16_bits(args.input.dtype()) || !rows_of(args, &rows)) return 0;
  return affine_floats(args, rows) * sizeof(float) + rows.temp_bytes(threads) + 2 * portable::kTempPadding;
}

Error rms_norm_out(KernelContext& context, const arguments::fused_rms_norm_out& args) {
  BERTH_RETURN_IF_ERROR(portable::prepare_rms_norm(context, args));
  if (args.input.numel() == 0) return Error::kOk;
  const int64_t n = args.input.size(args.input.rank() - 1);
  const float* weight = args.weight == nullptr ? nullptr : args.weight->data<float>();
  const auto eps = static_cast<float>(args.eps);
  context.parallel_for(
      args.input.numel() / n, std::max<int64_t>(1, kGrainElements / n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          rms_normalize_row(args.input.data<float>() + i * n, n, eps, weight, args.out.data<float>() + i * n);
        }
      });
  return Error::kOk;
}

Error softmax_out(KernelContext& context, const arguments::softmax_out& args) {
  return run_softmax(context, args, softmax_of_rows, portable::softmax_out);
}

size_t softmax_temp_bytes(const arguments::softmax_out& args, int threads) {
  return temp_of_softmax(args.self, args.dim, threads);
}

Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args) {
  return run_softmax(context, args, log_softmax_of_rows, portable::log_softmax_out);
}

size_t log_softmax_temp_bytes(const arguments::log_softmax_out& args, int threads) {
  return temp_of_softmax(args.self, args.dim, threads);
}

}  // namespace berth::cpu
