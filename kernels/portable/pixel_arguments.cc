#include "kernels/portable/pixel_arguments.h"

#include "kernels/portable/layout_arguments.h"

namespace berth::portable {
namespace {

constexpr int64_t kMaxFactor = 32767;  // its square is a size

Error check(KernelContext& context, const Tensor& self, int64_t factor, const Tensor& out) {
  if (self.rank() < 3 || out.rank() != self.rank()) {
    return context.fail(Error::kInvalidArgument, "a pixel shuffle takes tensors of rank 3 or more, its output alike");
  }
  if (factor < 1 || factor > kMaxFactor) {
    return context.fail(Error::kInvalidArgument, "a pixel shuffle's factor must be between 1 and 32767");
  }
  return Error::kOk;
}

}  // namespace

Error prepare_pixel_shuffle(KernelContext& context, const arguments::pixel_shuffle_out& args, int64_t* factor) {
  const Tensor& self = args.self;
  const int64_t n = args.upscale_factor;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check(context, self, n, out));
  const int channel = self.rank() - 3;
  if (self.size(channel) % (n * n) != 0) {
    return context.fail(Error::kInvalidArgument, "pixel_shuffle's channels must be a multiple of the factor's square");
  }
  Sizes sizes = sizes_of(self);
  sizes.rank = channel;
  if (!push_size(&sizes, self.size(channel) / (n * n)) || !push_size(&sizes, self.size(channel + 1) * n) ||
      !push_size(&sizes, self.size(channel + 2) * n)) {
    return context.fail(Error::kInvalidArgument, "pixel_shuffle's result is too large");
  }
  *factor = n;
  return prepare_out(context, self, out, sizes);
}

Error prepare_pixel_unshuffle(KernelContext& context, const arguments::pixel_unshuffle_out& args, int64_t* factor) {
  const Tensor& self = args.self;
  const int64_t n = args.downscale_factor;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check(context, self, n, out));
  const int channel = self.rank() - 3;
  if (self.size(channel + 1) % n != 0 || self.size(channel + 2) % n != 0) {
    return context.fail(Error::kInvalidArgument, "pixel_unshuffle's height and width must be multiples of the factor");
  }
  Sizes sizes = sizes_of(self);
  sizes.rank = channel;
  if (!push_size(&sizes, self.size(channel) * n * n) || !push_size(&sizes, self.size(channel + 1) / n) ||
      !push_size(&sizes, self.size(channel + 2) / n)) {
    return context.fail(Error::kInvalidArgument, "pixel_unshuffle's result is too large");
  }
  *factor = n;
  return prepare_out(context, self, out, sizes);
}

}  // namespace berth::portable
