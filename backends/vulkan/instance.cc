#include "backends/vulkan/instance.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/log.h"

namespace berth::vulkan {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

// Cards first, then what shares the processor's memory, then processors.
int rank_of(const Api& api, VkPhysicalDevice physical) {
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  switch (properties.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 3;
    default: return 2;
  }
}

VkDebugUtilsMessengerCreateInfoEXT listener(PFN_vkDebugUtilsMessengerCallbackEXT hear, void* self) {
  VkDebugUtilsMessengerCreateInfoEXT info = {};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = hear;
  info.pUserData = self;
  return info;
}

}  // namespace

VulkanOptions VulkanOptions::of_environment() {
  VulkanOptions options;
  const char* validation = std::getenv("BERTH_VULKAN_VALIDATION");
  options.validation = validation != nullptr && std::strcmp(validation, "1") == 0;
  return options;
}

Instance::Instance(const VulkanOptions& options) {
  if (open(options) == Error::kOk) open_devices(options);
}

Instance::~Instance() {
  gpus_.clear();
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        api_.vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    if (destroy != nullptr) destroy(instance_, messenger_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) api_.vkDestroyInstance(instance_, nullptr);
}

bool Instance::has_layer() const {
  uint32_t count = 0;
  if (api_.vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (api_.vkEnumerateInstanceLayerProperties(&count, layers.data()) != VK_SUCCESS) return false;
  return std::any_of(layers.begin(), layers.end(),
                     [](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, kLayer) == 0; });
}

Error Instance::open(const VulkanOptions& options) {
  if (!load_global(&api_)) {
    reason_ = "no Vulkan loader (libvulkan.so.1)";
    return Error::kNotFound;
  }
  uint32_t version = VK_API_VERSION_1_0;
  if (api_.vkEnumerateInstanceVersion != nullptr) static_cast<void>(api_.vkEnumerateInstanceVersion(&version));
  if (version < VK_API_VERSION_1_2) {
    reason_ = "the Vulkan loader is older than 1.2";
    return Error::kNotFound;
  }
  if (options.validation && !has_layer()) {
    reason_ = std::string("the layer ") + kLayer + ", which validation needs, is not installed";
    return Error::kNotFound;
  }
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "berth";
  application.apiVersion = VK_API_VERSION_1_2;
  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkDebugUtilsMessengerCreateInfoEXT messages = listener(&Instance::hear, this);
  VkValidationFeaturesEXT features = {};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = enabled;
  features.pNext = &messages;
  const char* const layers[] = {kLayer};
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (options.validation) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = layers;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
  }
  const VkResult result = api_.vkCreateInstance(&info, nullptr, &instance_);
  if (result != VK_SUCCESS) {
    reason_ = result == VK_ERROR_INCOMPATIBLE_DRIVER
                  ? "no Vulkan driver"
                  : "Vulkan cannot be opened (VkResult " + std::to_string(result) + ")";
    instance_ = VK_NULL_HANDLE;
    return Error::kNotFound;
  }
  load_instance(instance_, &api_);
  if (options.validation) listen();
  return Error::kOk;
}

void Instance::listen() {
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      api_.vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  const VkDebugUtilsMessengerCreateInfoEXT info = listener(&Instance::hear, this);
  if (create != nullptr)
    static_cast<void>(check(create(instance_, &info, nullptr, &messenger_), "listening to layers"));
}

VkBool32 Instance::hear(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                        const VkDebugUtilsMessengerCallbackDataEXT* data, void* self) {
  static_cast<Instance*>(self)->messages_.fetch_add(1);
  log_message(LogLevel::kError, "vulkan: validation: %s", data->pMessage);
  return VK_FALSE;
}

void Instance::open_devices(const VulkanOptions& options) {
  uint32_t count = 0;
  VkResult result = api_.vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> physical(count);
  if (result == VK_SUCCESS) result = api_.vkEnumeratePhysicalDevices(instance_, &count, physical.data());
  if (result != VK_SUCCESS) count = 0;
  physical.resize(count);
  std::stable_sort(physical.begin(), physical.end(),
                   [&](VkPhysicalDevice a, VkPhysicalDevice b) { return rank_of(api_, a) < rank_of(api_, b); });
  reason_ = count == 0 ? "no Vulkan driver has a device" : "";
  for (VkPhysicalDevice one : physical) {
    for (int i = 0; i < options.times && gpus_.size() < 127; ++i) {
      std::unique_ptr<Gpu> gpu = Gpu::open(api_, one, options, &reason_);
      if (gpu != nullptr) gpus_.push_back(std::move(gpu));
    }
  }
}

}  // namespace berth::vulkan
