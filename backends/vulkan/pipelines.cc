// Gpu's kernels: SPIR-V modules, specialised.

#include "backends/vulkan/gpu.h"
#include "backends/vulkan/vulkan_stream.h"

namespace berth::vulkan {
namespace {

constexpr const char* kWhat = "making a kernel";

}  // namespace

Error Gpu::layout(int bindings, Layout* layout) {
  const auto found = layouts_.find(bindings);
  if (found != layouts_.end()) {
    *layout = found->second;
    return Error::kOk;
  }
  std::vector<VkDescriptorSetLayoutBinding> all(bindings);
  for (int i = 0; i < bindings; ++i) {
    all[i].binding = static_cast<uint32_t>(i);
    all[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    all[i].descriptorCount = 1;
    all[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set = {};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(bindings);
  set.pBindings = all.data();
  Layout made;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set), kWhat));
  VkPipelineLayoutCreateInfo pipeline = {};
  pipeline.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &made.set;
  const VkResult result = api.vkCreatePipelineLayout(device_, &pipeline, nullptr, &made.pipeline);
  if (result != VK_SUCCESS) {
    api.vkDestroyDescriptorSetLayout(device_, made.set, nullptr);
    return check(result, kWhat);
  }
  layouts_.emplace(bindings, made);
  *layout = made;
  return Error::kOk;
}

Error Gpu::module(ShaderId id, VkShaderModule* made) {
  const auto found = modules_.find(id);
  if (found != modules_.end()) {
    *made = found->second;
    return Error::kOk;
  }
  VkShaderModuleCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = shader(id).bytes;
  info.pCode = shader(id).words;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateShaderModule(device_, &info, nullptr, made), kWhat));
  modules_.emplace(id, *made);
  return Error::kOk;
}

Error Gpu::compile(ShaderId id, Span<const uint32_t> constants, const Layout& layout, VkPipeline* made) {
  VkShaderModule code = VK_NULL_HANDLE;
  BERTH_RETURN_IF_ERROR(module(id, &code));
  std::vector<VkSpecializationMapEntry> entries(constants.size());
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, 4 * i, 4};
  VkSpecializationInfo special = {};
  special.mapEntryCount = static_cast<uint32_t>(entries.size());
  special.pMapEntries = entries.data();
  special.dataSize = 4 * constants.size();
  special.pData = constants.data();
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = code;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = constants.empty() ? nullptr : &special;
  info.layout = layout.pipeline;
  info.basePipelineIndex = -1;
  return check(api.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, made), kWhat);
}

Result<Pipeline> Gpu::pipeline(ShaderId id, Span<const uint32_t> constants) {
  Key key = {static_cast<uint32_t>(id)};
  key.insert(key.end(), constants.begin(), constants.end());
  const std::lock_guard<std::mutex> lock(pipeline_lock_);
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return found->second;
  const int bindings = shader(id).buffers + 1;
  Layout layout_of;
  BERTH_RETURN_IF_ERROR(layout(bindings, &layout_of));
  Pipeline made = {VK_NULL_HANDLE, layout_of.pipeline, layout_of.set};
  BERTH_RETURN_IF_ERROR(compile(id, constants, layout_of, &made.pipeline));
  const Error error = run_on_nothing(made, bindings);
  if (error != Error::kOk) {
    api.vkDestroyPipeline(device_, made.pipeline, nullptr);
    return error;
  }
  ++counts_.pipelines;
  pipelines_.emplace(std::move(key), made);
  return made;
}

// Numbers of zeros say that there are no work items.
Error Gpu::run_on_nothing(const Pipeline& pipeline, int bindings) {
  struct Used {
    Gpu* gpu;
    Buffer buffer;
    Commands commands;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    ~Used() {
      commands.free(gpu);
      if (pool != VK_NULL_HANDLE) gpu->api.vkDestroyDescriptorPool(gpu->device(), pool, nullptr);
      gpu->free_buffer(&buffer);
    }
  } used{this, {}, {}};
  constexpr uint64_t kBytes = 1024;
  BERTH_RETURN_IF_ERROR(make_buffer(kBytes, Kind::kHost, &used.buffer));
  std::fill_n(used.buffer.mapped, kBytes, uint8_t{0});
  BERTH_RETURN_IF_ERROR(Commands::make(this, true, &used.commands));
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, static_cast<uint32_t>(bindings)};
  VkDescriptorPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = 1;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  BERTH_RETURN_IF_ERROR(check(api.vkCreateDescriptorPool(device_, &pool, nullptr, &used.pool), kWhat));
  VkDescriptorSetAllocateInfo sets = {};
  sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  sets.descriptorPool = used.pool;
  sets.descriptorSetCount = 1;
  sets.pSetLayouts = &pipeline.set_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  BERTH_RETURN_IF_ERROR(check(api.vkAllocateDescriptorSets(device_, &sets, &set), kWhat));
  const std::vector<VkDescriptorBufferInfo> buffers(bindings, {used.buffer.buffer, 0, kBytes});
  VkWriteDescriptorSet write = {};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = set;
  write.descriptorCount = static_cast<uint32_t>(bindings);
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = buffers.data();
  api.vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  BERTH_RETURN_IF_ERROR(check(api.vkBeginCommandBuffer(used.commands.buffer, &begin), kWhat));
  api.vkCmdBindPipeline(used.commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  api.vkCmdBindDescriptorSets(used.commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0,
                              nullptr);
  api.vkCmdDispatch(used.commands.buffer, 1, 1, 1);
  BERTH_RETURN_IF_ERROR(check(api.vkEndCommandBuffer(used.commands.buffer), kWhat));
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &used.commands.buffer;
  BERTH_RETURN_IF_ERROR(submit(info));
  wait_idle();
  return Error::kOk;
}

}  // namespace berth::vulkan
