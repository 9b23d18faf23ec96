// The device itself, its memory and its queue; pipelines.cc has its kernels.

#include "backends/vulkan/gpu.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/log.h"

namespace berth::vulkan {

namespace {

constexpr VkMemoryPropertyFlags kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kShared =
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

constexpr const char* kDotProducts = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;

// The offsets of tensors in arenas are multiples of this (compiler/targets/own/vulkan_target.h).
constexpr uint64_t kPlannedAlignment = 256;

}  // namespace

std::unique_ptr<Gpu> Gpu::open(const Api& api, VkPhysicalDevice physical, const VulkanOptions& options,
                               std::string* reason) {
  std::unique_ptr<Gpu> gpu(new Gpu);
  gpu->api = api;
  if (!gpu->choose(physical, reason)) return nullptr;
  gpu->stores_16_bits_ = gpu->stores_16_bits_ && !options.without_16_bits;
  gpu->stores_8_bits_ = gpu->stores_8_bits_ && !options.without_16_bits && !options.without_8_bits;
  gpu->choose_dot_products(physical, options);
  gpu->choose_memory(physical, options.staged);
  gpu->choose_kernels(physical, options);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = gpu->family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  timeline.timelineSemaphore = VK_TRUE;
  VkPhysicalDevice16BitStorageFeatures narrow = {};
  narrow.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  narrow.storageBuffer16BitAccess = gpu->stores_16_bits_ ? VK_TRUE : VK_FALSE;
  narrow.pNext = &timeline;
  VkPhysicalDevice8BitStorageFeatures bytes = {};
  bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  bytes.storageBuffer8BitAccess = gpu->stores_8_bits_ ? VK_TRUE : VK_FALSE;
  bytes.pNext = &narrow;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {};
  dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  dots.shaderIntegerDotProduct = VK_TRUE;
  dots.pNext = &bytes;
  const char* const extensions[] = {kDotProducts};
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &bytes;
  if (gpu->has_dot_products_) {
    info.pNext = &dots;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
  }
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  const VkResult result = api.vkCreateDevice(physical, &info, nullptr, &gpu->device_);
  if (result != VK_SUCCESS) {
    static_cast<void>(check(result, "opening a device"));
    *reason = gpu->name_ + " could not be opened (VkResult " + std::to_string(result) + ")";
    return nullptr;
  }
  load_device(gpu->device_, &gpu->api);
  gpu->open_cache(options.pipeline_cache);
  gpu->api.vkGetDeviceQueue(gpu->device_, gpu->family_, 0, &gpu->queue_);
  return gpu;
}

bool Gpu::choose(VkPhysicalDevice physical, std::string* reason) {
  VkPhysicalDeviceMaintenance3Properties sizes = {};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &sizes;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  const VkPhysicalDeviceProperties& is = properties.properties;
  properties_ = is;
  name_ = is.deviceName;
  const uint64_t alignment =
      std::max(is.limits.minStorageBufferOffsetAlignment, is.limits.minTexelBufferOffsetAlignment);
  limits_ = {sizes.maxMemoryAllocationSize, std::min<uint64_t>(is.limits.maxStorageBufferRange, INT32_MAX), alignment,
             std::max<uint64_t>(alignment, is.limits.minUniformBufferOffsetAlignment),
             is.limits.maxComputeWorkGroupCount[0]};
  if (is.apiVersion < VK_API_VERSION_1_2) {
    *reason = name_ + " has a driver for Vulkan " + std::to_string(VK_API_VERSION_MAJOR(is.apiVersion)) + "." +
              std::to_string(VK_API_VERSION_MINOR(is.apiVersion)) + "; 1.2 is needed";
    return false;
  }
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  VkPhysicalDevice16BitStorageFeatures narrow = {};
  narrow.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  narrow.pNext = &timeline;
  VkPhysicalDevice8BitStorageFeatures bytes = {};
  bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  bytes.pNext = &narrow;
  VkPhysicalDeviceFeatures2 features = {};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &bytes;
  api.vkGetPhysicalDeviceFeatures2(physical, &features);
  stores_16_bits_ = narrow.storageBuffer16BitAccess == VK_TRUE;
  stores_8_bits_ = bytes.storageBuffer8BitAccess == VK_TRUE;
  uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (family_ = 0; family_ < count; ++family_) {
    if ((families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) break;
  }
  if (timeline.timelineSemaphore == VK_FALSE || family_ == count) {
    *reason = name_ + " lacks " + (family_ == count ? "a queue for compute" : "timeline semaphores");
    return false;
  }
  if (limits_.offset_alignment > kPlannedAlignment) {
    *reason = name_ + " wants tensors aligned to " + std::to_string(limits_.offset_alignment) +
              " bytes; programs are planned with 256";
    return false;
  }
  return true;
}

// By the extension, which Vulkan 1.3 has taken in, and drivers still list.
void Gpu::choose_dot_products(VkPhysicalDevice physical, const VulkanOptions& options) {
  uint32_t count = 0;
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr) != VK_SUCCESS) return;
  std::vector<VkExtensionProperties> all(count);
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data()) != VK_SUCCESS) return;
  const auto is = [](const VkExtensionProperties& one) { return std::strcmp(one.extensionName, kDotProducts) == 0; };
  if (options.without_dot_products || std::none_of(all.begin(), all.end(), is)) return;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {};
  dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  VkPhysicalDeviceFeatures2 features = {};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &dots;
  api.vkGetPhysicalDeviceFeatures2(physical, &features);
  VkPhysicalDeviceShaderIntegerDotProductProperties speeds = {};
  speeds.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &speeds;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  const bool faster = speeds.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;
  has_dot_products_ = dots.shaderIntegerDotProduct == VK_TRUE && (faster || options.with_dot_products);
}

// Memory is shared where all of what is the device's can be seen by the host, through its caches.
void Gpu::choose_memory(VkPhysicalDevice physical, bool staged) {
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  api.vkGetPhysicalDeviceMemoryProperties(physical, &memory_);
  const VkPhysicalDeviceType type = properties.properties.deviceType;
  const bool one_memory = type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  bool seen = false;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    seen = seen || (memory_.memoryTypes[i].propertyFlags & kShared) == kShared;
  }
  shares_memory_ = one_memory && seen && !staged;
  device_flags_ = shares_memory_ ? kShared : static_cast<VkMemoryPropertyFlags>(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

void Gpu::choose_kernels(VkPhysicalDevice physical, const VulkanOptions& options) {
  VkPhysicalDeviceSubgroupProperties groups = {};
  groups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &groups;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  const VkPhysicalDeviceProperties& is = properties.properties;
  constexpr uint32_t kLanes = 8;  // as in tile.comp
  const bool shuffles = (groups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                        (groups.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  is_processor_ = is.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  is_card_ = !is_processor_ || options.for_cards;
  is_large_card_ = is.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU || options.for_cards;
  reads_texels_ = is_processor_ && groups.subgroupSize == kLanes && shuffles &&
                  is.limits.maxTexelBufferElements >= limits_.range_bytes / 2 && !options.for_cards;
  widens_views_ = reads_texels_ && !options.validation;
}

Gpu::~Gpu() {
  if (device_ == VK_NULL_HANDLE) return;
  static_cast<void>(api.vkDeviceWaitIdle(device_));
  close_cache();
  for (const auto& [key, pipeline] : pipelines_) api.vkDestroyPipeline(device_, pipeline.pipeline, nullptr);
  for (const auto& [shader, module] : modules_) api.vkDestroyShaderModule(device_, module, nullptr);
  for (const auto& [kinds, layout] : layouts_) {
    api.vkDestroyPipelineLayout(device_, layout.pipeline, nullptr);
    api.vkDestroyDescriptorSetLayout(device_, layout.set, nullptr);
  }
  api.vkDestroyDevice(device_, nullptr);
}

int Gpu::memory_type(uint32_t allowed, Kind kind) const {
  const VkMemoryPropertyFlags wanted = kind == Kind::kDevice ? device_flags_ : kMapped;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const bool fits = (memory_.memoryTypes[i].propertyFlags & wanted) == wanted;
    if ((allowed >> i & 1) != 0 && fits) return static_cast<int>(i);
  }
  return -1;
}

Error Gpu::make_buffer(uint64_t bytes, Kind kind, Buffer* made) {
  constexpr const char* kWhat = "allocating memory";
  bytes = std::max<uint64_t>(bytes, 1);
  Buffer buffer;
  // What is more than a device can have at once must not reach the driver.
  bool too_many = bytes > limits_.buffer_bytes;
  for (uint32_t i = 0, small = 0; i < memory_.memoryHeapCount; ++i) {
    if (memory_.memoryHeaps[i].size < bytes) ++small;
    if (small == memory_.memoryHeapCount) too_many = true;
  }
  if (too_many) {
    log_message(LogLevel::kError, "vulkan: %llu bytes are more than %s has at once",
                static_cast<unsigned long long>(bytes), name_.c_str());
    return Error::kMemoryAllocationFailed;
  }
  buffer.bytes = bytes;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = (bytes + 15) / 16 * 16;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (kind == Kind::kHost) info.usage |= VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
  if (reads_texels_) {
    info.usage |= VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
    info.size += kViewSlack;
    // lavapipe compiles a kernel again, when it runs, for texels of a buffer whose size is a power of two.
    if ((info.size & (info.size - 1)) == 0) info.size += 16;
  }
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateBuffer(device_, &info, nullptr, &buffer.buffer), kWhat));
  VkMemoryRequirements needs = {};
  api.vkGetBufferMemoryRequirements(device_, buffer.buffer, &needs);
  const int type = memory_type(needs.memoryTypeBits, kind);
  VkMemoryAllocateInfo allocation = {};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = type < 0 ? 0 : static_cast<uint32_t>(type);
  const bool fits = type >= 0 && needs.size <= memory_.memoryHeaps[memory_.memoryTypes[type].heapIndex].size;
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (fits) result = api.vkAllocateMemory(device_, &allocation, nullptr, &buffer.memory);
  if (result == VK_SUCCESS) ++counts_.allocations;
  if (result == VK_SUCCESS) result = api.vkBindBufferMemory(device_, buffer.buffer, buffer.memory, 0);
  if (result == VK_SUCCESS && (kind == Kind::kHost || shares_memory_)) {
    void* mapped = nullptr;
    result = api.vkMapMemory(device_, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    buffer.mapped = static_cast<uint8_t*>(mapped);
  }
  if (result != VK_SUCCESS) {
    free_buffer(&buffer);
    return check(result, kWhat);
  }
  *made = buffer;
  return Error::kOk;
}

void Gpu::free_buffer(Buffer* buffer) {
  if (buffer->buffer != VK_NULL_HANDLE) api.vkDestroyBuffer(device_, buffer->buffer, nullptr);
  if (buffer->memory != VK_NULL_HANDLE) api.vkFreeMemory(device_, buffer->memory, nullptr);
  *buffer = Buffer();
}

Error Gpu::submit(const VkSubmitInfo& info) {
  const std::lock_guard<std::mutex> lock(queue_lock_);
  BERTH_RETURN_IF_ERROR(check(api.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "queueing work"));
  ++counts_.submissions;
  return Error::kOk;
}

void Gpu::wait_idle() {
  const std::lock_guard<std::mutex> lock(queue_lock_);
  static_cast<void>(check(api.vkDeviceWaitIdle(device_), "waiting for the device"));
}

}  // namespace berth::vulkan
