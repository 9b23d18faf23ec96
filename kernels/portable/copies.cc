// Copies of whole tensors, with a change of dtype or dimension order where asked: clone, copy, to.
#include "kernels/portable/broadcast.h"
#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 16384;
constexpr int64_t kChunk = 256;

void convert_range(const Walk& source_walk, bool dense, const Tensor& from, Tensor& to, int64_t begin, int64_t end) {
  const size_t from_bytes = element_size(from.dtype());
  const auto place = [&](int64_t i) { return to.data<char>() + i * element_size(to.dtype()); };
  if (dense) {
    const char* source = from.data<char>() + begin * from_bytes;
    return convert_elements(from.dtype(), source, to.dtype(), place(begin), end - begin);
  }
  alignas(8) unsigned char gathered[kChunk * 8];
  for (int64_t i = begin; i < end; i += kChunk) {
    const int64_t n = end - i < kChunk ? end - i : kChunk;
    gather_elements(source_walk, from.raw(), from_bytes, i, n, gathered);
    convert_elements(from.dtype(), gathered, to.dtype(), place(i), n);
  }
}

// `from` is broadcast to `to`, whose sizes stay, and converted to its dtype.
Error copy_into(KernelContext& context, const Tensor& from, Tensor& to) {
  Sizes sizes;
  const bool fits = broadcast_sizes(to.sizes(), &sizes) && broadcast_sizes(from.sizes(), &sizes);
  if (!fits || sizes.span() != to.sizes()) {
    return context.fail(Error::kInvalidArgument, "the source's sizes do not broadcast to the target's");
  }
  if (to.numel() == 0 || (same_layout(from, to) && from.raw() == to.raw())) return Error::kOk;
  const Tensor* tensors[] = {&to, &from};
  const Walk walk = walk_broadcast(tensors);
  if (from.dtype() == to.dtype()) {
    StridedCopy copy(element_size(to.dtype()));
    for (int d = 0; d < walk.rank; ++d) copy.add(walk.sizes[d], walk.strides[1][d], walk.strides[0][d]);
    copy.prepare();
    copy.run(context, from.raw(), to.raw());
    return Error::kOk;
  }
  const bool complex = is_complex(from.dtype()) || is_complex(to.dtype());
  for (const DType dtype : {from.dtype(), to.dtype()}) {
    if (!is_real(dtype) && !(complex ? is_complex(dtype) : is_narrow(dtype))) return unsupported_dtype(context);
  }
  if (complex) {
    complex_copy(from, to);
    return Error::kOk;
  }
  const Walk source_walk = operand_walk(walk, 1);
  const bool dense = walk.is_dense(1);
  context.parallel_for(to.numel(), kGrain,
                       [&](int64_t begin, int64_t end) { convert_range(source_walk, dense, from, to, begin, end); });
  return Error::kOk;
}

// The dtypes must be the same unless `converts`.
Error copy_whole(KernelContext& context, const Tensor& self, Tensor& out, bool converts) {
  if (!converts && self.dtype() != out.dtype()) {
    return context.fail(Error::kInvalidArgument, "input and output must have the same dtype");
  }
  if (const Error error = resize_out(context, out, self.sizes()); error != Error::kOk) return error;
  return copy_into(context, self, out);
}

}  // namespace

Error alias_copy_out(KernelContext& context, const arguments::alias_copy_out& args) {
  return copy_whole(context, args.self, args.out, false);
}
Error clone_out(KernelContext& context, const arguments::clone_out& args) {
  return copy_whole(context, args.self, args.out, false);
}
Error detach_copy_out(KernelContext& context, const arguments::detach_copy_out& args) {
  return copy_whole(context, args.self, args.out, false);
}
Error lift_fresh_copy_out(KernelContext& context, const arguments::lift_fresh_copy_out& args) {
  return copy_whole(context, args.self, args.out, false);
}
Error clone_dim_order_out(KernelContext& context, const arguments::clone_dim_order_out& args) {
  return copy_whole(context, args.self, args.out, false);
}
Error to_copy_out(KernelContext& context, const arguments::to_copy_out& args) {
  return copy_whole(context, args.self, args.out, true);
}
Error to_dim_order_copy_out(KernelContext& context, const arguments::to_dim_order_copy_out& args) {
  return copy_whole(context, args.self, args.out, true);
}

Error copy_out(KernelContext& context, const arguments::copy_out& args) {
  Tensor& out = args.out;
  if (const Error error = resize_out(context, out, args.self.sizes()); error != Error::kOk) return error;
  return copy_into(context, args.src, out);
}

Error copy_self(KernelContext& context, const arguments::copy_self& args) {
  return copy_into(context, args.src, args.self);
}

}  // namespace berth::portable
