#include "backends/vulkan/recorder.h"

#include <algorithm>
#include <cstring>

#include "backends/vulkan/first_runs.h"
#include "base/math.h"
#include "runtime/log.h"

namespace berth::vulkan {
namespace {

constexpr const char* kWhat = "recording a delegate";

Accesses accesses_of(const Step& step) {
  Accesses all;
  for (const Binding& binding : step.bindings) {
    if (binding.place.block == nullptr || binding.bytes == 0) continue;
    const uint64_t begin = binding.place.offset;
    all.push_back({reinterpret_cast<uintptr_t>(binding.place.block), begin, begin + binding.bytes, binding.writes,
                   binding.in_any_order});
  }
  return all;
}

// Between kernels; the last one is also seen by the host.
void barrier(const Api& api, VkCommandBuffer commands, bool to_host) {
  VkMemoryBarrier memory = {};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = to_host ? static_cast<VkAccessFlags>(VK_ACCESS_HOST_READ_BIT)
                                 : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  const VkPipelineStageFlags to = to_host ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  api.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::make(Gpu* gpu, const std::vector<Step>& steps, size_t skipped) {
  std::unique_ptr<Recording> made(new Recording(gpu));
  std::vector<Accesses> accesses;
  for (const Step& step : steps) accesses.push_back(accesses_of(step));
  const Schedule order = schedule(accesses);
  std::string hazard;
  if (!keeps_order(accesses, order, &hazard)) {
    log_message(LogLevel::kError, "vulkan: %s", hazard.c_str());
    return Error::kInternal;
  }
  FirstRuns runs(gpu);
  BERTH_RETURN_IF_ERROR(made->prepare(steps, &runs));
  BERTH_RETURN_IF_ERROR(made->write_numbers(steps));
  BERTH_RETURN_IF_ERROR(made->make_sets(steps));
  BERTH_RETURN_IF_ERROR(made->write_commands(steps, order, skipped));
  return made;
}

Recording::~Recording() {
  commands_.free(gpu_);
  for (VkBufferView view : views_) gpu_->api.vkDestroyBufferView(gpu_->device(), view, nullptr);
  if (pool_ != VK_NULL_HANDLE) gpu_->api.vkDestroyDescriptorPool(gpu_->device(), pool_, nullptr);
  gpu_->free_buffer(&numbers_);
}

Error Recording::prepare(const std::vector<Step>& steps, FirstRuns* runs) {
  for (const Step& step : steps) {
    BERTH_ASSIGN_OR_RETURN(const Pipeline pipeline, gpu_->pipeline(step.shader, step.constants, step.types, runs));
    pipelines_.push_back(pipeline);
  }
  return Commands::make(gpu_, true, &commands_);
}

// Where a binding begins for the device, which wants it aligned: at most this much before the tensor.
Error Recording::write_numbers(const std::vector<Step>& steps) {
  const uint64_t each = align_up(Gpu::kNumberBytes, std::max<uint64_t>(gpu_->limits().number_alignment, 16));
  for (size_t i = 0; i < steps.size(); ++i) numbers_at_.push_back(i * each);
  const uint64_t bytes = steps.size() * each;
  BERTH_RETURN_IF_ERROR(gpu_->make_buffer(bytes, Gpu::Kind::kHost, &numbers_));
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    auto* to = reinterpret_cast<int32_t*>(numbers_.mapped + numbers_at_[i]);
    *to++ = static_cast<int32_t>(step.count);
    for (const Binding& binding : step.bindings) {
      *to++ = static_cast<int32_t>(binding.place.offset % gpu_->limits().offset_alignment / binding.element_bytes);
    }
    std::copy(step.numbers.begin(), step.numbers.end(), to);
  }
  return Error::kOk;
}

Error Recording::make_sets(const std::vector<Step>& steps) {
  if (steps.empty()) return Error::kOk;
  std::vector<ShaderId> shaders;
  std::vector<VkDescriptorSetLayout> layouts;
  for (size_t i = 0; i < steps.size(); ++i) {
    shaders.push_back(steps[i].shader);
    layouts.push_back(pipelines_[i].set_layout);
  }
  BERTH_RETURN_IF_ERROR(gpu_->make_pool(shaders, &pool_));
  VkDescriptorSetAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool_;
  info.descriptorSetCount = static_cast<uint32_t>(steps.size());
  info.pSetLayouts = layouts.data();
  sets_.resize(steps.size());
  BERTH_RETURN_IF_ERROR(check(gpu_->api.vkAllocateDescriptorSets(gpu_->device(), &info, sets_.data()), kWhat));
  const uint64_t alignment = gpu_->limits().offset_alignment;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::vector<VkDescriptorBufferInfo> parts = {{numbers_.buffer, numbers_at_[i], Gpu::kNumberBytes}};
    std::vector<VkBufferView> views = {VK_NULL_HANDLE};
    for (size_t k = 0; k < step.bindings.size(); ++k) {
      const Binding& binding = step.bindings[k];
      // A kernel that has no tensor in a place does not look at what it sees there.
      VkDescriptorBufferInfo part = parts[0];
      if (binding.place.block != nullptr) {
        const uint64_t before = binding.place.offset % alignment;
        part = {binding.place.block->buffer.buffer, binding.place.offset - before, before + binding.bytes};
      }
      views_.push_back(VK_NULL_HANDLE);
      BERTH_RETURN_IF_ERROR(gpu_->make_view(shader(step.shader).kinds[k], binding.element_bytes, part, &views_.back()));
      parts.push_back(part);
      views.push_back(views_.back());
    }
    gpu_->write_set(sets_[i], step.shader, parts, views);
  }
  return Error::kOk;
}

Error Recording::write_commands(const std::vector<Step>& steps, const Schedule& schedule, size_t skipped) {
  const Api& api = gpu_->api;
  const VkCommandBuffer commands = commands_.buffer;
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  BERTH_RETURN_IF_ERROR(check(api.vkBeginCommandBuffer(commands, &begin), kWhat));
  size_t next = 0;
  for (uint32_t i = 0; i < schedule.order.size(); ++i) {
    if (next < schedule.barriers.size() && schedule.barriers[next] == i && next++ != skipped) {
      barrier(api, commands, false);
      ++barriers_;
    }
    const uint32_t number = schedule.order[i];
    const Step& step = steps[number];
    const Pipeline& pipeline = pipelines_[number];
    const uint32_t groups = (step.count + step.items_a_group - 1) / step.items_a_group;
    const uint32_t wide = std::min(std::min<uint32_t>(gpu_->limits().groups, 65535), std::max(groups, 1u));
    api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    api.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &sets_[number], 0,
                                nullptr);
    if (i == 0) gpu_->push_origin(commands, pipeline);
    api.vkCmdDispatch(commands, wide, (groups + wide - 1) / wide, 1);
    ++dispatches_;
  }
  const bool reports = std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.reports; });
  if (reports || (gpu_->shares_memory() && !steps.empty())) {
    barrier(api, commands, true);
    ++barriers_;
  }
  return check(api.vkEndCommandBuffer(commands), kWhat);
}

Error Recording::submit(VulkanStream* stream) {
  BERTH_RETURN_IF_ERROR(stream->submit(commands_.buffer));
  gpu_->counts().dispatches += dispatches_;
  gpu_->counts().barriers += barriers_;
  return Error::kOk;
}

}  // namespace berth::vulkan
