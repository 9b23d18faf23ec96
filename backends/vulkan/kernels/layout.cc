// The same elements with other sizes, in another order, or a part of them; tensors joined and taken apart. What these
// operators name are boxes inside tensors.
#include <algorithm>

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/typed.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/pad.h"

namespace berth::vulkan {
namespace {

using portable::Integers;
using portable::Sizes;
using portable::SubBox;

Error take_box(KernelContext& context, const Tensor& self, const SubBox& box, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, box.sizes));
  return copy_box(context, box.sizes.span(), self, box.offset, box.stride_span(), out, 0, out.strides());
}

Error put_box(KernelContext& context, const Tensor& part, const SubBox& box, const Tensor& out) {
  return copy_box(context, part.sizes(), part, 0, part.strides(), out, box.offset, box.stride_span());
}

Error copy_whole(KernelContext& context, const Tensor& self, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, portable::sizes_of(self)));
  return copy_box(context, self.sizes(), self, 0, self.strides(), out, 0, out.strides());
}

// In the type of `out`.
Error convert(KernelContext& context, const Tensor& self, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, self.sizes()));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, self, out));
  return copy_box(context, self.sizes(), self, 0, self.strides(), out, 0, out.strides());
}

// REQUIRES: as many elements in `sizes` as in `self`.
Error view(KernelContext& context, const Tensor& self, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  const Tensor* const both[] = {&self, &out};
  Launch ask = all_floats(both) ? Launch(context, ShaderId::view, ShaderId::view_texels)
                                : Launch::of_any_type(context, ShaderId::view_words, ShaderId::view_typed);
  ask.constant(out.rank()).constant(self.rank()).writes(out).reads(self);
  for (const Tensor* tensor : {static_cast<const Tensor*>(&out), &self}) {
    for (int d = 0; d < tensor->rank(); ++d) ask.number(tensor->size(d)).number(tensor->stride(d));
  }
  return ask.run(out.numel());
}

Error squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_squeeze(context, self, dims, &sizes));
  return view(context, self, sizes, out);
}

}  // namespace

// All of the result is the value, and the part that is the input's is copied over it.
Error constant_pad_nd_out(KernelContext& context, const arguments::constant_pad_nd_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  portable::Padding padding;
  BERTH_RETURN_IF_ERROR(portable::read_padding(context, self, args.pad, &padding));
  Sizes padded, kept;
  BERTH_RETURN_IF_ERROR(portable::padded_sizes(context, self, padding, portable::PadMode::kConstant, &padded));
  int64_t from = 0;
  for (int d = 0; d < self.rank(); ++d) {
    const int64_t cut_before = std::max<int64_t>(-padding.before[d], 0);
    const int64_t cut = cut_before + std::max<int64_t>(-padding.after[d], 0);
    portable::push_size(&kept, std::max<int64_t>(self.size(d) - cut, 0));
    from += cut_before * self.stride(d);
  }
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, padded));
  int64_t to = 0;
  for (int d = 0; d < out.rank(); ++d) to += std::max<int64_t>(padding.before[d], 0) * out.stride(d);
  portable::Element value;
  BERTH_RETURN_IF_ERROR(portable::read_element(context, args.value, out.dtype(), &value));
  BERTH_RETURN_IF_ERROR(fill(context, value, padded, out));
  return copy_box(context, kept.span(), self, from, self.strides(), out, to, out.strides());
}

#define COPY(identifier) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return copy_whole(context, args.self, args.out); \
  }
COPY(alias_copy_out)
COPY(clone_dim_order_out)
COPY(clone_out)
COPY(detach_copy_out)
#undef COPY

Error to_dim_order_copy_out(KernelContext& context, const arguments::to_dim_order_copy_out& args) {
  return convert(context, args.self, args.out);
}

Error view_copy_out(KernelContext& context, const arguments::view_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_view(context, args.self, args.size, &sizes));
  return view(context, args.self, sizes, args.out);
}

Error squeeze_copy_dim_out(KernelContext& context, const arguments::squeeze_copy_dim_out& args) {
  Integers dims;
  dims.data[dims.count++] = args.dim;
  return squeeze(context, args.self, dims, args.out);
}

Error squeeze_copy_dims_out(KernelContext& context, const arguments::squeeze_copy_dims_out& args) {
  Integers dims;
  BERTH_RETURN_IF_ERROR(portable::read_integers(context, args.dim, &dims));
  return squeeze(context, args.self, dims, args.out);
}

Error unsqueeze_copy_out(KernelContext& context, const arguments::unsqueeze_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_unsqueeze(context, args.self, args.dim, &sizes));
  return view(context, args.self, sizes, args.out);
}

#define TAKE(identifier, read, ...) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    SubBox box; \
    BERTH_RETURN_IF_ERROR(portable::read(context, args.self, __VA_ARGS__& box)); \
    return take_box(context, args.self, box, args.out); \
  }
TAKE(expand_copy_out, read_expand, args.size, )
TAKE(flip_out, read_flip, args.dims, )
TAKE(narrow_copy_out, read_narrow, args.dim, args.start, args.length, )
TAKE(permute_copy_out, read_permute, args.dims, )
TAKE(select_copy_int_out, read_select, args.dim, args.index, )
TAKE(slice_copy_Tensor_out, read_slice, args.dim, args.start, args.end, args.step, )
TAKE(t_copy_out, read_t, )
TAKE(transpose_copy_int_out, read_transpose, args.dim0, args.dim1, )
#undef TAKE

Error split_copy_Tensor_out(KernelContext& context, const arguments::split_copy_Tensor_out& args) {
  return portable::split_copy(context, args, take_box);
}
Error split_with_sizes_copy_out(KernelContext& context, const arguments::split_with_sizes_copy_out& args) {
  return portable::split_with_sizes_copy(context, args, take_box);
}
Error unbind_copy_int_out(KernelContext& context, const arguments::unbind_copy_int_out& args) {
  return portable::unbind_copy(context, args, take_box);
}

Error cat_out(KernelContext& context, const arguments::cat_out& args) {
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::prepare_cat(context, args.tensors, args.dim, out, &dim));
  int64_t start = 0;
  for (const Tensor& part : args.tensors) {
    if (portable::is_legacy_empty(part)) continue;
    BERTH_RETURN_IF_ERROR(put_box(context, part, portable::slice_of(out, dim, start, part.size(dim), 1), out));
    start += part.size(dim);
  }
  return Error::kOk;
}

Error stack_out(KernelContext& context, const arguments::stack_out& args) {
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::prepare_stack(context, args.tensors, args.dim, out, &dim));
  int64_t index = 0;
  for (const Tensor& part : args.tensors) {
    BERTH_RETURN_IF_ERROR(put_box(context, part, portable::select_of(out, dim, index++), out));
  }
  return Error::kOk;
}

}  // namespace berth::vulkan
