// CudaWorkbench: the memory and the handles with which the delegates of some streams of a device work: the workspace of
// cuBLASLt and cuDNN, in which kernels also keep what goes from one launch to the next. Private to this folder.
//
// Streams take turns. Work that is queued in a turn starts after that of the turn before, if that was another stream's;
// a stream that has the workbench for itself waits for nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>

#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_blas.h"
#include "backends/cuda/device/cuda_dnn.h"

namespace berth::cuda {

class CudaWorkbench {
 public:
  static constexpr size_t kBytes = size_t{32} << 20;

  /// MemoryAllocationFailed when the device has too little. REQUIRES: device `index` is current, here and at the end.
  static Result<std::unique_ptr<CudaWorkbench>> create(DeviceIndex index);
  /// REQUIRES: no stream has work that uses it (leave_for_good).
  ~CudaWorkbench();
  CudaWorkbench(const CudaWorkbench&) = delete;
  CudaWorkbench& operator=(const CudaWorkbench&) = delete;

  /// Begins a turn, which lasts as long as `*turn` is locked: no stream is recorded at its beginning or end. Waits for
  /// the turn of another thread; a thread must not have two.
  Error enter(cudaStream_t stream, std::unique_lock<std::mutex>* turn);
  /// `stream`, which has no work left, will not come again.
  void leave_for_good(cudaStream_t stream);

  const Workspace& workspace() const { return workspace_; }
  /// As Queue::tickets says.
  uint32_t* tickets() const { return reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(workspace_.memory) + kBytes); }
  /// Null without the library. To be used in a turn.
  CudaBlas* blas() const { return blas_.get(); }
  CudaDnn* dnn() const { return dnn_.get(); }

  /// The streams that share it; kept by its owner.
  size_t users = 0;

 private:
  explicit CudaWorkbench(DeviceIndex index) : index_(index) {}
  Error start();

  const DeviceIndex index_;
  CudaAllocator allocator_;
  Workspace workspace_;
  std::unique_ptr<CudaBlas> blas_;
  std::unique_ptr<CudaDnn> dnn_;
  cudaEvent_t end_ = nullptr;    // of a turn
  std::mutex mutex_;             // held in a turn
  cudaStream_t last_ = nullptr;  // whose turn it was
};

}  // namespace berth::cuda
