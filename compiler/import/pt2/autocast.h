// torch.autocast: a region whose products are computed in 16 bits, and which export keeps as a graph of its own
// (wrap_with_autocast). run_decompositions() writes its casts into the file instead.
//
// Source: PyTorch's page on autocast, "CPU ops that autocast to bfloat16 or float16" and "to float32".
#pragma once

#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace berth::pt2 {

/// What a region that computes products in `type` casts the floats to that `op` reads, a name such as
/// "aten.conv2d.padding"; nothing where they stay. f64 always stays.
std::optional<DType> autocast(std::string_view op, DType type);

}  // namespace berth::pt2
