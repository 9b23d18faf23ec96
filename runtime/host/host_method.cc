#include "runtime/host/host_method.h"

#include <cinttypes>
#include <cstdlib>

namespace berth {

void HostBuffer::Free::operator()(void* memory) const { std::free(memory); }

Result<HostBuffer> HostBuffer::make(size_t bytes, size_t alignment) {
  if (alignment < 64) alignment = 64;
  if (bytes > SIZE_MAX / 2 - alignment) return Error::kMemoryAllocationFailed;
  HostBuffer buffer;
  // calloc instead of aligned_alloc: large arenas come as pages that are not touched before they are used.
  buffer.memory_.reset(std::calloc(bytes + alignment, 1));
  if (buffer.memory_ == nullptr) return Error::kMemoryAllocationFailed;
  const uintptr_t start = reinterpret_cast<uintptr_t>(buffer.memory_.get());
  const uintptr_t padding = -start & (alignment - 1);
  buffer.bytes_ = {static_cast<uint8_t*>(buffer.memory_.get()) + padding, bytes};
  return buffer;
}

Error HostArenas::add(size_t index, uint64_t bytes, size_t alignment, Report* report) {
  if (index >= buffers_.size()) {
    buffers_.resize(index + 1);
    spans_.resize(index + 1);
  }
  if (spans_[index].data() != nullptr && bytes <= spans_[index].size()) return Error::kOk;
  Result<HostBuffer> buffer = bytes > SIZE_MAX ? Result<HostBuffer>(Error::kMemoryAllocationFailed)
                                               : HostBuffer::make(static_cast<size_t>(bytes), alignment);
  if (!buffer.ok()) {
    return format::fail(report, buffer.error(), "arenas", "this machine has no %" PRIu64 " bytes for arena %zu", bytes,
                        index + 1);
  }
  buffers_[index] = std::move(*buffer);
  spans_[index] = buffers_[index].bytes();
  return Error::kOk;
}

namespace {

// A file may say any alignment; a page is the most that means anything here.
size_t usable_alignment(size_t alignment) {
  return alignment <= 4096 && (alignment & (alignment - 1)) == 0 ? alignment : 64;
}

}  // namespace

Result<HostArenas> HostArenas::make(const Program& program, Report* report) {
  HostArenas arenas;
  for (size_t m = 0; m < program.num_methods(); ++m) {
    BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(m));
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(i));
      BERTH_RETURN_IF_ERROR(arenas.add(i, bytes, usable_alignment(meta.memory_planned_buffer_alignment(i)), report));
    }
  }
  return arenas;
}

Result<HostMethod> HostMethod::load(const Program& program, const char* name, const HostOptions& options) {
  Report* report = options.report;
  Report own;
  if (report == nullptr) report = &own;
  *report = Report();
  auto state = std::make_unique<State>();
  BERTH_ASSIGN_OR_RETURN(const MemoryNeeded least, program.memory_needed(name, {}, 1, report));
  BERTH_ASSIGN_OR_RETURN(const MethodMeta meta, program.method_meta(name));
  Result<HostBuffer> scratch = HostBuffer::make(least.method_bytes);
  if (!scratch.ok()) {
    return format::fail(report, scratch.error(), "method memory", "this machine has no %zu bytes for it",
                        least.method_bytes);
  }
  state->method_bytes = std::move(*scratch);
  const int threads = options.pool == nullptr ? 1 : options.pool->size();
  BERTH_ASSIGN_OR_RETURN(const MemoryNeeded needed,
                         program.memory_needed(name, state->method_bytes.bytes(), threads, report));
  state->needed = needed;
  Result<HostBuffer> temp = HostBuffer::make(needed.temp_bytes);
  if (!temp.ok()) {
    return format::fail(report, temp.error(), "temp memory", "this machine has no %zu bytes for it", needed.temp_bytes);
  }
  state->temp = std::move(*temp);
  if (options.arenas == nullptr) {
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, meta.memory_planned_buffer_size(i));
      BERTH_RETURN_IF_ERROR(
          state->arenas.add(i, bytes, usable_alignment(meta.memory_planned_buffer_alignment(i)), report));
    }
  }
  MemoryAllocator allocator(state->method_bytes.bytes());
  const HierarchicalAllocator planned(options.arenas == nullptr ? state->arenas.spans() : options.arenas->spans());
  const MemoryManager memory(allocator, planned, state->temp.bytes());
  Result<Method> method = program.load_method(name, memory, options.pool, report);
  if (!method.ok()) return method.error();
  HostMethod result(std::move(state), std::move(*method));
  BERTH_RETURN_IF_ERROR(result.bind_outputs(report));
  return result;
}

Error HostMethod::bind_outputs(Report* report) {
  const MethodMeta meta = method_->meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned || method_->get_output(i).tensor().raw() != nullptr) continue;
    Result<HostBuffer> buffer = HostBuffer::make(info->nbytes);
    if (!buffer.ok()) {
      return format::fail(report, buffer.error(), "outputs", "this machine has no %zu bytes for output %zu",
                          info->nbytes, i);
    }
    // InvalidState: the output is an input, whose memory is the caller's.
    const Error error = method_->set_output_data_ptr(i, buffer->bytes().data(), buffer->bytes().size());
    if (error != Error::kOk && error != Error::kInvalidState) return error;
    state_->outputs.push_back(std::move(*buffer));
  }
  return Error::kOk;
}

}  // namespace berth
