// Transposed convolutions by tiles. With a stride of s, every s-th pixel of the result sees the same taps, and sees
// them as a convolution of stride 1 does: the result is s x s such convolutions, whose pixels lie s apart. A window
// that is as large as the stride makes each a plain product.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Null for convolutions that are not transposed, for other layouts than channels last, and for strides of more than 8.
std::unique_ptr<EngineKind> transposed_tile_kind(const ConvSpec& spec);

}  // namespace berth::cpu
