#include "kernels/cpu/group_norm.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::cpu {
namespace {

// Of a block: what a core's own cache holds. Of an image of f32: no more blocks than are worth joining; one of 16 bits
// is widened block by block.
constexpr int64_t kBlockElements = 1 << 14;
constexpr int64_t kMostBlocks = 16;

bool is_ours(DType type) { return type == DType::kF32 || has_16_bits(type); }

struct Images {
  DType type = DType::kF32;
  int64_t count = 0, pixels = 0, channels = 0, groups = 1;

  int64_t blocks() const {
    if (has_16_bits(type)) return std::min(pixels, ceil_div(pixels * channels, kBlockElements));
    return std::clamp<int64_t>(pixels * channels / kBlockElements, 1, kMostBlocks);
  }
  int64_t begin(int64_t block) const { return pixels * block / blocks(); }
  int64_t grain() const { return std::max<int64_t>(1, kBlockElements * blocks() / (pixels * channels)); }
  /// Floats, of each channel: means and squares of the blocks; mean, scale and shift.
  int64_t of_channels() const { return align_up<int64_t>(count * (blocks() * 2 + 3) * channels, 16); }
  /// Floats, of a block that is widened. Those of smaller images are no larger.
  int64_t of_block() const {
    return has_16_bits(type) ? align_up<int64_t>(std::min(pixels * channels, kBlockElements + channels), 16) : 0;
  }
  int slots(int threads) const {
    return portable::slots_for(threads, count * blocks(), static_cast<double>(count * pixels * channels),
                               kBlockElements);
  }
  int64_t temp(int threads) const { return of_channels() + slots(threads) * of_block(); }
};

bool images_of(const Tensor& input, Images* images) {
  if (!is_channels_last(input) || !is_ours(input.dtype()) || input.numel() == 0) return false;
  images->type = input.dtype();
  images->count = input.size(0);
  images->channels = input.size(1);
  images->pixels = int64_t{input.size(2)} * input.size(3);
  return true;
}

// One element a channel, or none.
bool is_affine(const Tensor* affine, int64_t channels) {
  return affine == nullptr ||
         (is_ours(affine->dtype()) && affine->is_contiguous() && affine->rank() == 1 && affine->size(0) == channels);
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
  float* wide;    // of each thread: a block in f32, unless all are
};

// Whether the rest is what an input of so many images and channels asks for.
bool takes_rest(const arguments::native_group_norm_out& args, int64_t count, int64_t channels) {
  return args.out0.dtype() == args.input.dtype() && args.out0.sizes() == args.input.sizes() && count == args.N &&
         channels == args.C && args.group > 0 && channels % args.group == 0 && is_affine(args.weight, channels) &&
         is_affine(args.bias, channels) && is_ours(args.out1.dtype()) && args.out1.is_contiguous() &&
         is_ours(args.out2.dtype()) && args.out2.is_contiguous();
}

bool takes(const arguments::native_group_norm_out& args, Images* images) {
  if (!images_of(args.input, images)) return false;
  images->groups = args.group;
  return is_channels_last(args.out0) && takes_rest(args, images->count, images->channels);
}

Error prepare_outputs(KernelContext& context, const arguments::native_group_norm_out& args) {
  const int32_t moments[] = {static_cast<int32_t>(args.N), static_cast<int32_t>(args.group)};
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out1, moments));
  BERTH_RETURN_IF_ERROR(portable::resize_out(context, args.out2, moments));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.input, args.out0));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.out1, args.out2));
  if (args.weight != nullptr) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.weight));
  if (args.bias != nullptr) BERTH_RETURN_IF_ERROR(portable::check_memory(context, *args.bias));
  return Error::kOk;
}

// f(i, pixels, x, y) for each block i of all images: the pixels of the input, and where to write them if any are
// written.
template <typename F>
void for_each_block(KernelContext& context, const Call& call, bool writes, F&& f) {
  const Images& images = call.images;
  const int64_t channels = images.channels, blocks = images.blocks();
  const auto first_of = [&](int64_t i) { return i / blocks * images.pixels + images.begin(i % blocks); };
  const auto pixels_of = [&](int64_t i) { return images.begin(i % blocks + 1) - images.begin(i % blocks); };
  if (has_16_bits(images.type)) {
    const auto* x = static_cast<const uint16_t*>(call.args.input.raw());
    auto* y = static_cast<uint16_t*>(call.args.out0.raw());
    portable::for_each_item(
        context, images.slots(context.threads()), images.count * blocks,
        [&](float* wide, int64_t i) {
          const int64_t at = first_of(i) * channels, n = pixels_of(i) * channels;
          widen(images.type, x + at, wide, n);
          f(i, pixels_of(i), wide, wide);
          if (writes) narrow(images.type, wide, y + at, n);
        },
        [&](int64_t slot) { return call.wide + slot * images.of_block(); });
    return;
  }
  const float* x = call.args.input.data<float>();
  float* y = call.args.out0.data<float>();
  context.parallel_for(images.count * blocks, images.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i, pixels_of(i), x + first_of(i) * channels, y + first_of(i) * channels);
  });
}

void find_moments(KernelContext& context, const Call& call) {
  const int64_t channels = call.images.channels;
  for_each_block(context, call, false, [&](int64_t i, int64_t pixels, const float* x, float*) {
    channel_moments(x, pixels, channels, call.blocks + i * 2 * channels, call.blocks + (i * 2 + 1) * channels);
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
    portable::store_element(call.args.out1, i, whole.mean);
    portable::store_element(call.args.out2, i, factor);
  }
}

void normalize(KernelContext& context, const Call& call) {
  const int64_t channels = call.images.channels, blocks = call.images.blocks();
  for_each_block(context, call, true, [&](int64_t i, int64_t pixels, const float* x, float* y) {
    const float* own = call.affine + i / blocks * 3 * channels;
    normalize_channels(x, pixels, {channels, own, own + channels, own + 2 * channels}, y);
  });
}

// Groups of 16 bits whose elements are neighbours, which are widened a part at a time.
struct Groups {
  int64_t count = 0, channels = 0, plane = 0;  // of all images; of a group; elements of a channel

  int64_t size() const { return channels * plane; }
  int64_t part() const { return std::min(size(), kBlockElements); }
  int slots(int threads) const {
    return portable::slots_for(threads, count, static_cast<double>(count * size()), kBlockElements);
  }
  size_t temp_bytes(int threads) const {
    return static_cast<size_t>(slots(threads) * align_up<int64_t>(part(), 16)) * sizeof(float);
  }
};

bool groups_of(const arguments::native_group_norm_out& args, Groups* groups) {
  const Tensor& input = args.input;
  if (!has_16_bits(input.dtype()) || !input.is_contiguous() || input.rank() < 2 || input.numel() == 0) return false;
  if (args.group <= 0 || input.size(1) % args.group != 0) return false;
  groups->count = input.size(0) * args.group;
  groups->channels = input.size(1) / args.group;
  groups->plane = input.numel() / (int64_t{input.size(0)} * input.size(1));
  return true;
}

class GroupWorker {
 public:
  GroupWorker(const arguments::native_group_norm_out& args, const Groups& groups, float* wide)
      : args_(args), groups_(groups), wide_(wide) {}

  void run(int64_t group) {
    const int64_t size = groups_.size();
    x_ = static_cast<const uint16_t*>(args_.input.raw()) + group * size;
    auto* const y = static_cast<uint16_t*>(args_.out0.raw()) + group * size;
    const Moments whole = find_moments();
    const double factor = 1 / std::sqrt(whole.squares / static_cast<double>(size) + args_.eps);
    for (int64_t begin = 0; begin < size; begin += groups_.part()) {
      const int64_t n = std::min(groups_.part(), size - begin);
      // A group of one part is still there.
      if (size > n) widen(args_.input.dtype(), x_ + begin, wide_, n);
      for (int64_t i = begin; i < begin + n;) {
        const int64_t c = i / groups_.plane;
        const int64_t end = std::min((c + 1) * groups_.plane, begin + n);
        normalize(group % args_.group * groups_.channels + c, {whole.mean, factor}, wide_ + (i - begin), end - i);
        i = end;
      }
      narrow(args_.input.dtype(), wide_, y + begin, n);
    }
    portable::store_element(args_.out1, group, whole.mean);
    portable::store_element(args_.out2, group, factor);
  }

 private:
  Moments find_moments() {
    Moments whole;
    for (int64_t begin = 0; begin < groups_.size(); begin += groups_.part()) {
      const int64_t n = std::min(groups_.part(), groups_.size() - begin);
      widen(args_.input.dtype(), x_ + begin, wide_, n);
      const auto own = static_cast<double>(n), before = static_cast<double>(begin);
      const double mean = portable::sum_f32(wide_, n) / own;
      const double off = mean - whole.mean;
      whole.squares +=
          portable::sum_squares_f32(wide_, n, static_cast<float>(mean)) + off * off * before * own / (before + own);
      whole.mean += off * own / (before + own);
    }
    return whole;
  }

  // Numbers of 16 bits have so few digits that f32 loses none with the mean in the shift.
  void normalize(int64_t channel, portable::Moments moments, float* x, int64_t n) const {
    const double scale = moments.rstd * portable::element_or(args_.weight, channel, 1);
    const double shift = portable::element_or(args_.bias, channel, 0) - moments.mean * scale;
    portable::scale_shift_f32(x, x, n, static_cast<float>(scale), static_cast<float>(shift));
  }

  const arguments::native_group_norm_out& args_;
  const Groups& groups_;
  float* wide_;
  const uint16_t* x_ = nullptr;
};

Error run_groups(KernelContext& context, const arguments::native_group_norm_out& args, const Groups& groups) {
  BERTH_RETURN_IF_ERROR(prepare_outputs(context, args));
  auto* temp = static_cast<float*>(context.allocate_temp(groups.temp_bytes(context.threads())));
  if (temp == nullptr) return Error::kMemoryAllocationFailed;
  portable::for_each_item(
      context, groups.slots(context.threads()), groups.count,
      [](GroupWorker& worker, int64_t group) { worker.run(group); },
      [&](int64_t slot) { return GroupWorker(args, groups, temp + slot * align_up<int64_t>(groups.part(), 16)); });
  return Error::kOk;
}

}  // namespace

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args) {
  Groups groups;
  if (groups_of(args, &groups) && args.out0.is_contiguous() &&
      takes_rest(args, args.input.size(0), args.input.size(1))) {
    return run_groups(context, args, groups);
  }
  Images images;
  if (!takes(args, &images)) return portable::native_group_norm_out(context, args);
  BERTH_RETURN_IF_ERROR(prepare_outputs(context, args));
  auto* temp = static_cast<float*>(context.allocate_temp(images.temp(context.threads()) * sizeof(float)));
  if (temp == nullptr) return Error::kMemoryAllocationFailed;
  const Call call = {args, images, temp, temp + images.count * images.blocks() * 2 * images.channels,
                     temp + images.of_channels()};
  find_moments(context, call);
  join_groups(call);
  normalize(context, call);
  return Error::kOk;
}

size_t native_group_norm_temp_bytes(const arguments::native_group_norm_out& args, int threads) {
  Groups groups;
  if (groups_of(args, &groups)) return groups.temp_bytes(threads) + portable::kTempPadding;
  Images images;
  if (!images_of(args.input, &images)) return 0;
  return images.temp(threads) * sizeof(float) + portable::kTempPadding;
}

}  // namespace berth::cpu
