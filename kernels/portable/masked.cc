// masked_select and masked_scatter: the elements where a mask is true, taken out or put in, in row-major order.
#include "base/math.h"
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/element_word.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

Error check_mask(KernelContext& context, const Tensor& mask) {
  if (mask.dtype() == DType::kBool) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "a mask must be a bool tensor");
}

// What both broadcast to; fewer than 2^62 elements.
Error broadcast_both(KernelContext& context, const Tensor& self, const Tensor& mask, Sizes* sizes) {
  bool fits = broadcast_sizes(self.sizes(), sizes) && broadcast_sizes(mask.sizes(), sizes);
  int64_t count = 1;
  for (const int32_t size : sizes->span()) {
    // An empty dimension may stand beside any others.
    fits = fits && checked_mul<int64_t>(count, size == 0 ? 1 : size, &count) && count < INT64_C(1) << 62;
  }
  if (fits) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "self and mask do not broadcast to one another");
}

// Row-major order of `sizes`; the first operand is `tensor`, the second the mask.
Walk walk_both(const Tensor& tensor, const Tensor& mask, const Sizes& sizes) {
  Walk walk(2);
  for (int d = 0; d < sizes.rank; ++d) {
    const int64_t strides[] = {broadcast_stride(tensor, sizes.rank, d), broadcast_stride(mask, sizes.rank, d)};
    walk.add(sizes.data[d], strides);
  }
  return walk;
}

// Calls `f(offset of the tensor's element)` for each position where the mask is true, until it returns false.
template <typename F>
void for_each_true(const Walk& walk, const Tensor& mask, F&& f) {
  const uint8_t* truths = mask.data<uint8_t>();
  bool more = true;
  for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
    for (int64_t i = 0; i < n && more; ++i) {
      if (truths[at[1] + i * walk.step(1)] != 0) more = f(at[0] + i * walk.step(0));
    }
  });
}

int64_t count_true(const Walk& walk, const Tensor& mask) {
  int64_t count = 0;
  for_each_true(walk, mask, [&](int64_t) {
    ++count;
    return true;
  });
  return count;
}

}  // namespace

Error masked_select_out(KernelContext& context, const arguments::masked_select_out& args) {
  const Tensor& self = args.self;
  const Tensor& mask = args.mask;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_mask(context, mask));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, self, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, mask));
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(broadcast_both(context, self, mask, &sizes));
  const Walk walk = walk_both(self, mask, sizes);
  // Two tensors can broadcast to any number of positions, which nothing has to hold; honest ones leave room for them.
  if (walk.count / 64 > 1024 + self.numel() + mask.numel() + out.capacity()) {
    return context.fail(Error::kOutOfResources, "masked_select: there are far more places than elements");
  }
  const int64_t count = count_true(walk, mask);
  Sizes result;
  if (!push_size(&result, count)) {
    return context.fail(Error::kInvalidArgument, "masked_select: 2^31 elements or more are selected");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, result.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  const int64_t bytes = static_cast<int64_t>(element_size(self.dtype()));
  dispatch_word(bytes, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    int64_t written = 0;
    for_each_true(walk, mask, [&](int64_t offset) {
      // No more than were counted, whatever happens to the mask meanwhile.
      if (written == count) return false;
      store_word(out.data<char>() + written++ * bytes, load_word<Word>(self.data<char>() + offset * bytes));
      return true;
    });
  });
  return Error::kOk;
}

Error masked_scatter_out(KernelContext& context, const arguments::masked_scatter_out& args) {
  const Tensor& self = args.self;
  const Tensor& mask = args.mask;
  const Tensor& source = args.source;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_mask(context, mask));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, source, self));
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(broadcast_both(context, self, mask, &sizes));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  BERTH_RETURN_IF_ERROR(check_memory(context, mask, source));
  if (out.numel() == 0) return Error::kOk;
  const Walk walk = walk_both(out, mask, sizes);
  if (count_true(walk, mask) > source.numel()) {
    return context.fail(Error::kInvalidArgument, "masked_scatter: source has fewer elements than the mask takes");
  }
  const int64_t bytes = static_cast<int64_t>(element_size(self.dtype()));
  StridedCopy copy(element_size(self.dtype()));
  for (int d = 0; d < sizes.rank; ++d) {
    copy.add(sizes.data[d], broadcast_stride(self, sizes.rank, d), out.stride(d));
  }
  copy.prepare();
  if (self.raw() != out.raw()) copy.run(context, self.raw(), out.raw());
  dispatch_word(bytes, [&](auto tag) {
    using Word = typename decltype(tag)::type;
    int64_t read = 0;
    for_each_true(walk, mask, [&](int64_t offset) {
      if (read == source.numel()) return false;
      const char* from = source.data<char>() + element_offset(source, read++) * bytes;
      store_word(out.data<char>() + offset * bytes, load_word<Word>(from));
      return true;
    });
  });
  return Error::kOk;
}

}  // namespace berth::portable
