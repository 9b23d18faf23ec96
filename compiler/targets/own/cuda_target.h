// The target `cuda`: delegates on GPUs, for CudaBackend (backends/cuda/device/cuda_backend.h).
//
// It takes the operators of backends/cuda/operators.def, the list that the kernels are made by: none with complex or
// quantised elements or u64, products, convolutions, norms and pooling for f32, f16 and bf16 alone, and no masks as
// indices.
#pragma once

#include "plugin/target.h"

namespace berth::targets::own {

class CudaTarget final : public plugin::NestedTarget {
 public:
  CudaTarget();

  plugin::Status takes(const plugin::Node& node, const plugin::Specs& specs) override;
};

}  // namespace berth::targets::own
