// Group norm of images of f32, f16 and bf16 whose channels lie innermost, and of 16 bits too where they lie outermost;
// anything else goes to the portable kernel. What has 16 bits is widened a block at a time.
//
// An image's pixels are cut into blocks, each with a mean and a sum of squares of every channel; those are joined, in
// double precision, to the moments of the groups (Chan, Golub, LeVeque, The American Statistician 37(3), 1983). How
// many blocks there are depends on the sizes alone, so that results do not depend on threads.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args);
size_t native_group_norm_temp_bytes(const arguments::native_group_norm_out& args, int threads);

/// mean[c], and squares[c] = sum of (x - mean[c])^2, over `pixels` rows of `channels` floats. REQUIRES: pixels >= 1.
void channel_moments(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares);

/// Arrays of `channels` floats.
struct ChannelAffine {
  int64_t channels;
  const float* mean;
  const float* scale;
  const float* shift;
};

/// y = (x - mean[c]) * scale[c] + shift[c] for `pixels` rows of channels. `y` may be `x`. (With the mean in the shift,
/// what differs little from it would lose its digits.)
void normalize_channels(const float* x, int64_t pixels, const ChannelAffine& affine, float* y);

}  // namespace berth::cpu
