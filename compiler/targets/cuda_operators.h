// Which operators the CUDA backend runs: those of backends/cuda/operators.def, the one list that its kernels are made
// by.
#pragma once

#include "compiler/targets/target.h"

namespace berth::targets {

/// kOperator for operators that are not in the list; kDType for complex and quantised elements and u64, for products,
/// convolutions, norms and pooling of anything but f32, f16, bf16, and for masks as indices.
Support cuda_supports(const ir::Method& method, const ir::Node& node);

}  // namespace berth::targets
