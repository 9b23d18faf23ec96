// Which portable kernels take temporary memory, and how much (see TempBytesFunction in runtime/kernel.h).
//
// A kernel that takes some adds one specialisation here; the function stands beside its kernel.
#pragma once

#include "kernels/portable/portable.h"

namespace berth::portable {

template <KernelFunction kernel>
constexpr TempBytesFunction kTempBytes = nullptr;

}  // namespace berth::portable
