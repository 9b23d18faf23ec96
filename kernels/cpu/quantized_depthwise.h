// Depthwise convolutions of bytes: pixel by pixel, 64 channels at a time.
#pragma once

#include "kernels/cpu/quantized_run.h"

namespace berth::cpu {

/// Temporary memory without padding.
size_t depthwise_temp_bytes(const QuantizedJob& job);

/// REQUIRES: job.layout->depthwise; the result has elements.
Error run_depthwise(KernelContext& context, const QuantizedJob& job, const QuantizedFinish& finish);

}  // namespace berth::cpu
