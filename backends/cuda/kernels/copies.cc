// Copies of whole tensors, with a change of dtype or dimension order where asked; tensors put together, mirrored,
// padded and filled.
#include <cmath>

#include "backends/cuda/kernels/copy.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/kernels.h"
#include "base/result.h"
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/layout_sizes.h"

namespace berth::cuda {
namespace {

using portable::is_real;
using portable::prepare_out;
using portable::push_size;
using portable::Sizes;
using portable::sizes_of;
using portable::SubBox;
using portable::Walk;

// `from` is broadcast to `to`, whose sizes stay, and converted to its dtype.
Error copy_into(KernelContext& context, const Tensor& from, Tensor& to) {
  Sizes sizes;
  const bool fits = portable::broadcast_sizes(to.sizes(), &sizes) && portable::broadcast_sizes(from.sizes(), &sizes);
  if (!fits || sizes.span() != to.sizes()) {
    return context.fail(Error::kInvalidArgument, "the source's sizes do not broadcast to the target's");
  }
  if (to.numel() == 0 || (portable::same_layout(from, to) && from.raw() == to.raw())) return Error::kOk;
  if (from.dtype() == to.dtype()) {
    int64_t strides[kMaxRank];
    for (int d = 0; d < to.rank(); ++d) {
      const int own = d - (to.rank() - from.rank());
      strides[d] = own < 0 || from.size(own) == 1 ? 0 : from.stride(own);
    }
    return copy_box(context, element_size(to.dtype()), to.sizes(), from.raw(), {strides, to.sizes().size()}, to.raw(),
                    to.strides());
  }
  if (!is_real(from.dtype()) || !is_real(to.dtype())) return portable::unsupported_dtype(context);
  const Tensor* tensors[] = {&to, &from};
  return run_conversion(context, portable::walk_broadcast(tensors), to.raw(), to.dtype(), from.raw(), from.dtype());
}

// The last argument becomes the first, which must have the same dtype unless `converts`.
Error copy_whole(KernelContext& context, const Tensor& self, Tensor& out, bool converts) {
  if (!converts && self.dtype() != out.dtype()) {
    return context.fail(Error::kInvalidArgument, "input and output must have the same dtype");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, self.sizes()));
  return copy_into(context, self, out);
}

// Copies `part` to the box of `out`, in the dtype of out.
Error place(KernelContext& context, const Tensor& part, const SubBox& box, Tensor& out) {
  if (part.numel() == 0) return Error::kOk;
  if (part.dtype() == out.dtype()) return put_box(context, part, box, out);
  Walk walk(2);
  for (const uint8_t d : part.dim_order()) {
    const int64_t strides[] = {box.strides[d], part.stride(d)};
    walk.add(part.size(d), strides);
  }
  char* first = out.data<char>() + box.offset * static_cast<int64_t>(element_size(out.dtype()));
  return run_conversion(context, walk, first, out.dtype(), part.raw(), part.dtype());
}

Error fill_all(KernelContext& context, const portable::Element& value, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, out));
  return fill(context, value.bytes, out);
}

Error pad_into(KernelContext& context, const Tensor& self, const portable::Padding& padding, portable::PadMode mode,
               const void* value, Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::padded_sizes(context, self, padding, mode, &sizes));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  return pad_tensor(context, self, padding, mode, value, out);
}

template <typename Args>
Error pad_spatial(KernelContext& context, const Args& args, int spatial, portable::PadMode mode) {
  const Tensor& self = args.self;
  portable::Padding padding;
  BERTH_RETURN_IF_ERROR(portable::read_spatial_padding(context, self, args.padding, spatial, &padding));
  return pad_into(context, self, padding, mode, nullptr, args.out);
}

// Each rolled dimension is two runs that change places: one copy for each way to choose between them.
Error roll_dims(KernelContext& context, const Tensor& self, const int64_t* shift_of, Tensor& out) {
  int rolled[kMaxRank];
  int count = 0;
  for (int d = 0; d < self.rank(); ++d) {
    if (shift_of[d] != 0) rolled[count++] = d;
  }
  for (uint32_t piece = 0; piece < 1u << count; ++piece) {
    SubBox source;
    SubBox target;
    for (int d = 0, i = 0; d < self.rank(); ++d) {
      int64_t length = self.size(d);
      if (i < count && rolled[i] == d) {
        const bool goes_round = (piece >> i++ & 1) != 0;
        length = goes_round ? shift_of[d] : length - shift_of[d];
        source.offset += goes_round ? (self.size(d) - shift_of[d]) * self.stride(d) : 0;
        target.offset += goes_round ? 0 : shift_of[d] * out.stride(d);
      }
      source.push(length, self.stride(d));
      target.push(length, out.stride(d));
    }
    const size_t bytes = element_size(self.dtype());
    BERTH_RETURN_IF_ERROR(copy_box(
        context, bytes, source.sizes.span(), self.data<char>() + source.offset * static_cast<int64_t>(bytes),
        source.stride_span(), out.data<char>() + target.offset * static_cast<int64_t>(bytes), target.stride_span()));
  }
  return Error::kOk;
}

}  // namespace

#define COPY(identifier, converts) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return copy_whole(context, args.self, args.out, converts); \
  }
COPY(alias_copy_out, false)
COPY(clone_out, false)
COPY(detach_copy_out, false)
COPY(clone_dim_order_out, false)
COPY(to_dim_order_copy_out, true)
#undef COPY

Error copy_out(KernelContext& context, const arguments::copy_out& args) {
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, args.self.sizes()));
  return copy_into(context, args.src, out);
}

Error copy_self(KernelContext& context, const arguments::copy_self& args) {
  return copy_into(context, args.src, args.self);
}

Error cat_out(KernelContext& context, const arguments::cat_out& args) {
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(portable::prepare_cat(context, args.tensors, args.dim, out, &dim));
  int64_t start = 0;
  for (const Tensor& part : args.tensors) {
    if (portable::is_legacy_empty(part)) continue;
    BERTH_RETURN_IF_ERROR(place(context, part, portable::slice_of(out, dim, start, part.size(dim), 1), out));
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
    BERTH_RETURN_IF_ERROR(place(context, part, portable::select_of(out, dim, index++), out));
  }
  return Error::kOk;
}

Error roll_out(KernelContext& context, const arguments::roll_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  bool as_one_row = false;
  int64_t shift_of[kMaxRank];
  BERTH_RETURN_IF_ERROR(portable::read_roll(context, self, args.shifts, args.dims, &as_one_row, shift_of));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  if (self.numel() == 0) return Error::kOk;
  return as_one_row ? copy_in_order(context, self, out, shift_of[0]) : roll_dims(context, self, shift_of, out);
}

Error tril_out(KernelContext& context, const arguments::tril_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (self.rank() < 2) return context.fail(Error::kInvalidArgument, "tril: self has fewer than two dimensions");
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  return lower_triangle(context, self, args.diagonal, out);
}

Error constant_pad_nd_out(KernelContext& context, const arguments::constant_pad_nd_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  portable::Padding padding;
  BERTH_RETURN_IF_ERROR(portable::read_padding(context, self, args.pad, &padding));
  portable::Element value;
  BERTH_RETURN_IF_ERROR(portable::read_element(context, args.value, out.dtype(), &value));
  return pad_into(context, self, padding, portable::PadMode::kConstant, value.bytes, out);
}

#define PAD(identifier, spatial, mode) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return pad_spatial(context, args, spatial, portable::PadMode::mode); \
  }
PAD(reflection_pad1d_out, 1, kReflect)
PAD(reflection_pad2d_out, 2, kReflect)
PAD(reflection_pad3d_out, 3, kReflect)
PAD(replication_pad1d_out, 1, kReplicate)
PAD(replication_pad2d_out, 2, kReplicate)
PAD(replication_pad3d_out, 3, kReplicate)
#undef PAD

Error full_out(KernelContext& context, const arguments::full_out& args) {
  return portable::full(context, args.size, args.fill_value, args.out, fill_all);
}
Error zeros_out(KernelContext& context, const arguments::zeros_out& args) {
  return portable::full(context, args.size, EValue(int64_t{0}), args.out, fill_all);
}
Error ones_out(KernelContext& context, const arguments::ones_out& args) {
  return portable::full(context, args.size, EValue(int64_t{1}), args.out, fill_all);
}
Error full_like_out(KernelContext& context, const arguments::full_like_out& args) {
  return portable::full_like(context, args.self, args.fill_value, args.out, fill_all);
}
Error scalar_tensor_out(KernelContext& context, const arguments::scalar_tensor_out& args) {
  return portable::scalar_tensor(context, args.s, args.out, fill_all);
}
Error fill_Scalar_out(KernelContext& context, const arguments::fill_Scalar_out& args) {
  return portable::fill_scalar(context, args.self, args.value, args.out, fill_all);
}

Error fill_Tensor_out(KernelContext& context, const arguments::fill_Tensor_out& args) {
  const Tensor& self = args.self;
  const Tensor& value = args.value;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(portable::check_fill(context, self, value, out));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, out, self.sizes()));
  return copy_into(context, value, out);
}

Error glu_out(KernelContext& context, const arguments::glu_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_glu(context, self, args.dim, &dim, &sizes));
  if (!is_floating(self.dtype())) return portable::unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  Walk walk(3);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), self.stride(d), self.stride(d)};
    walk.add(out.size(d), strides);
  }
  const int64_t half = sizes.data[dim] * self.stride(dim) * static_cast<int64_t>(element_size(self.dtype()));
  return run_boxes(context, Op::kGlu, self.dtype(), walk, out.raw(), self.raw(), self.data<char>() + half);
}

}  // namespace berth::cuda
