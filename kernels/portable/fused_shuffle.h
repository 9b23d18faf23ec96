// The arguments of berth::shuffle, checked once for every kernel of it.
#pragma once

#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the outputs.
Error prepare_shuffle(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::portable
