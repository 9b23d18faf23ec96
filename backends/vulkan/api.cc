#include "backends/vulkan/api.h"

#include <dlfcn.h>

#include "runtime/log.h"

namespace berth::vulkan {
namespace {

const char* sentence(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "the host has too little memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "the device has too little memory";
    case VK_ERROR_TOO_MANY_OBJECTS: return "the device takes no more objects of this kind";
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver could not be initialised";
    case VK_ERROR_DEVICE_LOST: return "the device was lost; nothing runs on it until the process ends";
    case VK_ERROR_MEMORY_MAP_FAILED: return "the memory cannot be seen by the host";
    case VK_ERROR_LAYER_NOT_PRESENT: return "a layer is not installed";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "the driver lacks an extension";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "the device lacks a feature";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "the driver is too old";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL: return "a pool of the driver is full";
    case VK_TIMEOUT: return "the device did not finish in time";
    default: return "the driver refused";
  }
}

bool is_short_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_OUT_OF_POOL_MEMORY;
}

template <typename Function>
void take(PFN_vkVoidFunction found, Function* function) {
  *function = reinterpret_cast<Function>(found);
}

}  // namespace

bool load_global(Api* api) {
  // Never closed: drivers leave threads and handlers behind.
  static void* const library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  api->vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (api->vkGetInstanceProcAddr == nullptr) return false;
#define BERTH_VULKAN_FUNCTION(name) take(api->vkGetInstanceProcAddr(nullptr, #name), &api->name);
  BERTH_VULKAN_GLOBAL(BERTH_VULKAN_FUNCTION)
#undef BERTH_VULKAN_FUNCTION
  return api->vkCreateInstance != nullptr && api->vkEnumerateInstanceLayerProperties != nullptr;
}

void load_instance(VkInstance instance, Api* api) {
#define BERTH_VULKAN_FUNCTION(name) take(api->vkGetInstanceProcAddr(instance, #name), &api->name);
  BERTH_VULKAN_OF_INSTANCE(BERTH_VULKAN_FUNCTION)
#undef BERTH_VULKAN_FUNCTION
}

void load_device(VkDevice device, Api* api) {
#define BERTH_VULKAN_FUNCTION(name) take(api->vkGetDeviceProcAddr(device, #name), &api->name);
  BERTH_VULKAN_OF_DEVICE(BERTH_VULKAN_FUNCTION)
#undef BERTH_VULKAN_FUNCTION
}

Error check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return Error::kOk;
  log_message(LogLevel::kError, "vulkan: %s: %s (VkResult %d)", what, sentence(result), static_cast<int>(result));
  return is_short_of_memory(result) ? Error::kMemoryAllocationFailed : Error::kInternal;
}

}  // namespace berth::vulkan
