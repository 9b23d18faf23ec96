// The functions of Vulkan that this room calls, found at run time: a program with this room in it starts on machines
// without Vulkan. Private to backends/vulkan/.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "base/error.h"

namespace berth::vulkan {

// clang-format off
#define BERTH_VULKAN_GLOBAL(F) \
  F(vkCreateInstance) F(vkEnumerateInstanceLayerProperties) F(vkEnumerateInstanceVersion)
#define BERTH_VULKAN_OF_INSTANCE(F) \
  F(vkDestroyInstance) F(vkEnumeratePhysicalDevices) F(vkGetPhysicalDeviceProperties2) \
  F(vkGetPhysicalDeviceFeatures2) F(vkGetPhysicalDeviceQueueFamilyProperties) \
  F(vkGetPhysicalDeviceMemoryProperties) F(vkEnumerateDeviceExtensionProperties) F(vkCreateDevice) F(vkGetDeviceProcAddr)
#define BERTH_VULKAN_OF_DEVICE(F) \
  F(vkDestroyDevice) F(vkGetDeviceQueue) F(vkDeviceWaitIdle) F(vkAllocateMemory) F(vkFreeMemory) F(vkMapMemory) \
  F(vkCreateBuffer) F(vkDestroyBuffer) F(vkGetBufferMemoryRequirements) F(vkBindBufferMemory) \
  F(vkCreateBufferView) F(vkDestroyBufferView) \
  F(vkCreateShaderModule) F(vkDestroyShaderModule) F(vkCreateComputePipelines) F(vkDestroyPipeline) \
  F(vkCreatePipelineLayout) F(vkDestroyPipelineLayout) F(vkCreateDescriptorSetLayout) \
  F(vkDestroyDescriptorSetLayout) F(vkCreateDescriptorPool) F(vkDestroyDescriptorPool) \
  F(vkAllocateDescriptorSets) F(vkUpdateDescriptorSets) F(vkCreateCommandPool) F(vkDestroyCommandPool) \
  F(vkAllocateCommandBuffers) F(vkBeginCommandBuffer) F(vkEndCommandBuffer) F(vkCmdBindPipeline) \
  F(vkCmdBindDescriptorSets) F(vkCmdDispatch) F(vkCmdPushConstants) F(vkCmdPipelineBarrier) F(vkCmdCopyBuffer) F(vkCreateSemaphore) \
  F(vkDestroySemaphore) F(vkWaitSemaphores) F(vkQueueSubmit) F(vkCreatePipelineCache) F(vkDestroyPipelineCache) \
  F(vkGetPipelineCacheData)
// clang-format on

/// A table of each object's own: tests put functions that fail into theirs.
struct Api {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
#define BERTH_VULKAN_FUNCTION(name) PFN_##name name = nullptr;
  BERTH_VULKAN_GLOBAL(BERTH_VULKAN_FUNCTION)
  BERTH_VULKAN_OF_INSTANCE(BERTH_VULKAN_FUNCTION)
  BERTH_VULKAN_OF_DEVICE(BERTH_VULKAN_FUNCTION)
#undef BERTH_VULKAN_FUNCTION
};

/// Opens the Vulkan loader and fills in its global functions. False when there is none.
bool load_global(Api* api);
/// Those of an instance, of a device.
void load_instance(VkInstance instance, Api* api);
void load_device(VkDevice device, Api* api);

/// Logs what went wrong while `what` was done: "allocating memory". MemoryAllocationFailed when memory is short, else
/// Internal.
Error check(VkResult result, const char* what);

}  // namespace berth::vulkan
