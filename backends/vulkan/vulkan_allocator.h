// VulkanAllocator: the DeviceAllocator of what has a Vulkan driver, "vulkan:0", "vulkan:1", …: cards with memory of
// their own first, then GPUs that share the processor's, then processors (Mesa's lavapipe).
//
//     VulkanAllocator vulkan;
//     VulkanBackend backend(&vulkan);          // backends/vulkan/vulkan_backend.h
//     DeviceAllocatorRegistry registry;
//     if (vulkan.device_count() > 0) registry.register_allocator(&vulkan);
//
// Devices are opened by the first call that needs one. Without a driver, device_count() is 0 and everything else
// returns InvalidArgument; describe() says why.
//
//   allocate      one VkDeviceMemory and one VkBuffer, at a multiple of 256, which is the largest supported alignment
//   deallocate    waits for all work on the device
//   copies        where a device shares the host's memory, by the host, behind the stream's work; else through two
//                 buffers of the stream, so that host memory can be reused on return. Between two devices through
//                 the host
//   streams       timelines on the device's one queue
//
// Failures are logged.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "backends/vulkan/options.h"
#include "runtime/device_allocator.h"

namespace berth::vulkan {

class Gpu;
class Blocks;
class VulkanStream;

/// What the devices have done since they were opened.
struct VulkanCounts {
  uint64_t submissions = 0;  // to queues
  uint64_t dispatches = 0;   // of kernels
  uint64_t barriers = 0;
  uint64_t pipelines = 0;    // made
  uint64_t allocations = 0;  // of memory of a device
};

class VulkanAllocator final : public DeviceAllocator {
 public:
  static constexpr size_t kAlignment = 256;

  explicit VulkanAllocator(const VulkanOptions& options = VulkanOptions::of_environment());
  /// REQUIRES: everything was given back.
  ~VulkanAllocator() override;
  /// Sets VulkanOptions::pipeline_cache. REQUIRES: no device is open.
  void keep_pipelines(const std::string& file) { options_.pipeline_cache = file; }

  DeviceType device_type() const override { return DeviceType::kVulkan; }
  int device_count() const override;

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment = kDefaultAlignment) override;
  void deallocate(void* memory, DeviceIndex index) override;

  /// Also InvalidArgument for bytes that are not inside one allocation of this device.
  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream = nullptr) override;
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream = nullptr) override;
  Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                      DeviceStream* stream) override;
  Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) override;
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream = nullptr) override;

  Result<DeviceStream*> create_stream(DeviceIndex index) override;
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override;
  Error synchronize(DeviceStream* stream, DeviceIndex index) override;
  Error record(DeviceStream* stream, DeviceIndex index) override;
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override;

  /// How many of the devices are processors: the last ones.
  int processor_count() const;
  /// The names of the devices, or why there are none: "no Vulkan driver".
  std::string describe() const;
  /// All zeros before a device was opened.
  VulkanCounts counts() const;
  /// Messages of validation layers so far; each was logged.
  uint64_t messages() const;
  /// What is allocated now.
  size_t live_blocks() const;
  size_t live_streams() const;

  /// For VulkanBackend and tests. Null for an index that there is not.
  Gpu* gpu(DeviceIndex index) const;
  const Blocks& blocks() const;
  /// Null unless it is a stream of this allocator.
  VulkanStream* stream(DeviceStream* stream) const;

 private:
  struct State;

  State& open() const;
  Result<VulkanStream*> own_stream(DeviceIndex index) const;

  VulkanOptions options_;
  mutable std::once_flag opened_;
  mutable std::unique_ptr<State> state_;
};

}  // namespace berth::vulkan
