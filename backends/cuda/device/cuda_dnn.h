// CudaDnn: convolutions by cuDNN. Without its headers at build time, create() always gives null.
#pragma once

#include <memory>

#include "backends/cuda/device/cuda_blas.h"
#include "kernels/portable/conv_arguments.h"

namespace berth::cuda {

/// Of one stream. f32 is computed in f32 by algorithms that are matrix products; f16 and bf16 are summed in f32.
class CudaDnn {
 public:
  /// Null where the library is not there or does not start, which the log says. REQUIRES: the device is current.
  static std::unique_ptr<CudaDnn> create(cudaStream_t stream, Workspace workspace);
  virtual ~CudaDnn() = default;

  /// Queues a forward convolution with its bias. False when its tensors are not all contiguous, when they have too many
  /// elements for the library, or when no algorithm works in the workspace; then nothing was queued that matters: the
  /// output may have been written.
  virtual bool convolution(const portable::Convolution& convolution) = 0;
};

}  // namespace berth::cuda
