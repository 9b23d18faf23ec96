// What a row of elements of any type comes to, by shaders/fold.comp: any, extremes with their places, products,
// variances; and running sums.
#include <algorithm>
#include <optional>

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/places.h"
#include "backends/vulkan/kernels/rows.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/reduce.h"

namespace berth::vulkan {
namespace {

using portable::ReducedDims;

// As in fold.comp.
enum Kind { kAny, kLargest, kSmallest, kProduct, kVariance, kRunningSum };

struct Folded {
  const Tensor& self;
  ReducedDims dims;
  Kind kind;
  bool real;                       // whether it is computed with real numbers
  const Tensor* result = nullptr;  // may be null where places are wanted
  const Tensor* places = nullptr;  // of i64
  double divisor = 1;              // of a variance
};

// The stride of `tensor`, which has the dimensions of `self` that are left, along dimension `d` of `self`.
int64_t stride_along(const Folded& f, const Tensor* tensor, int d, int left) {
  if (tensor == nullptr) return 0;
  return tensor->stride(f.kind == kRunningSum || f.dims.keepdim ? d : left);
}

Error run(KernelContext& context, const Folded& f) {
  constexpr int64_t kGroup = 128;  // as in fold.comp
  constexpr int64_t kShort = 256;  // of a row that one invocation has
  PlacesOf<3> rows;                // of result, places, self
  PlacesOf<2> elements;            // of result, self
  int64_t count = 1, length = 1;
  int left = 0;
  for (int d = 0; d < f.self.rank(); ++d) {
    const int64_t size = f.self.size(d), stride = f.self.stride(d);
    if ((f.dims.mask >> d & 1) != 0) {
      const int64_t strides[] = {f.kind == kRunningSum ? f.result->stride(d) : 0, stride};
      elements.add(size, 2, strides);
      length *= size;
    } else {
      const int64_t strides[] = {stride_along(f, f.result, d, left), stride_along(f, f.places, d, left), stride};
      rows.add(size, 3, strides);
      count *= size;
      ++left;
    }
  }
  if (f.places != nullptr && length == 0 && count > 0) {
    return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
  }
  const bool each = length <= kShort;
  Launch ask = each ? Launch::of_any_type(context, ShaderId::fold_each_words, ShaderId::fold_each)
                    : Launch::of_any_type(context, ShaderId::fold_words, ShaderId::fold);
  ask.constant(f.kind).constant(f.real ? 1 : 0);
  for (const Tensor* tensor : {f.result, f.places}) {
    if (tensor != nullptr) {
      ask.writes(*tensor);
    } else {
      ask.none();
    }
  }
  ask.reads(f.self).number(length).real(f.divisor).number(rows.rank);
  for (int d = 0; d < rows.rank; ++d) ask.number(rows.sizes[d]);
  for (const auto& strides : rows.strides) {
    for (int d = 0; d < rows.rank; ++d) ask.number(strides[d]);
  }
  ask.number(elements.rank);
  for (int d = 0; d < elements.rank; ++d) ask.number(elements.sizes[d]);
  for (const auto& strides : elements.strides) {
    for (int d = 0; d < elements.rank; ++d) ask.number(strides[d]);
  }
  // Two passes at most; each element's place is found by a loop over the dimensions.
  const int64_t of_each = each ? length : 1 + length / kGroup;
  ask.number(f.result != nullptr ? 1 : 0).rounds(2 * of_each * (1 + elements.rank) + rows.rank + 16);
  return ask.run(count, each ? 64 : 1);
}

Error any(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  Folded f = {self, dims, kAny, is_floating(self.dtype())};
  f.result = &out;
  return run(context, f);
}

// `values` may be null.
Error extremes(KernelContext& context, const Tensor& self, const ReducedDims& dims, Kind kind, Tensor* values,
               Tensor& places) {
  if (self.dtype() == DType::kBool || places.dtype() != DType::kI64) {
    return context.fail(Error::kInvalidArgument, "extremes are of numbers, and their places are i64");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, places));
  if (values != nullptr) BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, *values));
  Folded f = {self, dims, kind, is_floating(self.dtype())};
  f.result = values;
  f.places = &places;
  return run(context, f);
}

template <typename Args>
Error place_of_extreme(KernelContext& context, const Args& args, Kind kind) {
  ReducedDims dims = {portable::all_dims(args.self), args.keepdim};
  if (args.dim.has_value()) {
    dims.mask = 0;
    BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, *args.dim, args.self, &dims.mask));
  }
  return extremes(context, args.self, dims, kind, nullptr, args.out);
}

template <typename Args>
Error extremes_along(KernelContext& context, const Args& args, Kind kind, Tensor& values, Tensor& places) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, args.self, &dims.mask));
  return extremes(context, args.self, dims, kind, &values, places);
}

// In the type that sums have. What is to be cut off to whole numbers first is not there.
Error fold_in_type(KernelContext& context, Folded f, std::optional<int64_t> dtype, Tensor& out) {
  DType common = DType::kF32;
  BERTH_RETURN_IF_ERROR(portable::read_sum_dtype(context, f.self, dtype, &common));
  if (!is_floating(common) && is_floating(f.self.dtype())) {
    return context.fail(Error::kNotSupported, "vulkan devices do not fold real numbers as whole ones");
  }
  f.real = is_floating(common);
  f.result = &out;
  return run(context, f);
}

Error product(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
              Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  return fold_in_type(context, {self, dims, kProduct, true}, dtype, out);
}

Error variance(KernelContext& context, const Tensor& self, const ReducedDims& dims, double correction, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  int64_t length = 1;
  for (int d = 0; d < self.rank(); ++d) length *= (dims.mask >> d & 1) != 0 ? self.size(d) : 1;
  Folded f = {self, dims, kVariance, true};
  f.result = &out;
  f.divisor = std::max(static_cast<double>(length) - correction, 0.0);
  return run(context, f);
}

double read_correction(const EValue& correction) { return correction.is_none() ? 1 : correction.scalar_to<double>(); }

}  // namespace

Error any_all_out(KernelContext& context, const arguments::any_all_out& args) {
  return any(context, args.self, {portable::all_dims(args.self), false}, args.out);
}
Error any_out(KernelContext& context, const arguments::any_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, args.self, &dims.mask));
  return any(context, args.self, dims, args.out);
}
// Unlike in other reductions, an empty list reduces nothing.
Error any_dims_out(KernelContext& context, const arguments::any_dims_out& args) {
  ReducedDims dims = {0, args.keepdim};
  if (!args.dim.has_value() || !args.dim->empty()) {
    BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  }
  return any(context, args.self, dims, args.out);
}

Error argmax_out(KernelContext& context, const arguments::argmax_out& args) {
  return place_of_extreme(context, args, kLargest);
}
Error argmin_out(KernelContext& context, const arguments::argmin_out& args) {
  return place_of_extreme(context, args, kSmallest);
}
Error max_dim_max(KernelContext& context, const arguments::max_dim_max& args) {
  return extremes_along(context, args, kLargest, args.max, args.max_values);
}
Error min_dim_min(KernelContext& context, const arguments::min_dim_min& args) {
  return extremes_along(context, args, kSmallest, args.min, args.min_indices);
}

Error prod_int_out(KernelContext& context, const arguments::prod_int_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, args.self, &dims.mask));
  return product(context, args.self, dims, args.dtype, args.out);
}
Error prod_out(KernelContext& context, const arguments::prod_out& args) {
  return product(context, args.self, {portable::all_dims(args.self), false}, args.dtype, args.out);
}

Error var_out(KernelContext& context, const arguments::var_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  return variance(context, args.self, dims, args.unbiased ? 1 : 0, args.out);
}
Error var_correction_out(KernelContext& context, const arguments::var_correction_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  return variance(context, args.self, dims, read_correction(args.correction), args.out);
}

// The mean is a sum (rows.cc).
Error var_mean_correction_out(KernelContext& context, const arguments::var_mean_correction_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  BERTH_RETURN_IF_ERROR(variance(context, args.self, dims, read_correction(args.correction), args.out0));
  return mean_of_rows(context, args.self, dims, args.out1);
}

Error cumsum_out(KernelContext& context, const arguments::cumsum_out& args) {
  ReducedDims dims = {0, true};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, args.self, &dims.mask));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out, args.self.sizes()));
  return fold_in_type(context, {args.self, dims, kRunningSum, true}, args.dtype, args.out);
}

}  // namespace berth::vulkan
