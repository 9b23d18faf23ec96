#include "backends/vulkan/vulkan_allocator.h"

#include <algorithm>
#include <map>
#include <vector>

#include "backends/vulkan/blocks.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/vulkan_stream.h"
#include "runtime/log.h"

namespace berth::vulkan {

struct VulkanAllocator::State {
  explicit State(const VulkanOptions& options) : instance(options), own(instance.gpus().size()) {}

  Instance instance;
  Blocks blocks;
  std::mutex mutex;
  std::map<const VulkanStream*, std::unique_ptr<VulkanStream>> streams;
  // Of calls without a stream, one for each device; made when it is first wanted.
  std::vector<std::unique_ptr<VulkanStream>> own;
};

namespace {

Error refuse(const char* what) {
  log_message(LogLevel::kError, "vulkan: %s", what);
  return Error::kInvalidArgument;
}

bool is_host(const void* address) { return address != nullptr && !Blocks::is_address(address); }

Error no_device() { return refuse("there is no device of this index"); }

}  // namespace

VulkanAllocator::VulkanAllocator(const VulkanOptions& options) : options_(options) {}
VulkanAllocator::~VulkanAllocator() {
  if (state_ == nullptr) return;
  state_->streams.clear();
  state_->own.clear();
}

VulkanAllocator::State& VulkanAllocator::open() const {
  std::call_once(opened_, [this] { state_ = std::make_unique<State>(options_); });
  return *state_;
}

int VulkanAllocator::device_count() const { return static_cast<int>(open().instance.gpus().size()); }

Gpu* VulkanAllocator::gpu(DeviceIndex index) const {
  return index >= 0 && index < device_count() ? open().instance.gpus()[index].get() : nullptr;
}

const Blocks& VulkanAllocator::blocks() const { return open().blocks; }

int VulkanAllocator::processor_count() const {
  const auto& gpus = open().instance.gpus();
  return static_cast<int>(std::count_if(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu->is_processor(); }));
}

std::string VulkanAllocator::describe() const {
  const Instance& instance = open().instance;
  std::string names;
  for (const auto& gpu : instance.gpus()) {
    if (!names.empty()) names += ", ";
    names += gpu->name();
  }
  return names.empty() ? instance.reason() : names;
}

VulkanCounts VulkanAllocator::counts() const {
  VulkanCounts sum;
  if (state_ == nullptr) return sum;
  for (const auto& gpu : state_->instance.gpus()) {
    const GpuCounts& counts = gpu->counts();
    sum.submissions += counts.submissions;
    sum.dispatches += counts.dispatches;
    sum.barriers += counts.barriers;
    sum.pipelines += counts.pipelines;
    sum.allocations += counts.allocations;
  }
  return sum;
}

uint64_t VulkanAllocator::messages() const { return state_ == nullptr ? 0 : state_->instance.messages(); }
size_t VulkanAllocator::live_blocks() const { return state_ == nullptr ? 0 : state_->blocks.size(); }

size_t VulkanAllocator::live_streams() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->streams.size();
}

VulkanStream* VulkanAllocator::stream(DeviceStream* stream) const {
  const std::lock_guard<std::mutex> lock(open().mutex);
  const auto found = state_->streams.find(VulkanStream::of(stream));
  return found == state_->streams.end() ? nullptr : found->second.get();
}

Result<VulkanStream*> VulkanAllocator::own_stream(DeviceIndex index) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::unique_ptr<VulkanStream>& own = state_->own[index];
  if (own == nullptr) {
    BERTH_ASSIGN_OR_RETURN(own, VulkanStream::create(state_->instance.gpus()[index].get()));
  }
  return own.get();
}

Result<void*> VulkanAllocator::allocate(size_t bytes, DeviceIndex index, size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kAlignment) {
    return refuse("an alignment must be a power of two of at most 256");
  }
  Gpu* const on = gpu(index);
  if (on == nullptr) return no_device();
  Buffer buffer;
  BERTH_RETURN_IF_ERROR(on->make_buffer(bytes, Gpu::Kind::kDevice, &buffer));
  Result<void*> address = state_->blocks.add(on, buffer);
  if (!address.ok()) on->free_buffer(&buffer);
  return address;
}

void VulkanAllocator::deallocate(void* memory, DeviceIndex index) {
  Gpu* const on = memory == nullptr ? nullptr : gpu(index);
  if (on == nullptr) return;
  const std::unique_ptr<Block> block = state_->blocks.remove(memory, on);
  if (block == nullptr) {
    static_cast<void>(refuse("memory is given back that this device did not allocate"));
    return;
  }
  on->wait_idle();
  on->free_buffer(&block->buffer);
}

Error VulkanAllocator::copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                                           DeviceStream* stream) {
  Gpu* const on = gpu(index);
  if (on == nullptr) return no_device();
  if (bytes == 0) return Error::kOk;
  Place place;
  if (!is_host(source) || !state_->blocks.find(target, bytes, on, &place)) {
    return refuse("a copy to bytes that are not memory of this device");
  }
  if (stream != nullptr) return VulkanStream::of(stream)->copy_from_host(place, source, bytes);
  BERTH_ASSIGN_OR_RETURN(VulkanStream * own, own_stream(index));
  BERTH_RETURN_IF_ERROR(own->copy_from_host(place, source, bytes));
  return own->synchronize();
}

Error VulkanAllocator::copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                           DeviceStream* stream) {
  Gpu* const on = gpu(index);
  if (on == nullptr) return no_device();
  if (bytes == 0) return Error::kOk;
  Place place;
  if (!is_host(target) || !state_->blocks.find(source, bytes, on, &place)) {
    return refuse("a copy from bytes that are not memory of this device");
  }
  if (stream != nullptr) return VulkanStream::of(stream)->copy_to_host(target, place, bytes);
  BERTH_ASSIGN_OR_RETURN(VulkanStream * own, own_stream(index));
  return own->copy_to_host(target, place, bytes);
}

Result<uint64_t> VulkanAllocator::begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                                     DeviceStream* stream) {
  Gpu* const on = gpu(index);
  if (on == nullptr) return no_device();
  if (stream == nullptr || bytes == 0) {
    return DeviceAllocator::begin_copy_to_host(target, source, bytes, index, stream);
  }
  Place place;
  if (!is_host(target) || !state_->blocks.find(source, bytes, on, &place)) {
    return refuse("a copy from bytes that are not memory of this device");
  }
  return VulkanStream::of(stream)->begin_copy_to_host(target, place, bytes);
}

Error VulkanAllocator::finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) {
  return gpu(index) == nullptr ? no_device() : VulkanStream::of(stream)->finish_copy_to_host(number);
}

Error VulkanAllocator::copy_device_to_device(void* target, DeviceIndex target_index, const void* source,
                                             DeviceIndex source_index, size_t bytes, DeviceStream* stream) {
  Gpu* const to = gpu(target_index);
  Gpu* const from = gpu(source_index);
  if (to == nullptr || from == nullptr) return no_device();
  if (bytes == 0) return Error::kOk;
  Place target_place;
  Place source_place;
  if (!state_->blocks.find(target, bytes, to, &target_place) ||
      !state_->blocks.find(source, bytes, from, &source_place)) {
    return refuse("a copy between bytes that are not memory of these devices");
  }
  BERTH_ASSIGN_OR_RETURN(VulkanStream * own, own_stream(target_index));
  VulkanStream* const used = stream == nullptr ? own : VulkanStream::of(stream);
  if (to == from) {
    BERTH_RETURN_IF_ERROR(used->copy_within(target_place, source_place, bytes));
  } else {
    // What the stream waits for may write the source.
    BERTH_RETURN_IF_ERROR(used->synchronize());
    BERTH_ASSIGN_OR_RETURN(VulkanStream * reader, own_stream(source_index));
    std::vector<uint8_t> between(std::min<size_t>(bytes, VulkanStream::kStageBytes));
    for (size_t done = 0; done < bytes; done += between.size()) {
      const size_t part = std::min(bytes - done, between.size());
      const Place read = {source_place.block, source_place.offset + done};
      const Place write = {target_place.block, target_place.offset + done};
      BERTH_RETURN_IF_ERROR(reader->copy_to_host(between.data(), read, part));
      BERTH_RETURN_IF_ERROR(used->copy_from_host(write, between.data(), part));
    }
  }
  return stream == nullptr ? used->synchronize() : Error::kOk;
}

Result<DeviceStream*> VulkanAllocator::create_stream(DeviceIndex index) {
  Gpu* const on = gpu(index);
  if (on == nullptr) return no_device();
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<VulkanStream> stream, VulkanStream::create(on));
  DeviceStream* const handle = stream->handle();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const VulkanStream* const key = stream.get();
  state_->streams.emplace(key, std::move(stream));
  return handle;
}

void VulkanAllocator::destroy_stream(DeviceStream* stream, DeviceIndex index) {
  if (stream == nullptr || gpu(index) == nullptr) return;
  std::unique_ptr<VulkanStream> last;  // ends without the lock, as it waits
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto found = state_->streams.find(VulkanStream::of(stream));
  if (found == state_->streams.end()) return;
  last = std::move(found->second);
  state_->streams.erase(found);
}

Error VulkanAllocator::synchronize(DeviceStream* stream, DeviceIndex index) {
  if (gpu(index) == nullptr) return no_device();
  return stream == nullptr ? Error::kOk : VulkanStream::of(stream)->synchronize();
}

Error VulkanAllocator::record(DeviceStream* stream, DeviceIndex index) {
  if (gpu(index) == nullptr) return no_device();
  return stream == nullptr ? Error::kOk : VulkanStream::of(stream)->record();
}

Error VulkanAllocator::wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) {
  if (gpu(index) == nullptr || gpu(other_index) == nullptr) return no_device();
  if (stream == nullptr || other == nullptr) return Error::kOk;
  return VulkanStream::of(stream)->wait(VulkanStream::of(other));
}

}  // namespace berth::vulkan
