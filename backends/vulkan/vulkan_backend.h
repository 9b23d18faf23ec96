// VulkanBackend: runs the delegates of the target `vulkan` on devices with Vulkan.
//
//     VulkanAllocator vulkan;
//     VulkanBackend backend(&vulkan);
//     LoadOptions options;                         // `backend` and the allocator go in here
//
// A delegate's kernels are recorded into one command buffer when a Method is warmed up, or in the first run that has
// other addresses or sizes; each later run submits it, once. Nothing is allocated and no kernel is compiled then. Runs
// with an observer (berth bench --profile) submit each instruction by itself, and wait for it.
#pragma once

#include "backends/nested/nested_backend.h"
#include "backends/vulkan/vulkan_allocator.h"

namespace berth::vulkan {

struct Session;

class VulkanBackend final : public NestedBackend {
 public:
  /// `allocator` outlives the backend.
  explicit VulkanBackend(VulkanAllocator* allocator);

  bool serves(DeviceType type) const override { return type == DeviceType::kVulkan; }

  /// For tests: recordings from now on have no `barrier` (0 for the first).
  void skip_barrier(size_t barrier) { skipped_ = barrier; }

 protected:
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override;
  bool host_kernels() const override { return false; }
  /// InvalidArgument without a stream of the allocator.
  Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report) override;
  void close(void* session) override;
  Error begin(void* session, KernelContext& context) override;
  Error end(void* session, KernelContext& context, Error result) override;
  Error settle(void* session) override;
  bool records() const override { return true; }
  bool records_at_once() const override { return true; }
  Error begin_recording(void* session) override;
  Result<void*> end_recording(void* session) override;
  Error replay(void* session, void* recording) override;
  void discard(void* session, void* recording) override;

 private:
  VulkanAllocator* const allocator_;
  size_t skipped_ = SIZE_MAX;
};

}  // namespace berth::vulkan
