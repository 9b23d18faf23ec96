// Instance: Vulkan as a program sees it: the devices that this room can use, and the messages of validation layers.
// Private to backends/vulkan/.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/gpu.h"
#include "backends/vulkan/options.h"

namespace berth::vulkan {

class Instance {
 public:
  /// Opens what there is; never fails: without devices, reason() says why.
  explicit Instance(const VulkanOptions& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<std::unique_ptr<Gpu>>& gpus() const { return gpus_; }
  /// Why there are no devices, or the last reason why one was left out; empty if none was.
  const std::string& reason() const { return reason_; }
  /// Messages of validation layers so far; each was logged.
  uint64_t messages() const { return messages_.load(); }

 private:
  Error open(const VulkanOptions& options);
  bool has_layer() const;
  void listen();
  void open_devices(const VulkanOptions& options);
  static VkBool32 VKAPI_PTR hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
                                 const VkDebugUtilsMessengerCallbackDataEXT* data, void* self);

  Api api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::string reason_;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace berth::vulkan
