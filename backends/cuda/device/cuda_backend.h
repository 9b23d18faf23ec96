// CudaBackend: runs delegates on NVIDIA GPUs, with the kernels of backends/cuda/, in the method's stream.
//
//     CudaAllocator cuda;
//     CudaBackend backend;     // "berth.cuda"
//
// execute() returns when the work is queued. The delegates of a device share at most kWorkbenches workspaces of
// kWorkspaceBytes, each with handles of cuBLASLt and cuDNN (cuda_workbench.h): each of the first kWorkbenches streams
// has one of its own, later ones share, and the work of streams that share does not overlap. They go with the last
// delegate.
//
// Two threads may not be in delegates of streams that share at the same time: one waits until the other has queued its
// work. So an observer of one Method must not run another.
//
// A delegate whose arguments have the addresses and sizes of an earlier call is launched as one CUDA graph
// (backends/nested/recordings.h): that graph is made at load with the planned arguments (Method::warm_up), or in the
// second such call, which takes some milliseconds and memory of the driver's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/nested/nested_backend.h"

namespace berth::cuda {

class CudaWorkbench;

/// What backends of this room have queued so far. A call of a library counts as one kernel where it is not part of a
/// graph.
struct CudaCounts {
  uint64_t submissions = 0;  // graphs, and kernels and calls of libraries outside of them
  uint64_t dispatches = 0;   // kernels: those of the graphs, and those outside
  uint64_t graphs = 0;       // made
  uint64_t library_calls = 0;
  /// Products and convolutions that a library was asked for and did not take: slower kernels of this room computed
  /// them.
  uint64_t fallbacks = 0;
};

class CudaBackend final : public NestedBackend {
 public:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;
  static constexpr size_t kWorkbenches = 4;  // of a device

  /// Without `graphs`, every kernel is launched in every run.
  explicit CudaBackend(bool graphs = true);
  ~CudaBackend() override;

  bool serves(DeviceType type) const override { return type == DeviceType::kCuda; }

  /// The number of streams with delegates.
  size_t sessions() const;
  /// The number of graphs that were launched.
  uint64_t replays() const { return replays_.load(std::memory_order_relaxed); }
  CudaCounts counts() const;

 protected:
  bool host_kernels() const override { return false; }
  /// InvalidArgument without a stream of a CudaAllocator (`load.use`).
  Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report) override;
  void close(void* session) override;
  Error begin(void* session, KernelContext& context) override;
  Error end(void* session, KernelContext& context, Error result) override;
  Error settle(void* session) override;
  bool records() const override { return graphs_; }
  Error begin_recording(void* session) override;
  Result<void*> end_recording(void* session) override;
  Error replay(void* session, void* recording) override;
  void discard(void* session, void* recording) override;

 private:
  struct Session;
  struct Recording;

  // The workbench of the next stream of device `index`, which is current.
  Result<CudaWorkbench*> take_workbench(DeviceIndex index);
  void give_back_workbench(DeviceIndex index, CudaWorkbench* workbench);

  const bool graphs_;
  std::atomic<uint64_t> replays_{0};
  CudaCounts counts_;
  mutable std::mutex counts_mutex_;
  mutable std::mutex mutex_;
  std::map<const DeviceStream*, std::unique_ptr<Session>> sessions_;
  std::map<DeviceIndex, std::vector<std::unique_ptr<CudaWorkbench>>> workbenches_;
};

}  // namespace berth::cuda
