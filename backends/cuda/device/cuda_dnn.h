// CudaDnn: convolutions with cuDNN. If built without its headers, create() always returns null.
#pragma once

#include <memory>

#include "backends/cuda/device/cuda_blas.h"
#include "kernels/portable/conv_arguments.h"

namespace berth::cuda {

/// Used by one thread at a time. Computes f32 in f32 with algorithms based on matrix products; sums f16 and bf16 in
/// f32.
class CudaDnn {
 public:
  /// Null, with a log message, if the library is missing or does not start. REQUIRES: the device is current.
  static std::unique_ptr<CudaDnn> create(Workspace workspace);
  virtual ~CudaDnn() = default;

  /// Queues convolutions in `stream` from now on. Those of different streams must not run at the same time.
  virtual void use(cudaStream_t stream) = 0;
  /// Queues a convolution with bias; with `accumulate`, added to what stands in the output. Returns false if its
  /// tensors are not all contiguous and aligned to 16, have too many elements for the library, or if no algorithm fits
  /// in the workspace; the output may have been written then, unless there is no bias.
  virtual bool convolution(const portable::Convolution& convolution, bool accumulate) = 0;
  /// Forgets all answers of the library.
  virtual void forget() = 0;
};

}  // namespace berth::cuda
