// CudaDnn: convolutions with cuDNN. If built without its headers, create() always returns null.
#pragma once

#include <memory>

#include "backends/cuda/device/cuda_blas.h"
#include "kernels/portable/conv_arguments.h"

namespace berth::cuda {

/// Belongs to one stream. Computes f32 in f32 with algorithms based on matrix products; sums f16 and bf16 in f32.
class CudaDnn {
 public:
  /// Null, with a log message, if the library is missing or does not start. REQUIRES: the device is current.
  static std::unique_ptr<CudaDnn> create(cudaStream_t stream, Workspace workspace);
  virtual ~CudaDnn() = default;

  /// Queues a forward convolution with bias. Returns false if its tensors are not all contiguous, have too many
  /// elements for the library, or if no algorithm fits in the workspace; the output may have been written then.
  virtual bool convolution(const portable::Convolution& convolution) = 0;
};

}  // namespace berth::cuda
