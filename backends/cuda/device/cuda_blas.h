// CudaBlas: matrix products with cuBLASLt.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "kernels/portable/gemm.h"

namespace berth::cuda {

/// Device memory that a library uses while it runs.
struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
};

/// Used by one thread at a time. Computes f32 in f32 (no TF32), and sums f16 and bf16 in f32.
class CudaBlas {
 public:
  /// Null, with a log message, if the library is missing or does not start. REQUIRES: the device is current.
  static std::unique_ptr<CudaBlas> create(Workspace workspace);
  virtual ~CudaBlas() = default;

  /// Queues products in `stream` from now on. Those of different streams must not run at the same time.
  virtual void use(cudaStream_t stream) = 0;
  /// Queues the product. Returns false without queueing anything if a matrix has no dense dimension or its elements are
  /// not floating-point, if `start` is neither a matrix nor a row, or if the library does not support it.
  virtual bool product(const portable::Product& product) = 0;
  /// Forgets all answers of the library.
  virtual void forget() = 0;
};

}  // namespace berth::cuda
