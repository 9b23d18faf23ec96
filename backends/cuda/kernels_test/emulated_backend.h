// EmulatedBackend: "berth.cuda" without a GPU: this room's kernels as plain C++, on the simulated device's memory.
#pragma once

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/queue.h"
#include "backends/nested/nested_backend.h"
#include "backends/sim/sim_allocator.h"

namespace berth::cuda {

class EmulatedBackend final : public NestedBackend {
 public:
  /// `allocator` stands in for GPUs, and outlives the backend.
  explicit EmulatedBackend(const SimAllocator* allocator)
      : NestedBackend("berth.cuda", kernels()), allocator_(allocator) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCuda; }

  /// What kernels found wrong so far.
  uint32_t fault() const { return fault_; }

 protected:
  // As on a GPU: nothing of the host may look at the device's elements.
  bool host_kernels() const override { return false; }
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override {
    *reached = allocator_->alias(address, bytes, use.device.index);
    return *reached == nullptr ? Error::kInvalidArgument : Error::kOk;
  }
  Result<void*> open(const DelegateSource&, const DelegateLoad&, format::Report*) override {
    auto* queue = new Queue();
    queue->fault = &fault_;
    return static_cast<void*>(queue);
  }
  void close(void* session) override { delete static_cast<Queue*>(session); }

 private:
  const SimAllocator* allocator_;
  uint32_t fault_ = kNoFault;
};

}  // namespace berth::cuda
