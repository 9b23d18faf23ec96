// CudaBlas: products of matrices by cuBLASLt.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/portable/gemm.h"

namespace berth::cuda {

/// Memory of the device that a library works in while it runs.
struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
};

/// Of one stream. f32 is computed in f32 (no TF32), f16 and bf16 are summed in f32.
class CudaBlas {
 public:
  /// Null where the library is not there or does not start, which the log says. REQUIRES: the device is current.
  static std::unique_ptr<CudaBlas> create(cudaStream_t stream, Workspace workspace);
  virtual ~CudaBlas() = default;

  /// Queues the product. False when it is none of matrices with one dense dimension each and floating elements, when
  /// `start` is neither a matrix nor a row, or when the library does not take it; then nothing was queued.
  virtual bool product(const portable::Product& product) = 0;
};

}  // namespace berth::cuda
