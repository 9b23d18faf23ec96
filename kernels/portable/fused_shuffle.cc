// berth::shuffle: images joined, their channels shuffled, and taken apart again.
//
//   parts    [n, c_i, h, w], joined along the channels: C of them
//   groups   channel j of the shuffled is channel j % groups * (C / groups) + j / groups of the joined
//   sizes    how many channels each result has, in order; C in all
#include "kernels/portable/fused_shuffle.h"

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr const char* kSizes = "sizes of the parts, groups and sizes of the results do not go together";

// The planes of one channel of all images, from `from` to `to`.
void copy_channel(const Tensor& from, int64_t in, Tensor& to, int64_t out) {
  const float* x = from.data<float>() + in * from.stride(1);
  float* y = to.data<float>() + out * to.stride(1);
  for (int64_t n = 0; n < to.size(0); ++n) {
    for (int64_t i = 0; i < to.size(2); ++i) {
      const float* row = x + n * from.stride(0) + i * from.stride(2);
      float* made = y + n * to.stride(0) + i * to.stride(2);
      for (int64_t j = 0; j < to.size(3); ++j) made[j * to.stride(3)] = row[j * from.stride(3)];
    }
  }
}

bool is_image(const Tensor& tensor) { return tensor.dtype() == DType::kF32 && tensor.rank() == 4; }

bool same_but_channels(const Tensor& a, const Tensor& b) {
  return a.size(0) == b.size(0) && a.size(2) == b.size(2) && a.size(3) == b.size(3);
}

}  // namespace

Error prepare_shuffle(KernelContext& context, const arguments::fused_shuffle_out& args) {
  const TensorList parts = args.parts;
  const TensorList outs = args.out;
  const int64_t groups = args.groups;
  if (parts.size() == 0 || outs.size() != args.sizes.size()) return context.fail(Error::kInvalidArgument, kSizes);
  int64_t channels = 0;
  for (const Tensor& part : parts) {
    if (!is_image(part)) return context.fail(Error::kInvalidArgument, "fused operators take f32 images");
    if (!same_but_channels(part, parts[0])) return context.fail(Error::kInvalidArgument, kSizes);
    channels += part.size(1);
    BERTH_RETURN_IF_ERROR(check_memory(context, part));
  }
  if (groups < 1 || channels % groups != 0) return context.fail(Error::kInvalidArgument, kSizes);
  int64_t left = channels;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!is_image(outs[i])) return context.fail(Error::kInvalidArgument, "fused operators take f32 images");
    const int64_t size = args.sizes[i];
    if (size < 0 || size > left) return context.fail(Error::kInvalidArgument, kSizes);
    left -= size;
    const Span<const int32_t> image = parts[0].sizes();
    const int32_t wanted[] = {image[0], static_cast<int32_t>(size), image[2], image[3]};
    BERTH_RETURN_IF_ERROR(resize_out(context, outs[i], Span<const int32_t>(wanted, 4)));
    BERTH_RETURN_IF_ERROR(check_memory(context, outs[i]));
  }
  return left == 0 ? Error::kOk : context.fail(Error::kInvalidArgument, kSizes);
}

Error fused_shuffle_out(KernelContext& context, const arguments::fused_shuffle_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_shuffle(context, args));
  const TensorList parts = args.parts;
  const int64_t groups = args.groups;
  int64_t channels = 0;
  for (const Tensor& part : parts) channels += part.size(1);
  int64_t shuffled = 0;
  for (Tensor& to : args.out) {
    for (int64_t j = 0; j < to.size(1); ++j, ++shuffled) {
      int64_t in = shuffled % groups * (channels / groups) + shuffled / groups;
      size_t part = 0;
      for (; in >= parts[part].size(1); ++part) in -= parts[part].size(1);
      copy_channel(parts[part], in, to, j);
    }
  }
  return Error::kOk;
}

}  // namespace berth::portable
