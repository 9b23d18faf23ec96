// Gpu's kernels from one process to the next, where VulkanOptions::pipeline_cache names a file.

#include "backends/vulkan/gpu.h"
#include "backends/vulkan/pipeline_file.h"

namespace berth::vulkan {

// If the driver refuses the bytes that it once gave, the cache begins empty; without a cache all kernels are compiled.
void Gpu::open_cache(const std::string& path) {
  if (path.empty()) return;
  cache_path_ = path;
  cached_ = read_pipelines(path, properties_);
  VkPipelineCacheCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = cached_.size();
  info.pInitialData = cached_.data();
  constexpr const char* kWhat = "opening the file of compiled kernels";
  if (check(api.vkCreatePipelineCache(device_, &info, nullptr, &cache_), kWhat) == Error::kOk) return;
  cached_.clear();
  info.initialDataSize = 0;
  if (check(api.vkCreatePipelineCache(device_, &info, nullptr, &cache_), kWhat) != Error::kOk) cache_ = VK_NULL_HANDLE;
}

void Gpu::close_cache() {
  if (cache_ == VK_NULL_HANDLE) return;
  constexpr const char* kWhat = "keeping compiled kernels";
  size_t size = 0;
  Error error = Error::kOk;
  if (counts_.pipelines > 0) error = check(api.vkGetPipelineCacheData(device_, cache_, &size, nullptr), kWhat);
  std::vector<uint8_t> bytes(size);
  if (size > 0 && error == Error::kOk) {
    error = check(api.vkGetPipelineCacheData(device_, cache_, &size, bytes.data()), kWhat);
    bytes.resize(size);
  }
  if (error == Error::kOk && !bytes.empty() && bytes != cached_) write_pipelines(cache_path_, properties_, bytes);
  api.vkDestroyPipelineCache(device_, cache_, nullptr);
}

}  // namespace berth::vulkan
