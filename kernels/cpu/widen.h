// Numbers of f16 and bf16 as f32 and back, for kernels that compute in f32 and round what they give once.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace berth::cpu {

/// y[i] = x[i]. REQUIRES: has_16_bits(type), which is x's; `x` and `y` are apart.
void widen(DType type, const void* x, float* y, int64_t n);

/// y[i] = x[i] to the nearest, ties to even; beyond the largest infinite. REQUIRES: has_16_bits(type), which is y's;
/// `x` and `y` are apart.
void narrow(DType type, const float* x, void* y, int64_t n);

}  // namespace berth::cpu
