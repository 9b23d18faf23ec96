#include "backends/vulkan/vulkan_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/device_explanation.h"
#include "runtime/log.h"

namespace berth::vulkan {
namespace {

constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;

// All work and all memory before, then all work and all memory behind, the host's included.
void order_all(const Api& api, VkCommandBuffer commands) {
  VkMemoryBarrier all = {};
  all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  all.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  all.dstAccessMask = kAnyAccess | VK_ACCESS_HOST_READ_BIT;
  api.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0, nullptr, 0,
                           nullptr);
}

}  // namespace

Result<std::shared_ptr<Timeline>> Timeline::create(Gpu* gpu) {
  std::shared_ptr<Timeline> timeline(new Timeline(gpu));
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  BERTH_RETURN_IF_ERROR(
      check(gpu->api.vkCreateSemaphore(gpu->device(), &info, nullptr, &timeline->semaphore_), "making a semaphore"));
  return timeline;
}

Timeline::~Timeline() {
  if (semaphore_ != VK_NULL_HANDLE) gpu_->api.vkDestroySemaphore(gpu_->device(), semaphore_, nullptr);
}

Error Timeline::reach(uint64_t value) const {
  if (value == 0) return Error::kOk;
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &value;
  const Error error = check(gpu_->api.vkWaitSemaphores(gpu_->device(), &info, UINT64_MAX), "waiting for a stream");
  // What the stream's work uses may go when this returns, whatever it says.
  if (error != Error::kOk) gpu_->wait_idle();
  return error;
}

Error Commands::make(Gpu* gpu, bool again, Commands* made) {
  constexpr const char* kWhat = "making a command buffer";
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = again ? 0 : VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = gpu->family();
  BERTH_RETURN_IF_ERROR(check(gpu->api.vkCreateCommandPool(gpu->device(), &pool, nullptr, &made->pool), kWhat));
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = made->pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  return check(gpu->api.vkAllocateCommandBuffers(gpu->device(), &info, &made->buffer), kWhat);
}

void Commands::free(Gpu* gpu) {
  if (pool != VK_NULL_HANDLE) gpu->api.vkDestroyCommandPool(gpu->device(), pool, nullptr);
  *this = Commands();
}

Result<std::unique_ptr<VulkanStream>> VulkanStream::create(Gpu* gpu) {
  std::unique_ptr<VulkanStream> stream(new VulkanStream(gpu));
  BERTH_RETURN_IF_ERROR(stream->open());
  return stream;
}

Error VulkanStream::open() {
  BERTH_ASSIGN_OR_RETURN(timeline_, Timeline::create(gpu_));
  faults_.gpu = gpu_;
  BERTH_RETURN_IF_ERROR(gpu_->make_buffer(kFaultBytes, Gpu::Kind::kHost, &faults_.buffer));
  std::memset(faults_.buffer.mapped, 0, kFaultBytes);
  if (gpu_->shares_memory()) return Error::kOk;
  for (Stage& stage : stages_) {
    BERTH_RETURN_IF_ERROR(gpu_->make_buffer(kStageBytes, Gpu::Kind::kHost, &stage.buffer));
    BERTH_RETURN_IF_ERROR(Commands::make(gpu_, false, &stage.commands));
  }
  return Error::kOk;
}

VulkanStream::~VulkanStream() {
  if (timeline_ != nullptr && timeline_->reach(last_) == Error::kOk) arrive(last_);
  for (Stage& stage : stages_) {
    stage.commands.free(gpu_);
    gpu_->free_buffer(&stage.buffer);
  }
  gpu_->free_buffer(&faults_.buffer);
}

Error VulkanStream::submit_locked(VkCommandBuffer commands) {
  VkSemaphore semaphores[8];
  uint64_t values[8];
  VkPipelineStageFlags stages[8];
  // More are waited for by the host.
  while (awaited_.size() > 7) {
    BERTH_RETURN_IF_ERROR(awaited_.back().timeline->reach(awaited_.back().value));
    awaited_.pop_back();
  }
  uint32_t waits = 0;
  const auto await = [&](VkSemaphore semaphore, uint64_t value) {
    semaphores[waits] = semaphore;
    values[waits] = value;
    stages[waits++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  };
  if (last_ > 0) await(timeline_->semaphore(), last_);
  for (const Awaited& one : awaited_) await(one.timeline->semaphore(), one.value);
  const uint64_t next = last_ + 1;
  const VkSemaphore own = timeline_->semaphore();
  VkTimelineSemaphoreSubmitInfo timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.waitSemaphoreValueCount = waits;
  timeline.pWaitSemaphoreValues = values;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &next;
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.waitSemaphoreCount = waits;
  info.pWaitSemaphores = semaphores;
  info.pWaitDstStageMask = stages;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &own;
  BERTH_RETURN_IF_ERROR(gpu_->submit(info));
  last_ = next;
  // Their semaphores are in use until this submission has begun, whatever becomes of their streams.
  for (const Awaited& one : awaited_) {
    if (std::find(held_.begin(), held_.end(), one.timeline) == held_.end()) held_.push_back(one.timeline);
  }
  awaited_.clear();
  return Error::kOk;
}

// Until all work is done; kernels may have found something wrong then.
Error VulkanStream::reach_last() {
  const Error reached = timeline_->reach(last_);
  if (reached == Error::kOk) arrive(last_);
  forget_arrivals();
  return reached == Error::kOk ? take_fault() : reached;
}

// What could not be waited for never arrives: its target may be used for something else from now on.
void VulkanStream::forget_arrivals() {
  for (Stage& stage : stages_) stage.target = nullptr;
}

// Copies to the host that were begun, up to this value of the timeline.
void VulkanStream::arrive(uint64_t last) {
  for (Stage& stage : stages_) {
    if (stage.target == nullptr || stage.busy_until > last) continue;
    std::memcpy(stage.target, stage.buffer.mapped, stage.bytes);
    stage.target = nullptr;
  }
}

bool VulkanStream::has_fault() const {
  uint32_t op = 0;
  std::memcpy(&op, faults_.buffer.mapped + offsetof(Fault, op), sizeof op);
  return op != 0;
}

Error VulkanStream::take_fault() {
  Fault found;
  std::memcpy(&found, faults_.buffer.mapped, sizeof found);
  if (found.op == 0) return Error::kOk;
  std::memset(faults_.buffer.mapped, 0, kFaultBytes);
  const std::string sentence = to_text(found);
  explain_error(sentence.c_str());
  log_message(LogLevel::kError, "vulkan: %s", sentence.c_str());
  return Error::kInvalidArgument;
}

Error VulkanStream::finish_locked() {
  for (const Awaited& one : awaited_) {
    const Error error = one.timeline->reach(one.value);
    if (error == Error::kOk) continue;
    forget_arrivals();
    return error;
  }
  awaited_.clear();
  BERTH_RETURN_IF_ERROR(reach_last());
  held_.clear();
  return Error::kOk;
}

Error VulkanStream::next_stage(Stage** stage) {
  *stage = &stages_[next_];
  next_ = (next_ + 1) % kStages;
  BERTH_RETURN_IF_ERROR(timeline_->reach((*stage)->busy_until));
  arrive((*stage)->busy_until);
  return Error::kOk;
}

Error VulkanStream::copy(VkBuffer target, uint64_t target_offset, VkBuffer source, uint64_t source_offset,
                         uint64_t bytes, Stage* stage) {
  const Api& api = gpu_->api;
  if (stage->commands.buffer == VK_NULL_HANDLE) BERTH_RETURN_IF_ERROR(Commands::make(gpu_, false, &stage->commands));
  const VkCommandBuffer commands = stage->commands.buffer;
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  BERTH_RETURN_IF_ERROR(check(api.vkBeginCommandBuffer(commands, &begin), "recording a copy"));
  const VkBufferCopy region = {source_offset, target_offset, bytes};
  api.vkCmdCopyBuffer(commands, source, target, 1, &region);
  order_all(api, commands);
  if (const Error ended = check(api.vkEndCommandBuffer(commands), "recording a copy"); ended != Error::kOk) {
    stage->commands.free(gpu_);  // which cannot begin again
    return ended;
  }
  BERTH_RETURN_IF_ERROR(submit_locked(commands));
  stage->busy_until = last_;
  return Error::kOk;
}

Error VulkanStream::copy_from_host(Place target, const void* source, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Buffer& to = target.block->buffer;
  if (to.mapped != nullptr) {
    BERTH_RETURN_IF_ERROR(finish_locked());
    std::memcpy(to.mapped + target.offset, source, bytes);
    return Error::kOk;
  }
  const auto* from = static_cast<const uint8_t*>(source);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(bytes - done, kStageBytes);
    Stage* stage = nullptr;
    BERTH_RETURN_IF_ERROR(next_stage(&stage));
    std::memcpy(stage->buffer.mapped, from + done, part);
    BERTH_RETURN_IF_ERROR(copy(to.buffer, target.offset + done, stage->buffer.buffer, 0, part, stage));
    done += part;
  }
  return Error::kOk;
}

Error VulkanStream::copy_to_host(void* target, Place source, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return copy_to_host_locked(target, source, bytes);
}

Result<uint64_t> VulkanStream::begin_copy_to_host(void* target, Place source, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Buffer& from = source.block->buffer;
  if (from.mapped != nullptr || bytes > kStageBytes) {
    BERTH_RETURN_IF_ERROR(copy_to_host_locked(target, source, bytes));
    return uint64_t{0};
  }
  Stage* stage = nullptr;
  BERTH_RETURN_IF_ERROR(next_stage(&stage));
  BERTH_RETURN_IF_ERROR(copy(stage->buffer.buffer, 0, from.buffer, source.offset, bytes, stage));
  stage->target = target;
  stage->bytes = bytes;
  return last_;
}

Error VulkanStream::finish_copy_to_host(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  BERTH_RETURN_IF_ERROR(timeline_->reach(number));
  arrive(number);
  // Later work may still be writing what it has found.
  return has_fault() ? reach_last() : Error::kOk;
}

Error VulkanStream::copy_to_host_locked(void* target, Place source, uint64_t bytes) {
  const Buffer& from = source.block->buffer;
  if (from.mapped != nullptr) {
    BERTH_RETURN_IF_ERROR(finish_locked());
    std::memcpy(target, from.mapped + source.offset, bytes);
    return Error::kOk;
  }
  auto* to = static_cast<uint8_t*>(target);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min(bytes - done, kStageBytes);
    Stage* stage = nullptr;
    BERTH_RETURN_IF_ERROR(next_stage(&stage));
    BERTH_RETURN_IF_ERROR(copy(stage->buffer.buffer, 0, from.buffer, source.offset + done, part, stage));
    BERTH_RETURN_IF_ERROR(reach_last());
    std::memcpy(to + done, stage->buffer.mapped, part);
    done += part;
  }
  return Error::kOk;
}

Error VulkanStream::copy_within(Place target, Place source, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Buffer& to = target.block->buffer;
  const Buffer& from = source.block->buffer;
  if (to.mapped != nullptr && from.mapped != nullptr) {
    BERTH_RETURN_IF_ERROR(finish_locked());
    std::memcpy(to.mapped + target.offset, from.mapped + source.offset, bytes);
    return Error::kOk;
  }
  Stage* stage = nullptr;
  BERTH_RETURN_IF_ERROR(next_stage(&stage));
  return copy(to.buffer, target.offset, from.buffer, source.offset, bytes, stage);
}

Error VulkanStream::submit(VkCommandBuffer commands) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return submit_locked(commands);
}

Error VulkanStream::synchronize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finish_locked();
}

Error VulkanStream::record() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // What this stream waits for is before the mark too.
  if (!awaited_.empty()) BERTH_RETURN_IF_ERROR(finish_locked());
  mark_ = last_;
  return Error::kOk;
}

Error VulkanStream::wait(VulkanStream* other) {
  if (other == this) return Error::kOk;
  std::unique_lock<std::mutex> theirs(other->mutex_);
  const Awaited awaited = {other->timeline_, other->mark_};
  theirs.unlock();
  if (awaited.value == 0) return Error::kOk;
  if (other->gpu_ != gpu_) return awaited.timeline->reach(awaited.value);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Awaited& one : awaited_) {
    if (one.timeline != awaited.timeline) continue;
    one.value = std::max(one.value, awaited.value);
    return Error::kOk;
  }
  awaited_.push_back(awaited);
  return Error::kOk;
}

}  // namespace berth::vulkan
