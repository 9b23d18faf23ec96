#include "backends/vulkan/first_runs.h"

#include <algorithm>

#include "backends/vulkan/vulkan_stream.h"

namespace berth::vulkan {
namespace {

constexpr const char* kWhat = "making a kernel";

}  // namespace

// What a run uses until it is done.
struct FirstRuns::Run {
  explicit Run(Gpu* device) : gpu(device) {}
  ~Run() {
    commands.free(gpu);
    for (VkBufferView view : views) gpu->api.vkDestroyBufferView(gpu->device(), view, nullptr);
    if (pool != VK_NULL_HANDLE) gpu->api.vkDestroyDescriptorPool(gpu->device(), pool, nullptr);
    gpu->free_buffer(&buffer);
  }
  Error see_nothing(ShaderId id, Span<const uint32_t> types, const Pipeline& pipeline);
  Error submit(const Pipeline& pipeline);

  Gpu* const gpu;
  Buffer buffer;
  Commands commands;
  std::vector<VkBufferView> views;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
};

FirstRuns::FirstRuns(Gpu* gpu) : gpu_(gpu) {}

FirstRuns::~FirstRuns() {
  if (!runs_.empty()) gpu_->wait_idle();
}

Error FirstRuns::add(ShaderId id, Span<const uint32_t> types, const Pipeline& pipeline) {
  auto run = std::make_unique<Run>(gpu_);
  BERTH_RETURN_IF_ERROR(run->see_nothing(id, types, pipeline));
  BERTH_RETURN_IF_ERROR(run->submit(pipeline));
  runs_.push_back(std::move(run));
  return Error::kOk;
}

// Numbers of zeros say that there are no work items. Views are of the types that will be, as drivers compile for these.
Error FirstRuns::Run::see_nothing(ShaderId id, Span<const uint32_t> types, const Pipeline& pipeline) {
  constexpr uint64_t kBytes = Gpu::kNumberBytes;
  BERTH_RETURN_IF_ERROR(gpu->make_buffer(kBytes, Gpu::Kind::kHost, &buffer));
  std::fill_n(buffer.mapped, kBytes, uint8_t{0});
  const ShaderId one[] = {id};
  BERTH_RETURN_IF_ERROR(gpu->make_pool(one, &pool));
  VkDescriptorSetAllocateInfo sets = {};
  sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  sets.descriptorPool = pool;
  sets.descriptorSetCount = 1;
  sets.pSetLayouts = &pipeline.set_layout;
  BERTH_RETURN_IF_ERROR(check(gpu->api.vkAllocateDescriptorSets(gpu->device(), &sets, &set), kWhat));
  const VkDescriptorBufferInfo all = {buffer.buffer, 0, kBytes};
  const std::vector<VkDescriptorBufferInfo> parts(shader(id).tensors() + 1, all);
  views.assign(parts.size(), VK_NULL_HANDLE);
  for (size_t i = 1; i < parts.size(); ++i) {
    const uint64_t element_bytes = types.empty() || types[i - 1] == 0 ? 4 : 2;
    BERTH_RETURN_IF_ERROR(gpu->make_view(shader(id).kinds[i - 1], element_bytes, all, &views[i]));
  }
  gpu->write_set(set, id, parts, views);
  return Error::kOk;
}

Error FirstRuns::Run::submit(const Pipeline& pipeline) {
  const Api& api = gpu->api;
  BERTH_RETURN_IF_ERROR(Commands::make(gpu, true, &commands));
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  BERTH_RETURN_IF_ERROR(check(api.vkBeginCommandBuffer(commands.buffer, &begin), kWhat));
  api.vkCmdBindPipeline(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  api.vkCmdBindDescriptorSets(commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
  gpu->push_origin(commands.buffer, pipeline);
  api.vkCmdDispatch(commands.buffer, 1, 1, 1);
  BERTH_RETURN_IF_ERROR(check(api.vkEndCommandBuffer(commands.buffer), kWhat));
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands.buffer;
  return gpu->submit(info);
}

}  // namespace berth::vulkan
