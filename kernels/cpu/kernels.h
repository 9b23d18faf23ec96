// The fast kernels of the host: those operators, fused ones among them, for which there is something better than the
// portable kernel. A backend gives this table first and the portable one after it (CpuBackend does).
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

/// Static storage; no initialisation order. Their results are the portable kernels' within rtol 1e-4 and atol 1e-5 x
/// the largest magnitude, and those of f16 and bf16 within a unit in the last place. What such a kernel does not take
/// (an element type, a dynamic size) it hands to the portable one.
KernelTable kernels();

}  // namespace berth::cpu
