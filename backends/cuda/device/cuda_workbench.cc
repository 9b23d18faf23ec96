#include "backends/cuda/device/cuda_workbench.h"

#include <new>

#include "backends/cuda/device/cuda_runtime.h"
#include "backends/cuda/queue.h"

namespace berth::cuda {

Result<std::unique_ptr<CudaWorkbench>> CudaWorkbench::create(DeviceIndex index) {
  std::unique_ptr<CudaWorkbench> made(new (std::nothrow) CudaWorkbench(index));
  if (made == nullptr) return Error::kMemoryAllocationFailed;
  BERTH_RETURN_IF_ERROR(made->start());
  return made;
}

Error CudaWorkbench::start() {
  BERTH_RETURN_IF_ERROR(check(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming), "making an event"));
  constexpr uint32_t kNone[kTickets] = {};
  constexpr size_t kAll = kBytes + sizeof kNone;
  BERTH_ASSIGN_OR_RETURN(workspace_.memory, allocator_.allocate(kAll, index_, CudaAllocator::kAlignment));
  workspace_.bytes = kBytes;
  BERTH_RETURN_IF_ERROR(allocator_.copy_host_to_device(tickets(), kNone, sizeof kNone, index_, nullptr));
  const std::lock_guard<std::mutex> lock(graph_lock());
  blas_ = CudaBlas::create(workspace_);
  dnn_ = CudaDnn::create(workspace_);
  return Error::kOk;
}

CudaWorkbench::~CudaWorkbench() {
  {
    const std::lock_guard<std::mutex> lock(graph_lock());
    dnn_.reset();
    blas_.reset();
  }
  allocator_.deallocate(workspace_.memory, index_);
  if (end_ != nullptr) static_cast<void>(check(cudaEventDestroy(end_), "destroying an event"));
}

Error CudaWorkbench::enter(cudaStream_t stream, std::unique_lock<std::mutex>* turn) {
  constexpr const char* kWhat = "waiting for a workspace";
  std::unique_lock<std::mutex> lock(mutex_);
  if (last_ != nullptr && last_ != stream) {
    BERTH_RETURN_IF_ERROR(check(cudaEventRecord(end_, last_), kWhat));
    BERTH_RETURN_IF_ERROR(check(cudaStreamWaitEvent(stream, end_, 0), kWhat));
  }
  last_ = stream;
  if (blas_ != nullptr) blas_->use(stream);
  if (dnn_ != nullptr) dnn_->use(stream);
  *turn = std::move(lock);
  return Error::kOk;
}

void CudaWorkbench::leave_for_good(cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == stream) last_ = nullptr;
}

}  // namespace berth::cuda
