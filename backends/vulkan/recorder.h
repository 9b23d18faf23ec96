// Recorder: what the kernels of a delegate want to run, gathered, and made into commands that the device repeats.
// Private to backends/vulkan/.
#pragma once

#include <memory>
#include <vector>

#include "backends/vulkan/blocks.h"
#include "backends/vulkan/schedule.h"
#include "backends/vulkan/vulkan_stream.h"

namespace berth::vulkan {

/// A tensor as a kernel sees it: bytes of a block. Without a block: none, and the kernel does not touch it.
struct Binding {
  Place place;
  uint64_t bytes = 0;
  uint32_t element_bytes = 4;  // what the kernel counts in
  bool writes = false;
  bool in_any_order = false;  // with others that say so: by atomic operations
};

/// A kernel to run.
struct Step {
  ShaderId shader{};
  std::vector<uint32_t> constants;  // of specialisation
  std::vector<uint32_t> types;      // of the tensors, where the kernel is for several (shaders/narrow.glsl)
  std::vector<Binding> bindings;
  std::vector<int32_t> numbers;  // behind the count and the bindings' offsets (shaders/common.glsl)
  uint32_t count = 0;            // work items
  uint32_t items_a_group = 64;
  bool reports = false;  // what it finds wrong, to the host
};

/// Commands that run steps, and what they need.
class Recording {
 public:
  /// `skipped`: a barrier that is left out, for tests; SIZE_MAX for none.
  static Result<std::unique_ptr<Recording>> make(Gpu* gpu, const std::vector<Step>& steps, size_t skipped);
  ~Recording();

  Error submit(VulkanStream* stream);
  uint64_t dispatches() const { return dispatches_; }
  uint64_t barriers() const { return barriers_; }

 private:
  explicit Recording(Gpu* gpu) : gpu_(gpu) {}
  Error prepare(const std::vector<Step>& steps, FirstRuns* runs);
  Error write_numbers(const std::vector<Step>& steps);
  Error make_sets(const std::vector<Step>& steps);
  Error write_commands(const std::vector<Step>& steps, const Schedule& schedule, size_t skipped);

  Gpu* const gpu_;
  Commands commands_;
  Buffer numbers_;
  std::vector<uint64_t> numbers_at_;  // of each step, in `numbers_`
  std::vector<Pipeline> pipelines_;   // likewise
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  std::vector<VkBufferView> views_;  // of those; null for tensors that are storage buffers
  uint64_t dispatches_ = 0;
  uint64_t barriers_ = 0;
};

}  // namespace berth::vulkan
