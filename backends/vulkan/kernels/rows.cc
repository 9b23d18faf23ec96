// What looks at a whole row: reductions, softmax, normalisation.
#include "backends/vulkan/kernels/rows.h"

#include "backends/vulkan/kernels/chain.h"
#include "backends/vulkan/kernels/kernels.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/reduce.h"

namespace berth::vulkan {
namespace {

using portable::ReducedDims;
using portable::Sizes;
using portable::Walk;

// As in reduce.comp.
enum Kind { kSum, kLargest, kSmallest };

// What computes rows of so many elements: an invocation each; on cards, of long ones, a group each, and on processors
// where an invocation's loops would come near to their end.
struct RowForm {
  RowForm(KernelContext& context, int64_t length) {
    constexpr int64_t kLong = 64;
    constexpr int64_t kVeryLong = 16384;  // some loop over a row three times
    const Gpu& gpu = *static_cast<Session*>(context.user())->gpu;
    if (length >= (gpu.is_card() ? kLong : kVeryLong)) items_a_group = 1;
  }
  bool is_group() const { return items_a_group == 1; }
  Launch ask(KernelContext& context, ShaderId by_invocations, ShaderId texels, ShaderId by_groups) const {
    return is_group() ? Launch(context, by_groups) : Launch(context, by_invocations, texels);
  }
  // How often a loop over the elements comes round.
  int64_t rounds(int64_t length) const { return is_group() ? (length + kGroup - 1) / kGroup : length; }

  static constexpr int64_t kGroup = 128;  // in row_softmax.comp and its like
  int64_t items_a_group = 64;
};

Error reduce(KernelContext& context, const Tensor& self, const ReducedDims& dims, Kind kind, bool is_mean,
             Tensor& out) {
  const Tensor* const both[] = {&self, &out};
  BERTH_RETURN_IF_ERROR(require_floats(context, both));
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, self, out));
  const Walk outer = portable::outer_walk(self, out, dims);
  const Walk inner = portable::inner_walk(self, dims.mask, false);
  const bool extreme = kind != kSum;
  if (extreme && inner.count == 0 && out.numel() > 0) {
    return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
  }
  const RowForm form(context, inner.count);
  Launch ask = form.ask(context, ShaderId::reduce, ShaderId::reduce_texels, ShaderId::row_reduce);
  ask.constant(kind).constant(outer.rank).constant(inner.rank).writes(out).reads(self);
  ask.number(inner.count).real(is_mean ? 1 / static_cast<double>(inner.count) : 1);
  ask.walk(outer).walk(inner).rounds(form.rounds(inner.count));
  return ask.run(out.numel(), form.items_a_group);
}

Error check_sum_type(KernelContext& context, const Tensor& self, std::optional<int64_t> dtype) {
  DType common = DType::kF32;
  BERTH_RETURN_IF_ERROR(portable::read_sum_dtype(context, self, dtype, &common));
  if (common == DType::kF32 || has_16_bits(common)) return Error::kOk;
  return context.fail(Error::kNotSupported, "kernels of vulkan devices compute in f32");
}

template <typename Args>
Error reduce_dims(KernelContext& context, const Args& args, Kind kind) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  return reduce(context, args.self, dims, kind, false, args.out);
}

template <typename Args>
Error softmax(KernelContext& context, const Args& args, bool logarithm) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  if (!portable::normalize_dim(args.dim, self.rank(), &dim)) {
    return context.fail(Error::kInvalidArgument, "softmax's dimension is out of range");
  }
  const Tensor* const both[] = {&self, &out};
  BERTH_RETURN_IF_ERROR(require_floats(context, both));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, self.sizes()));
  if (out.numel() == 0) return Error::kOk;
  const Tensor* tensors[] = {&out, &self};
  const Walk rows = portable::walk_dims(tensors, ~(uint32_t{1} << dim));
  const Walk row = portable::walk_dims(tensors, uint32_t{1} << dim);
  const RowForm form(context, row.count);
  Launch ask = form.ask(context, ShaderId::softmax, ShaderId::softmax_texels, ShaderId::row_softmax);
  ask.constant(logarithm ? 1 : 0).constant(rows.rank).writes(out).reads(self);
  ask.number(row.count).number(row.step(0)).number(row.step(1)).walk(rows).rounds(3 * form.rounds(row.count));
  return ask.run(rows.count, form.items_a_group);
}

// A normalisation of rows, which have their elements along `elements`.
struct Norm {
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  Tensor& out;
  Tensor& mean;
  Tensor& rstd;
  double eps;
  Walk rows{4};      // input, out, mean, rstd
  Walk elements{2};  // input, out
  int64_t groups = 0, group_channels = 0, plane = 1;
};

Error run_norm(KernelContext& context, const Norm& n) {
  const Tensor* const tensors[] = {&n.input, n.weight, n.bias, &n.out, &n.mean, &n.rstd};
  BERTH_RETURN_IF_ERROR(require_floats(context, tensors));
  const RowForm form(context, n.elements.count);
  Launch ask = form.ask(context, ShaderId::norm, ShaderId::norm_texels, ShaderId::row_norm);
  ask.constant(n.rows.rank).constant(n.elements.rank);
  ask.constant((n.weight != nullptr ? 1 : 0) + (n.bias != nullptr ? 2 : 0));
  ask.writes(n.out).reads(n.input).writes(n.mean).writes(n.rstd).reads(n.weight).reads(n.bias);
  ask.number(n.elements.count).number(n.groups).number(n.group_channels).number(n.plane).real(n.eps);
  ask.walk(n.rows).walk(n.elements).rounds(3 * form.rounds(n.elements.count));
  return ask.run(n.rows.count, form.items_a_group);
}

}  // namespace

Error mean_of_rows(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  return reduce(context, self, dims, kSum, true, out);
}

Error amax_out(KernelContext& context, const arguments::amax_out& args) { return reduce_dims(context, args, kLargest); }
Error amin_out(KernelContext& context, const arguments::amin_out& args) {
  return reduce_dims(context, args, kSmallest);
}

Error sum_IntList_out(KernelContext& context, const arguments::sum_IntList_out& args) {
  BERTH_RETURN_IF_ERROR(check_sum_type(context, args.self, args.dtype));
  return reduce_dims(context, args, kSum);
}

Error mean_out(KernelContext& context, const arguments::mean_out& args) {
  BERTH_RETURN_IF_ERROR(check_sum_type(context, args.self, args.dtype));
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  return reduce(context, args.self, dims, kSum, true, args.out);
}

Error max_unary_out(KernelContext& context, const arguments::max_unary_out& args) {
  return reduce(context, args.self, {portable::all_dims(args.self), false}, kLargest, false, args.out);
}
Error min_unary_out(KernelContext& context, const arguments::min_unary_out& args) {
  return reduce(context, args.self, {portable::all_dims(args.self), false}, kSmallest, false, args.out);
}
Error mean_dtype_out(KernelContext& context, const arguments::mean_dtype_out& args) {
  BERTH_RETURN_IF_ERROR(check_sum_type(context, args.self, args.dtype));
  return reduce(context, args.self, {portable::all_dims(args.self), false}, kSum, true, args.out);
}

Error softmax_out(KernelContext& context, const arguments::softmax_out& args) { return softmax(context, args, false); }
Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args) {
  return softmax(context, args, true);
}

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args) {
  const Tensor& input = args.input;
  const IntList shape = args.normalized_shape;
  const int leading = input.rank() - static_cast<int>(shape.size());
  if (leading < 0 || leading == input.rank()) {
    return context.fail(Error::kInvalidArgument,
                        "normalized_shape must have from one to all of the input's dimensions");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == input.size(leading + static_cast<int>(i))) continue;
    return context.fail(Error::kInvalidArgument, "normalized_shape must be the last sizes of the input");
  }
  for (const Tensor* affine : {args.weight, args.bias}) {
    if (affine == nullptr) continue;
    bool same = affine->rank() == input.rank() - leading && affine->is_contiguous();
    for (int i = 0; same && i < affine->rank(); ++i) same = affine->size(i) == input.size(leading + i);
    if (same) continue;
    return context.fail(Error::kInvalidArgument,
                        "weight and bias must be contiguous and have the sizes of normalized_shape");
  }
  Sizes sizes;
  for (int d = 0; d < input.rank(); ++d) portable::push_size(&sizes, d < leading ? input.size(d) : 1);
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out0, input.sizes()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, sizes.span()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, sizes.span()));
  Norm norm = {input, args.weight, args.bias, args.out0, args.out1, args.out2, args.eps};
  for (int d = 0; d < input.rank(); ++d) {
    const int64_t strides[] = {input.stride(d), args.out0.stride(d), args.out1.stride(d), args.out2.stride(d)};
    if (d < leading) norm.rows.add(input.size(d), strides);
    if (d >= leading) norm.elements.add(input.size(d), strides);
  }
  return run_norm(context, norm);
}

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args) {
  const Tensor& input = args.input;
  const int64_t groups = args.group;
  const bool match = input.rank() >= 2 && input.size(0) == args.N && input.size(1) == args.C && groups > 0 &&
                     groups <= INT32_MAX && input.size(1) % groups == 0;
  if (!match) {
    return context.fail(Error::kInvalidArgument, "N and C must be the input's sizes, and groups must divide C");
  }
  for (const Tensor* affine : {args.weight, args.bias}) {
    if (affine == nullptr || (affine->rank() == 1 && affine->size(0) == input.size(1))) continue;
    return context.fail(Error::kInvalidArgument, "weight and bias must have one element a channel");
  }
  const int32_t sizes[] = {static_cast<int32_t>(input.size(0)), static_cast<int32_t>(groups)};
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out0, input.sizes()));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, sizes));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, sizes));
  if (input.size(0) * input.size(1) == 0) return Error::kOk;
  Norm norm = {input, args.weight, args.bias, args.out0, args.out1, args.out2, args.eps};
  norm.groups = groups;
  norm.group_channels = input.size(1) / groups;
  const int64_t images[] = {input.stride(0), args.out0.stride(0), args.out1.stride(0), args.out2.stride(0)};
  const int64_t blocks[] = {norm.group_channels * input.stride(1), norm.group_channels * args.out0.stride(1),
                            args.out1.stride(1), args.out2.stride(1)};
  norm.rows.add(input.size(0), images);
  norm.rows.add(groups, blocks);
  for (int d = 1; d < input.rank(); ++d) {
    const int64_t strides[] = {input.stride(d), args.out0.stride(d)};
    norm.elements.add(d == 1 ? norm.group_channels : input.size(d), strides);
    if (d > 1) norm.plane *= input.size(d);
  }
  return run_norm(context, norm);
}

}  // namespace berth::vulkan
