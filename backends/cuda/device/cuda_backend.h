// CudaBackend: runs delegates on NVIDIA GPUs, with the kernels of backends/cuda/, in the method's stream.
//
//     CudaAllocator cuda;
//     CudaBackend backend;     // "berth.cuda"
//
// execute() returns when the work is queued. All delegates of a stream share the handles of cuBLASLt and cuDNN and
// their workspace of kWorkspaceBytes, which are created with the first delegate and destroyed with the last.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "backends/nested/nested_backend.h"

namespace berth::cuda {

class CudaBackend final : public NestedBackend {
 public:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  CudaBackend();
  ~CudaBackend() override;

  bool serves(DeviceType type) const override { return type == DeviceType::kCuda; }

  /// The number of streams with delegates.
  size_t sessions() const;

 protected:
  bool host_kernels() const override { return false; }
  /// InvalidArgument without a stream of a CudaAllocator (`load.use`).
  Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report) override;
  void close(void* session) override;
  Error begin(void* session, KernelContext& context) override;
  Error end(void* session, KernelContext& context, Error result) override;

 private:
  struct Session;

  mutable std::mutex mutex_;
  std::map<const DeviceStream*, std::unique_ptr<Session>> sessions_;
};

}  // namespace berth::cuda
