// Convolutions with one input channel a group, in f32: each output plane is a sliding window over one input plane.
#pragma once

#include "kernels/portable/conv_arguments.h"

namespace berth::portable {

/// Whether run_depthwise() takes this convolution. REQUIRES: its strides are filled in.
bool is_fast_depthwise(const Convolution& convolution);

/// The next three REQUIRE is_fast_depthwise(). `scratch` is aligned to 64.
size_t depthwise_scratch_bytes(const Convolution& convolution, int threads);
void run_depthwise(KernelContext& context, const Convolution& convolution, void* scratch);

/// The most that any such convolution needs.
size_t max_depthwise_scratch_bytes(int threads);

}  // namespace berth::portable
