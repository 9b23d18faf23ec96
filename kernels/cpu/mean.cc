#include "kernels/cpu/mean.h"

#include <algorithm>

#include "kernels/cpu/pool_last.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::cpu {
namespace {

constexpr int64_t kGrainElements = 1 << 16;
constexpr int64_t kChannelStep = 64;

// A dense block of [batch, pixels, channels] whose pixels are averaged.
struct Block {
  int64_t batch = 1, pixels = 1, channels = 1;
};

// Whether the dimensions in `mask` are one run in memory between those before and those behind; then `*block` is set.
bool is_block(const Tensor& self, uint32_t mask, Block* block) {
  int state = 0;  // 0: before the run, 1: in it, 2: behind
  for (const uint8_t d : self.dim_order()) {
    const bool reduced = (mask >> d & 1u) != 0;
    if (self.size(d) == 1) continue;
    if (state == 0 && reduced) state = 1;
    if (state == 1 && !reduced) state = 2;
    if (state == 2 && reduced) return false;
    (state == 0 ? block->batch : state == 1 ? block->pixels : block->channels) *= self.size(d);
  }
  return true;
}

// Whether the kept dimensions of `self` lie in `out` in the same order, so that blocks of channels are runs there too.
bool keeps_order(const Tensor& self, uint32_t mask, bool keepdim, const Tensor& out) {
  int64_t expected = 1;
  const Span<const uint8_t> order = self.dim_order();
  for (int i = self.rank() - 1; i >= 0; --i) {
    const int d = order[i];
    if ((mask >> d & 1u) != 0) continue;
    int own = d;
    for (int before = 0; !keepdim && before < d; ++before) own -= static_cast<int>(mask >> before & 1u);
    if (self.size(d) != 1 && out.stride(own) != expected) return false;
    expected *= self.size(d);
  }
  return true;
}

// Adds each byte of `channels` of each pixel, xor `flip`, to the sum of its channel.
BERTH_MULTIVERSION void add_bytes(const uint8_t* in, uint8_t flip, int64_t pixels, int64_t stride, int64_t channels,
                                  int32_t* sums) {
  for (int64_t i = 0; i < pixels; ++i, in += stride) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += in[c] ^ flip;
  }
}

// Sums are exact, as those of doubles are. REQUIRES: channels <= kChannelStep
void mean_bytes(const Tensor& self, int64_t offset, const Block& block, int64_t channels, float* out) {
  const bool is_signed = self.dtype() == DType::kI8;
  int32_t sums[kChannelStep] = {};
  add_bytes(self.data<uint8_t>() + offset, is_signed ? 0x80 : 0, block.pixels, block.channels, channels, sums);
  const double factor = 1 / static_cast<double>(block.pixels);
  const int64_t moved = is_signed ? 128 * block.pixels : 0;
  for (int64_t c = 0; c < channels; ++c) out[c] = static_cast<float>(static_cast<double>(sums[c] - moved) * factor);
}

// Whether a kernel of this room has these types: f32, or bytes as f32. Sums of more pixels are not of 32 bits.
bool takes(const arguments::mean_out& args, bool* bytes) {
  constexpr int64_t kMostBytes = 1 << 23;
  const DType self = args.self.dtype();
  *bytes = is_byte(self);
  if (args.out.dtype() != DType::kF32) return false;
  if (!*bytes) return self == DType::kF32 && !args.dtype.has_value();
  return args.dtype == static_cast<int64_t>(DType::kF32) && args.self.numel() <= kMostBytes;
}

}  // namespace

Error mean_dim_out(KernelContext& context, const arguments::mean_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  portable::ReducedDims dims = {0, args.keepdim};
  Block block;
  bool bytes = false;
  if (!takes(args, &bytes) || self.numel() == 0 ||
      portable::read_reduced_dims(context, args.dim, self, &dims.mask) != Error::kOk ||
      !is_block(self, dims.mask, &block) || block.channels < 8) {
    return portable::mean_out(context, args);
  }
  if (const Error error = portable::resize_reduced(context, self, dims, out); error != Error::kOk) return error;
  if (!keeps_order(self, dims.mask, dims.keepdim, out)) return portable::mean_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, self, out));
  const float factor = 1.0f / static_cast<float>(block.pixels);
  const int64_t steps = (block.channels + kChannelStep - 1) / kChannelStep;
  const int64_t grain = std::max<int64_t>(1, kGrainElements / (block.pixels * std::min(block.channels, kChannelStep)));
  context.parallel_for(block.batch * steps, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / steps;
      const int64_t last = std::min(bytes ? begin + 1 : end, (image + 1) * steps);
      const int64_t first = begin % steps * kChannelStep;
      const int64_t channels = std::min(block.channels, (last - image * steps) * kChannelStep) - first;
      const int64_t offset = image * block.pixels * block.channels + first;
      float* const to = out.data<float>() + image * block.channels + first;
      if (bytes) {
        mean_bytes(self, offset, block, channels, to);
      } else {
        sum_pixels(self.data<float>() + offset, block.pixels, block.channels, channels, factor, to);
      }
      begin = last;
    }
  });
  return Error::kOk;
}

}  // namespace berth::cpu
