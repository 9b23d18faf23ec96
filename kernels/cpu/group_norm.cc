#include "kernels/cpu/group_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/channels_last.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

// Of a block: what a core's own cache holds. Of an image: no more blocks than are worth joining.
constexpr int64_t kBlockElements = 1 << 14;
constexpr int64_t kMostBlocks = 16;

struct Images {
  int64_t count = 0, pixels = 0, channels = 0, groups = 1;

  int64_t blocks() const { return std::clamp<int64_t>(pixels * channels / kBlockElements, 1, kMostBlocks); }
  int64_t begin(int64_t block) const { return pixels * block / blocks(); }
  int64_t grain() const { return std::max<int64_t>(1, kBlockElements * blocks() / (pixels * channels)); }
  /// Floats, of each channel: means and squares of the blocks; mean, scale and shift.
  int64_t temp() const { return count * (blocks() * 2 + 3) * channels; }
};

bool images_of(const Tensor& input, Images* images) {
  if (!is_channels_last_f32(input) || input.numel() == 0) return false;
  images->count = input.size(0);
  images->channels = input.size(1);
  images->pixels = int64_t{input.size(2)} * input.size(3);
  return true;
}

// One element a channel, or none.
bool is_affine(const Tensor* affine, int64_t channels) {
  return affine == nullptr || (are_dense_f32(*affine) && affine->rank() == 1 && affine->size(0) == channels);
}

struct Moments {
  double mean = 0, squares = 0;
};

// Of channels [first, last) over all blocks.
Moments join(const Images& images, const float* blocks, int64_t first, int64_t last) {
  const double count = static_cast<double>(images.pixels) * static_cast<double>(last - first);
  Moments whole;
  for (int64_t b = 0; b < images.blocks(); ++b) {
    const auto pixels = static_cast<double>(images.begin(b + 1) - images.begin(b));
    const float* mean = blocks + b * 2 * images.channels;
    for (int64_t c = first; c < last; ++c) whole.mean += static_cast<double>(mean[c]) * pixels / count;
  }
  for (int64_t b = 0; b < images.blocks(); ++b) {
    const auto pixels = static_cast<double>(images.begin(b + 1) - images.begin(b));
    const float* mean = blocks + b * 2 * images.channels;
    for (int64_t c = first; c < last; ++c) {
      const double off = static_cast<double>(mean[c]) - whole.mean;
      whole.squares += static_cast<double>(mean[images.channels + c]) + pixels * off * off;
    }
  }
  whole.squares /= count;
  return whole;
}

// What the kernel was called with, once it has taken the call.
struct Call {
  const arguments::native_group_norm_out& args;
  Images images;
  float* blocks;  // of each block of an image: means, then squares, of its channels
  float* affine;  // of each image: mean, factor and shift of its channels
};

bool takes(const arguments::native_group_norm_out& args, Images* images) {
  if (!images_of(args.input, images)) return false;
  images->groups = args.group;
  return is_channels_last_f32(args.out0) && args.out0.sizes() == args.input.sizes() && images->count == args.N &&
         images->channels == args.C && args.group > 0 && images->channels % args.group == 0 &&
         is_affine(args.weight, images->channels) && is_affine(args.bias, images->channels) &&
         are_dense_f32(args.out1, args.out2);
}

Error prepare_outputs(KernelContext& context, const arguments::native_group_norm_out& args, const Images& images) {
  const int32_t moments[] = {static_cast<int32_t>(images.count), static_cast<int32_t>(images.groups)};
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, moments));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, moments));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.input, args.out0));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.out1, args.out2));
  if (args.weight != nullptr) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.weight));
  if (args.bias != nullptr) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.bias));
  return Error::kOk;
}

void find_moments(KernelContext& context, const Call& call) {
  const Images& images = call.images;
  const int64_t channels = images.channels, blocks = images.blocks();
  const float* x = call.args.input.data<float>();
  context.parallel_for(images.count * blocks, images.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = images.begin(i % blocks);
      channel_moments(x + (i / blocks * images.pixels + first) * channels, images.begin(i % blocks + 1) - first,
                      channels, call.blocks + i * 2 * channels, call.blocks + (i * 2 + 1) * channels);
    }
  });
}

// The moments of each group, and what they make of its channels.
void join_groups(const Call& call) {
  const Images& images = call.images;
  const int64_t channels = images.channels, size = channels / images.groups;
  for (int64_t i = 0; i < images.count * images.groups; ++i) {
    const int64_t image = i / images.groups;
    const int64_t first = i % images.groups * size;
    const Moments whole = join(images, call.blocks + image * images.blocks() * 2 * channels, first, first + size);
    const double factor = 1 / std::sqrt(whole.squares + call.args.eps);
    float* own = call.affine + image * 3 * channels;
    for (int64_t c = first; c < first + size; ++c) {
      own[c] = static_cast<float>(whole.mean);
      own[channels + c] = static_cast<float>(factor * portable::element_or(call.args.weight, c, 1));
      own[2 * channels + c] = static_cast<float>(portable::element_or(call.args.bias, c, 0));
    }
    call.args.out1.data<float>()[i] = static_cast<float>(whole.mean);
    call.args.out2.data<float>()[i] = static_cast<float>(factor);
  }
}

void normalize(KernelContext& context, const Call& call) {
  const Images& images = call.images;
  const int64_t channels = images.channels, blocks = images.blocks();
  const float* x = call.args.input.data<float>();
  float* y = call.args.out0.data<float>();
  context.parallel_for(images.count * blocks, images.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = images.begin(i % blocks);
      const int64_t offset = (i / blocks * images.pixels + first) * channels;
      const float* own = call.affine + i / blocks * 3 * channels;
      normalize_channels(x + offset, images.begin(i % blocks + 1) - first,
                         {channels, own, own + channels, own + 2 * channels}, y + offset);
    }
  });
}

}  // namespace

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args) {
  Images images;
  if (!takes(args, &images)) return portable::native_group_norm_out(context, args);
  BERTH_RETURN_IF_ERROR(prepare_outputs(context, args, images));
  auto* temp = static_cast<float*>(context.allocate_temp(images.temp() * sizeof(float)));
  if (temp == nullptr) return Error::kMemoryAllocationFailed;
  const Call call = {args, images, temp, temp + images.count * images.blocks() * 2 * images.channels};
  find_moments(context, call);
  join_groups(call);
  normalize(context, call);
  return Error::kOk;
}

size_t native_group_norm_temp_bytes(const arguments::native_group_norm_out& args, int) {
  Images images;
  if (!images_of(args.input, &images)) return 0;
  return images.temp() * sizeof(float) + portable::kTempPadding;
}

}  // namespace berth::cpu
