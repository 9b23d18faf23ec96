// Gpu: a VkDevice with one queue, its memory and its pipelines. Private to backends/vulkan/.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/vulkan/api.h"
#include "backends/vulkan/options.h"
#include "backends/vulkan/shaders.h"
#include "base/result.h"
#include "base/span.h"

namespace berth::vulkan {

/// What a device has done so far.
struct GpuCounts {
  std::atomic<uint64_t> submissions{0};  // to its queue
  std::atomic<uint64_t> dispatches{0};   // of kernels, in submissions
  std::atomic<uint64_t> barriers{0};     // likewise
  std::atomic<uint64_t> pipelines{0};    // made
  std::atomic<uint64_t> allocations{0};  // of memory of the device
};

struct GpuLimits {
  uint64_t buffer_bytes = 0;      // of one buffer
  uint64_t range_bytes = 0;       // that a kernel sees of a buffer
  uint64_t offset_alignment = 0;  // of where that begins
  uint64_t number_alignment = 0;  // of where a kernel's numbers begin
  uint32_t groups = 0;            // along the first axis of a dispatch
};

/// A VkBuffer with memory of its own.
struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint8_t* mapped = nullptr;  // where the host sees it; null if it does not
  uint64_t bytes = 0;
};

/// A kernel as the device has it.
struct Pipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
};

class FirstRuns;

/// Thread-safe.
class Gpu {
 public:
  /// Null, with `*reason`, for a device that lacks what this room needs.
  static std::unique_ptr<Gpu> open(const Api& api, VkPhysicalDevice physical, const VulkanOptions& options,
                                   std::string* reason);
  ~Gpu();

  /// The functions of this device. Tests change it before anything else runs.
  Api api;
  const std::string& name() const { return name_; }
  const GpuLimits& limits() const { return limits_; }
  VkDevice device() const { return device_; }
  uint32_t family() const { return family_; }
  /// Whether the host reads and writes the memory of the device where it is.
  bool shares_memory() const { return shares_memory_; }
  /// Whether the host's processor computes what this device does, as with Mesa's lavapipe.
  bool is_processor() const { return is_processor_; }
  /// Whether kernels that read texels are the faster ones: of a processor whose vectors have eight lanes, such as
  /// Mesa's lavapipe. It reads the elements of a storage buffer one after the other, and eight texels at once.
  bool reads_texels() const { return reads_texels_; }
  /// Whether kernels are those for cards: groups work through shared memory (shaders/block.comp).
  bool is_card() const { return is_card_; }
  /// Whether that has a memory, and so registers, of its own.
  bool is_large_card() const { return is_large_card_; }
  /// Whether the driver ends the loops of an invocation when they have come round 65535 times in all, as lavapipe does.
  bool ends_loops() const { return is_processor_; }
  /// Whether kernels read and write elements of 16 bits in storage buffers.
  bool stores_16_bits() const { return stores_16_bits_; }
  /// Whether they do so with those of 8 bits.
  bool stores_8_bits() const { return stores_8_bits_; }
  /// Whether kernels use the device's dot product of four bytes, which devices have that say it is faster.
  bool has_dot_products() const { return has_dot_products_; }
  GpuCounts& counts() { return counts_; }
  /// What the file of compiled kernels had for the device (VulkanOptions::pipeline_cache).
  size_t cached_bytes() const { return cached_.size(); }

  enum class Kind { kDevice, kHost };
  /// A buffer for kernels and copies, of at least one byte: of the device (mapped where it shares its memory), or of
  /// the host, always mapped.
  Error make_buffer(uint64_t bytes, Kind kind, Buffer* buffer);
  void free_buffer(Buffer* buffer);

  Error submit(const VkSubmitInfo& info);
  /// Until the queue is empty.
  void wait_idle();

  /// The kernel with these specialisation constants, made when it is first wanted: one that is new is among `runs`
  /// then. `types` are those of its tensors, for kernels that take several (shaders/narrow.glsl).
  Result<Pipeline> pipeline(ShaderId shader, Span<const uint32_t> constants, Span<const uint32_t> types,
                            FirstRuns* runs);

  /// What kernels add to the places of their numbers, `origin` in shaders/common.glsl: once for all of `commands`.
  void push_origin(VkCommandBuffer commands, const Pipeline& pipeline) const;

  /// A kernel has no more numbers (shaders/common.glsl), of 32 bits each, and sees as many.
  static constexpr uint64_t kMostNumbers = 256;
  static constexpr uint64_t kNumberBytes = 4 * kMostNumbers;
  /// What a buffer has behind its bytes, for views of texels.
  static constexpr uint64_t kViewSlack = 256;
  /// Bytes of a buffer as texels of a kind (shaders.def), with elements of f32, or of f16 where they have two bytes;
  /// null for storage buffers, which need none. What is not a whole texel at the end is left out.
  Error make_view(char kind, uint64_t element_bytes, const VkDescriptorBufferInfo& part, VkBufferView* view);
  /// A pool for one set of each shader.
  Error make_pool(Span<const ShaderId> shaders, VkDescriptorPool* pool);
  /// What a kernel sees: its numbers, then each tensor, which has a view where its kind wants one.
  void write_set(VkDescriptorSet set, ShaderId shader, Span<const VkDescriptorBufferInfo> parts,
                 Span<const VkBufferView> views);

 private:
  using Key = std::vector<uint32_t>;  // the shader, its constants, its types
  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };

  Gpu() = default;
  bool choose(VkPhysicalDevice physical, std::string* reason);
  void open_cache(const std::string& path);
  void close_cache();
  void choose_dot_products(VkPhysicalDevice physical, const VulkanOptions& options);
  void choose_kernels(VkPhysicalDevice physical, const VulkanOptions& options);
  void choose_memory(VkPhysicalDevice physical, bool staged);
  int memory_type(uint32_t allowed, Kind kind) const;
  Error layout(const char* kinds, Layout* layout);
  Error module(ShaderId shader, VkShaderModule* made);
  Error compile(ShaderId shader, Span<const uint32_t> constants, Span<const uint32_t> types, const Layout& layout,
                VkPipeline* made);

  std::string name_;
  GpuLimits limits_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  bool shares_memory_ = false;
  bool is_processor_ = false;
  bool reads_texels_ = false;
  bool is_card_ = false;
  bool is_large_card_ = false;
  bool stores_16_bits_ = false;
  bool stores_8_bits_ = false;
  bool has_dot_products_ = false;
  bool widens_views_ = false;  // past the tensor, which would make the validation layers see hazards that there are not
  VkPhysicalDeviceMemoryProperties memory_ = {};
  VkMemoryPropertyFlags device_flags_ = 0;
  std::mutex queue_lock_;
  std::mutex pipeline_lock_;
  std::map<std::string, Layout> layouts_;  // by the kinds of what is seen
  std::map<ShaderId, VkShaderModule> modules_;
  std::map<Key, Pipeline> pipelines_;
  VkPhysicalDeviceProperties properties_ = {};
  std::string cache_path_;  // where kernels are kept; empty: nowhere
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<uint8_t> cached_;  // what the file had
  GpuCounts counts_;
};

}  // namespace berth::vulkan
