// CudaBackend: delegates on NVIDIA GPUs: nested programs with the kernels of this room, queued in the method's stream.
//
//     CudaAllocator cuda;
//     CudaBackend backend;     // "berth.cuda"
//
// A delegate returns when its work is queued. What all delegates of a stream share (handles of cuBLASLt and cuDNN, and
// kWorkspaceBytes of the device's memory for them to work in) is taken when the first of them is loaded, and given back
// with the last.
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

  /// Streams that have delegates now.
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
