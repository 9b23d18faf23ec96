// repeat_interleave.Tensor: index i, repeats[i] times, for every i.
#include "base/math.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename I>
Error repeat(KernelContext& context, const Tensor& repeats, std::optional<int64_t> output_size, Tensor& out) {
  const I* counts = repeats.data<I>();
  int64_t total = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    if (counts[i] < 0) return context.fail(Error::kInvalidArgument, "repeat_interleave: a repeat is negative");
    if (!checked_add<int64_t>(total, counts[i], &total)) total = INT64_MAX;
  }
  if (output_size.has_value() && *output_size != total) {
    return context.fail(Error::kInvalidArgument, "repeat_interleave: output_size is not the sum of the repeats");
  }
  Sizes sizes;
  if (!push_size(&sizes, total)) {
    return context.fail(Error::kInvalidArgument, "repeat_interleave: the result has 2^31 elements or more");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  I* to = out.data<I>();
  int64_t written = 0;
  for (int64_t i = 0; i < repeats.numel(); ++i) {
    // No more than were counted, whatever happens to the repeats meanwhile.
    for (I left = counts[i]; left > 0 && written < total; --left) to[written++] = static_cast<I>(i);
  }
  return Error::kOk;
}

}  // namespace

Error repeat_interleave_Tensor_out(KernelContext& context, const arguments::repeat_interleave_Tensor_out& args) {
  const Tensor& repeats = args.repeats;
  Tensor& out = args.out;
  if (repeats.rank() != 1) return context.fail(Error::kInvalidArgument, "repeat_interleave: repeats is not of rank 1");
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, repeats, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, repeats));
  return dispatch_index(context, repeats.dtype(), [&](auto tag) {
    return repeat<typename decltype(tag)::type>(context, repeats, args.output_size, out);
  });
}

}  // namespace berth::portable
