// Depthwise convolutions of channels-last f32 tensors: the channels of a pixel lie side by side, and go side by side
// through the same taps.
#pragma once

#include "kernels/portable/conv_arguments.h"

namespace berth::portable {

/// Whether run_depthwise_last() takes this convolution. REQUIRES: its strides are filled in.
bool is_depthwise_last(const Convolution& convolution);

/// The next two REQUIRE is_depthwise_last(). `scratch` is aligned to 64.
size_t depthwise_last_scratch_bytes(const Convolution& convolution, int threads);
void run_depthwise_last(KernelContext& context, const Convolution& convolution, void* scratch);

/// The most that any such convolution needs.
size_t max_depthwise_last_scratch_bytes(int threads);

}  // namespace berth::portable
