// VulkanStream: a stream of a device: work in order, on the device's one queue. Private to backends/vulkan/.
//
// Each submission waits for the stream's last one and raises its semaphore by one, so that streams are independent of
// each other and a value of the semaphore stands for all work up to it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/vulkan/blocks.h"
#include "backends/vulkan/faults.h"
#include "backends/vulkan/gpu.h"
#include "runtime/device_allocator.h"

namespace berth::vulkan {

/// A timeline, shared with those who wait for it.
class Timeline {
 public:
  static Result<std::shared_ptr<Timeline>> create(Gpu* gpu);
  ~Timeline();
  VkSemaphore semaphore() const { return semaphore_; }
  Gpu* gpu() const { return gpu_; }
  /// Until the device has come to `value`.
  Error reach(uint64_t value) const;

 private:
  explicit Timeline(Gpu* gpu) : gpu_(gpu) {}
  Gpu* gpu_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
};

/// Commands that are submitted once and for all, or again and again.
struct Commands {
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer buffer = VK_NULL_HANDLE;

  /// Makes both.
  static Error make(Gpu* gpu, bool again, Commands* made);
  void free(Gpu* gpu);
};

/// Thread-safe.
class VulkanStream {
 public:
  static constexpr uint64_t kStageBytes = uint64_t{1} << 20;
  static constexpr int kStages = 2;
  static constexpr uint64_t kFaultBytes = sizeof(Fault);

  static Result<std::unique_ptr<VulkanStream>> create(Gpu* gpu);
  ~VulkanStream();

  DeviceStream* handle() { return reinterpret_cast<DeviceStream*>(this); }
  static VulkanStream* of(DeviceStream* stream) { return reinterpret_cast<VulkanStream*>(stream); }
  Gpu* gpu() const { return gpu_; }

  Error copy_from_host(Place target, const void* source, uint64_t bytes);
  Error copy_to_host(void* target, Place source, uint64_t bytes);
  /// The same, through memory of the stream from which it goes to `target` when it is waited for. Its number; 0 where
  /// it is complete: where the host shares the memory, or it is larger than what the stream has.
  Result<uint64_t> begin_copy_to_host(void* target, Place source, uint64_t bytes);
  /// Waits for this copy, and those before it.
  Error finish_copy_to_host(uint64_t number);
  Error copy_within(Place target, Place source, uint64_t bytes);

  /// Where kernels write that an index was out of range, a Fault. The next call that waits for the stream returns
  /// InvalidArgument, once, and explains which index (runtime/device_explanation.h).
  Place faults() const { return {&faults_, 0}; }

  /// Queues recorded commands behind all work so far.
  Error submit(VkCommandBuffer commands);
  Error synchronize();
  Error record();
  /// What is queued from now on comes after the latest mark of `other`.
  Error wait(VulkanStream* other);

 private:
  struct Stage {
    Buffer buffer;
    Commands commands;
    uint64_t busy_until = 0;
    // Of a copy to the host that was begun; null: none.
    void* target = nullptr;
    uint64_t bytes = 0;
  };
  struct Awaited {
    std::shared_ptr<Timeline> timeline;
    uint64_t value;
  };

  explicit VulkanStream(Gpu* gpu) : gpu_(gpu) {}
  Error open();
  // These REQUIRE the lock.
  Error submit_locked(VkCommandBuffer commands);
  Error finish_locked();
  Error copy(VkBuffer target, uint64_t target_offset, VkBuffer source, uint64_t source_offset, uint64_t bytes,
             Stage* stage);
  Error next_stage(Stage** stage);
  Error copy_to_host_locked(void* target, Place source, uint64_t bytes);
  void arrive(uint64_t last);
  void forget_arrivals();
  Error reach_last();
  bool has_fault() const;
  Error take_fault();

  Gpu* const gpu_;
  std::mutex mutex_;
  std::shared_ptr<Timeline> timeline_;
  uint64_t last_ = 0;  // the value of the last submission
  uint64_t mark_ = 0;
  std::vector<Awaited> awaited_;                 // by the next submission
  std::vector<std::shared_ptr<Timeline>> held_;  // that submissions may be waiting for
  Block faults_;
  Stage stages_[kStages];
  int next_ = 0;
};

}  // namespace berth::vulkan
