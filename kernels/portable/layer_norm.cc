// native_layer_norm: each row over the last dimensions is brought to mean 0 and variance 1, then scaled and shifted
// element by element. Outputs: the result, and each row's mean and reciprocal deviation.
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 8192;

struct LayerNorm {
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  double eps;
  Tensor& out;
  Tensor& mean;
  Tensor& rstd;
  int leading;     // dimensions before the normalised ones
  int64_t rows;    // product of their sizes
  int64_t length;  // elements of a row
};

Error check_shape(KernelContext& context, IntList shape, const LayerNorm& norm) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != norm.input.size(norm.leading + static_cast<int>(i))) {
      return context.fail(Error::kInvalidArgument, "normalized_shape must be the last sizes of the input");
    }
  }
  for (const Tensor* affine : {norm.weight, norm.bias}) {
    if (affine == nullptr) continue;
    bool same = affine->rank() == static_cast<int>(shape.size());
    for (int i = 0; same && i < affine->rank(); ++i) same = affine->size(i) == norm.input.size(norm.leading + i);
    if (!same || !affine->is_contiguous()) {
      return context.fail(Error::kInvalidArgument,
                          "weight and bias must be contiguous and have the sizes of normalized_shape");
    }
  }
  return Error::kOk;
}

Error check_dtypes(KernelContext& context, const LayerNorm& norm) {
  const Tensor* tensors[] = {&norm.input, &norm.out, &norm.mean, &norm.rstd, norm.weight, norm.bias};
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr && !is_floating(tensor->dtype())) {
      return context.fail(Error::kInvalidArgument, "layer_norm takes floating-point tensors only");
    }
  }
  return Error::kOk;
}

Error resize_outputs(KernelContext& context, const LayerNorm& norm) {
  Sizes sizes;
  sizes.rank = norm.input.rank();
  for (int d = 0; d < sizes.rank; ++d) {
    sizes.data[d] = d < norm.leading ? static_cast<int32_t>(norm.input.size(d)) : 1;
  }
  Error error = resize_out(context, norm.out, norm.input.sizes());
  if (error == Error::kOk) error = resize_out(context, norm.mean, sizes.span());
  if (error == Error::kOk) error = resize_out(context, norm.rstd, sizes.span());
  return error;
}

bool is_dense_f32(const LayerNorm& norm) {
  for (const Tensor* tensor : {&norm.input, static_cast<const Tensor*>(&norm.out), norm.weight, norm.bias}) {
    if (tensor != nullptr && (tensor->dtype() != DType::kF32 || !tensor->is_contiguous())) return false;
  }
  return norm.mean.is_contiguous() && norm.rstd.is_contiguous();
}

void run_dense(KernelContext& context, const LayerNorm& norm) {
  const float* weight = norm.weight == nullptr ? nullptr : norm.weight->data<float>();
  const float* bias = norm.bias == nullptr ? nullptr : norm.bias->data<float>();
  context.parallel_for(norm.rows, kGrainElements / (norm.length + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x = norm.input.data<float>() + row * norm.length;
      const Moments moments = moments_f32(x, norm.length, norm.eps);
      normalize_f32(x, norm.out.data<float>() + row * norm.length, norm.length, moments, weight, bias);
      store_element(norm.mean, row, norm.length == 0 ? 0 : moments.mean);
      store_element(norm.rstd, row, moments.rstd);
    }
  });
}

// Any floating types, any dimension orders. Rows and their elements are walked in logical order, which is the weight's.
void run_any(KernelContext& context, const LayerNorm& norm) {
  Walk rows(4);
  Walk source(1);
  Walk target(1);
  for (int d = 0; d < norm.input.rank(); ++d) {
    const int64_t strides[] = {norm.input.stride(d), norm.out.stride(d), norm.mean.stride(d), norm.rstd.stride(d)};
    if (d < norm.leading) rows.add(norm.input.size(d), strides);
    if (d >= norm.leading) source.add(norm.input.size(d), &strides[0]);
    if (d >= norm.leading) target.add(norm.input.size(d), &strides[1]);
  }
  const RowReader reader = {norm.input.dtype(), source};
  const RowReader writer = {norm.out.dtype(), target};
  context.parallel_for(norm.rows, kGrainElements / (norm.length + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t at[Walk::kMaxOperands];
      rows.offsets(row, at);
      const char* x = norm.input.data<char>() + at[0] * static_cast<int64_t>(element_size(norm.input.dtype()));
      char* y = norm.out.data<char>() + at[1] * static_cast<int64_t>(element_size(norm.out.dtype()));
      const Moments moments = reader.moments(x, norm.eps);
      for (int64_t i = 0; i < norm.length; i += RowReader::kChunk) {
        const int64_t n = norm.length - i < RowReader::kChunk ? norm.length - i : RowReader::kChunk;
        double values[RowReader::kChunk];
        reader.load(x, i, n, values);
        for (int64_t j = 0; j < n; ++j) {
          const double standard = (values[j] - moments.mean) * moments.rstd;
          values[j] = standard * element_or(norm.weight, i + j, 1) + element_or(norm.bias, i + j, 0);
        }
        writer.store(y, i, n, values);
      }
      store_element(norm.mean, at[2], norm.length == 0 ? 0 : moments.mean);
      store_element(norm.rstd, at[3], moments.rstd);
    }
  });
}

}  // namespace

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args) {
  const Tensor& input = args.input;
  LayerNorm norm = {input,     args.weight,
                    args.bias, args.eps,
                    args.out0, args.out1,
                    args.out2, input.rank() - static_cast<int>(args.normalized_shape.size()),
                    1,         1};
  if (norm.leading < 0 || norm.leading == input.rank()) {
    return context.fail(Error::kInvalidArgument,
                        "normalized_shape must have from one to all of the input's dimensions");
  }
  Error error = check_shape(context, args.normalized_shape, norm);
  if (error == Error::kOk) error = check_dtypes(context, norm);
  if (error == Error::kOk) error = resize_outputs(context, norm);
  if (error != Error::kOk) return error;
  for (int d = 0; d < input.rank(); ++d) (d < norm.leading ? norm.rows : norm.length) *= input.size(d);
  if (is_dense_f32(norm)) {
    run_dense(context, norm);
  } else {
    run_any(context, norm);
  }
  return Error::kOk;
}

}  // namespace berth::portable
