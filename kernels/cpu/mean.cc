#include "kernels/cpu/mean.h"

#include <algorithm>

#include "kernels/cpu/pool_last.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/layout_arguments.h"
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

}  // namespace

Error mean_dim_out(KernelContext& context, const arguments::mean_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  portable::ReducedDims dims = {0, args.keepdim};
  Block block;
  if (self.dtype() != DType::kF32 || out.dtype() != DType::kF32 || args.dtype.has_value() || self.numel() == 0 ||
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
      const int64_t last = std::min(end, (image + 1) * steps);
      const int64_t first = begin % steps * kChannelStep;
      const int64_t channels = std::min(block.channels, (last - image * steps) * kChannelStep) - first;
      sum_pixels(self.data<float>() + image * block.pixels * block.channels + first, block.pixels, block.channels,
                 channels, factor, out.data<float>() + image * block.channels + first);
      begin = last;
    }
  });
  return Error::kOk;
}

}  // namespace berth::cpu
