// SimAllocator: copies, streams, counts and failures.

#include "backends/sim/sim_allocator.h"

#include <algorithm>
#include <cstring>

#include "runtime/device_explanation.h"
#include "runtime/log.h"

namespace berth {

namespace {

void add(const SimCounts& more, SimCounts* sum) {
  const auto add_copies = [](const SimCounts::Copies& from, SimCounts::Copies* to) {
    to->count += from.count;
    to->bytes += from.bytes;
  };
  sum->allocations += more.allocations;
  sum->deallocations += more.deallocations;
  add_copies(more.host_to_device, &sum->host_to_device);
  add_copies(more.device_to_host, &sum->device_to_host);
  add_copies(more.device_to_device, &sum->device_to_device);
  sum->synchronizations += more.synchronizations;
}

Error bad_copy(const char* what, size_t bytes, const void* address, DeviceIndex index) {
  log_message(LogLevel::kError, "sim: %zu bytes at %p are not memory of %s (device %d)", bytes, address, what, index);
  return Error::kInvalidArgument;
}

}  // namespace

Error SimAllocator::count(SimCall call) {
  Calls& calls = calls_[call];
  if (++calls.count != calls.fail_at) return Error::kOk;
  calls.fail_at = 0;
  if (calls.why != nullptr) explain_error(calls.why);
  return calls.fail_with;
}

Error SimAllocator::check_stream(const DeviceStream* stream, DeviceIndex index) const {
  if (!has(index)) return Error::kInvalidArgument;
  if (stream == nullptr) return Error::kOk;
  for (const auto& known : streams_) {
    if (reinterpret_cast<const DeviceStream*>(known.get()) == stream && known->index == index) return Error::kOk;
  }
  log_message(LogLevel::kError, "sim: %p is not a stream of device %d", static_cast<const void*>(stream), index);
  return Error::kInvalidArgument;
}

Error SimAllocator::begin_copy(DeviceIndex index, const DeviceStream* stream) {
  BERTH_RETURN_IF_ERROR(count(SimCall::kCopy));
  return check_stream(stream, index);
}

StreamOrder::Worker SimAllocator::worker(const DeviceStream* stream) {
  return stream == nullptr ? StreamOrder::kHost : reinterpret_cast<const Stream*>(stream)->worker;
}

Error SimAllocator::order(const DeviceStream* stream, const void* address, size_t bytes, bool writes) {
  if (order_.access(worker(stream), reinterpret_cast<uintptr_t>(address), bytes, writes)) return Error::kOk;
  log_message(LogLevel::kError, "sim: %zu bytes at %p are %s while another stream, not waited for, may use them", bytes,
              address, writes ? "written" : "read");
  return Error::kInvalidState;
}

Error SimAllocator::use(void* address, size_t bytes, DeviceIndex index, const DeviceStream* stream, void** alias,
                        bool writes) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(check_stream(stream, index));
  *alias = find(address, bytes, index);
  return *alias == nullptr ? Error::kInvalidArgument : order(stream, address, bytes, writes);
}

double SimAllocator::take_time(const DeviceStream* stream, SimWorkKind kind, DeviceIndex index, size_t bytes,
                               bool begun) {
  if (!options_.times.has_value()) return 0;
  const SimTimes& times = *options_.times;
  const SimCopyTime& copy = kind == SimWorkKind::kToDevice     ? times.to_device
                            : kind == SimWorkKind::kFromDevice ? times.from_device
                                                               : times.between;
  return clock_.work(worker(stream), kind, index, bytes, copy.of(bytes), begun);
}

double SimAllocator::delegate_seconds(const DelegateSource& source) const {
  return keeps_time() && options_.times->delegate ? options_.times->delegate(source) : 0;
}

void SimAllocator::called(const DeviceStream* stream, DeviceIndex index, double seconds) {
  const std::lock_guard lock(mutex_);
  if (keeps_time()) clock_.work(worker(stream), SimWorkKind::kDelegate, index, 0, seconds);
}

void SimAllocator::host_works(double seconds) {
  const std::lock_guard lock(mutex_);
  if (keeps_time()) clock_.work(SimClock::kHost, SimWorkKind::kHost, 0, 0, seconds);
}

double SimAllocator::seconds() const {
  const std::lock_guard lock(mutex_);
  return clock_.host();
}

std::vector<SimWork> SimAllocator::work_done() const {
  const std::lock_guard lock(mutex_);
  return clock_.log();
}

void SimAllocator::reset_clock() {
  const std::lock_guard lock(mutex_);
  clock_.reset();
}

Error SimAllocator::copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                                        DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(begin_copy(index, stream));
  if (bytes == 0) return Error::kOk;
  uint8_t* to = find(target, bytes, index);
  if (to == nullptr) return bad_copy("the device", bytes, target, index);
  if (source == nullptr || is_visible(source, bytes)) return bad_copy("the host", bytes, source, index);
  BERTH_RETURN_IF_ERROR(order(stream, target, bytes, true));
  std::memcpy(to, source, bytes);
  take_time(stream, SimWorkKind::kToDevice, index, bytes);
  SimCounts& counts = memories_[index].counts;
  ++counts.host_to_device.count;
  counts.host_to_device.bytes += bytes;
  return Error::kOk;
}

Error SimAllocator::copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                        DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  const uint8_t* from = nullptr;
  BERTH_RETURN_IF_ERROR(read_for_host(target, source, bytes, index, stream, &from));
  if (bytes == 0) return Error::kOk;
  order_.synchronize(worker(stream));
  arrive(worker(stream), UINT64_MAX);
  std::memcpy(target, from, bytes);
  take_time(stream, SimWorkKind::kFromDevice, index, bytes);
  count_to_host(index, bytes);
  return Error::kOk;
}

Error SimAllocator::read_for_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                  const DeviceStream* stream, const uint8_t** from) {
  BERTH_RETURN_IF_ERROR(begin_copy(index, stream));
  if (bytes == 0) return Error::kOk;
  *from = find(source, bytes, index);
  if (*from == nullptr) return bad_copy("the device", bytes, source, index);
  if (target == nullptr || is_visible(target, bytes)) return bad_copy("the host", bytes, target, index);
  return order(stream, source, bytes, false);
}

void SimAllocator::count_to_host(DeviceIndex index, size_t bytes) {
  SimCounts& counts = memories_[index].counts;
  ++counts.device_to_host.count;
  counts.device_to_host.bytes += bytes;
}

// Late as it may be, and nothing is there before.
Result<uint64_t> SimAllocator::begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                                  DeviceStream* stream) {
  if (stream == nullptr || !options_.late_copies) {
    return DeviceAllocator::begin_copy_to_host(target, source, bytes, index, stream);
  }
  const std::lock_guard lock(mutex_);
  const uint8_t* from = nullptr;
  BERTH_RETURN_IF_ERROR(read_for_host(target, source, bytes, index, stream, &from));
  if (bytes == 0) return uint64_t{0};
  const double end = take_time(stream, SimWorkKind::kFromDevice, index, bytes, true);
  arrivals_.push_back({++copies_begun_, target, {from, from + bytes}, order_.point(worker(stream)), end});
  std::memset(target, 0xff, bytes);
  count_to_host(index, bytes);
  return copies_begun_;
}

Error SimAllocator::finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  const Error failed = count(SimCall::kFinishCopy);
  BERTH_RETURN_IF_ERROR(check_stream(stream, index));
  arrive(worker(stream), number);
  return failed;
}

// Copies of a stream up to the last number.
void SimAllocator::arrive(StreamOrder::Worker stream, uint64_t last) {
  const auto arrives = [&](const Arrival& copy) { return copy.point.stream == stream && copy.number <= last; };
  for (const Arrival& copy : arrivals_) {
    if (!arrives(copy)) continue;
    order_.reach(copy.point);
    clock_.reach(copy.end);
    std::memcpy(copy.target, copy.bytes.data(), copy.bytes.size());
  }
  arrivals_.erase(std::remove_if(arrivals_.begin(), arrivals_.end(), arrives), arrivals_.end());
}

Error SimAllocator::copy_device_to_device(void* target, DeviceIndex target_index, const void* source,
                                          DeviceIndex source_index, size_t bytes, DeviceStream* stream) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(begin_copy(target_index, stream));
  if (!has(source_index)) return Error::kInvalidArgument;
  if (bytes == 0) return Error::kOk;
  uint8_t* to = find(target, bytes, target_index);
  if (to == nullptr) return bad_copy("the target's device", bytes, target, target_index);
  const uint8_t* from = find(source, bytes, source_index);
  if (from == nullptr) return bad_copy("the source's device", bytes, source, source_index);
  if (to < from + bytes && from < to + bytes) return bad_copy("their own (they overlap)", bytes, source, source_index);
  BERTH_RETURN_IF_ERROR(order(stream, source, bytes, false));
  BERTH_RETURN_IF_ERROR(order(stream, target, bytes, true));
  std::memcpy(to, from, bytes);
  take_time(stream, SimWorkKind::kBetween, target_index, bytes);
  SimCounts& counts = memories_[target_index].counts;
  ++counts.device_to_device.count;
  counts.device_to_device.bytes += bytes;
  return Error::kOk;
}

Result<DeviceStream*> SimAllocator::create_stream(DeviceIndex index) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(count(SimCall::kCreateStream));
  if (!has(index)) return Error::kInvalidArgument;
  if (!options_.streams) return static_cast<DeviceStream*>(nullptr);
  streams_.push_back(std::make_unique<Stream>(Stream{index, order_.add_stream()}));
  return reinterpret_cast<DeviceStream*>(streams_.back().get());
}

void SimAllocator::destroy_stream(DeviceStream* stream, DeviceIndex index) {
  if (stream == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (auto known = streams_.begin(); known != streams_.end(); ++known) {
    if (reinterpret_cast<DeviceStream*>(known->get()) != stream || (*known)->index != index) continue;
    arrive((*known)->worker, UINT64_MAX);
    order_.remove_stream((*known)->worker);
    clock_.remove((*known)->worker);
    streams_.erase(known);
    return;
  }
  ++bad_deallocations_;
  log_message(LogLevel::kError, "sim: %p is not a stream of device %d", static_cast<void*>(stream), index);
}

Error SimAllocator::synchronize(DeviceStream* stream, DeviceIndex index) {
  const std::lock_guard lock(mutex_);
  const Error failed = count(SimCall::kSynchronize);
  BERTH_RETURN_IF_ERROR(check_stream(stream, index));
  // The work is over even if there is an error.
  arrive(worker(stream), UINT64_MAX);
  order_.synchronize(worker(stream));
  clock_.synchronize(worker(stream));
  BERTH_RETURN_IF_ERROR(failed);
  ++memories_[index].counts.synchronizations;
  return Error::kOk;
}

Error SimAllocator::record(DeviceStream* stream, DeviceIndex index) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(count(SimCall::kRecord));
  BERTH_RETURN_IF_ERROR(check_stream(stream, index));
  order_.record(worker(stream));
  clock_.record(worker(stream));
  return Error::kOk;
}

Error SimAllocator::wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) {
  const std::lock_guard lock(mutex_);
  BERTH_RETURN_IF_ERROR(count(SimCall::kWait));
  BERTH_RETURN_IF_ERROR(check_stream(stream, index));
  BERTH_RETURN_IF_ERROR(check_stream(other, other_index));
  order_.wait(worker(stream), worker(other));
  clock_.wait(worker(stream), worker(other));
  return Error::kOk;
}

void SimAllocator::fail(SimCall call, uint64_t nth, Error error, const char* why) {
  const std::lock_guard lock(mutex_);
  Calls& calls = calls_[call];
  calls.fail_at = nth == 0 ? 0 : calls.count + nth;
  calls.fail_with = error;
  calls.why = why;
}

uint64_t SimAllocator::calls(SimCall call) const {
  const std::lock_guard lock(mutex_);
  return calls_[call].count;
}

SimCounts SimAllocator::counts(DeviceIndex index) const {
  const std::lock_guard lock(mutex_);
  return has(index) ? memories_[index].counts : SimCounts();
}

SimCounts SimAllocator::counts() const {
  const std::lock_guard lock(mutex_);
  SimCounts sum;
  for (const Memory& memory : memories_) add(memory.counts, &sum);
  return sum;
}

void SimAllocator::reset_counts() {
  const std::lock_guard lock(mutex_);
  for (Memory& memory : memories_) memory.counts = SimCounts();
}

uint64_t SimAllocator::live_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const Memory& memory : memories_) {
    for (const auto& block : memory.blocks) bytes += block.second;
  }
  return bytes;
}

size_t SimAllocator::live_blocks() const {
  const std::lock_guard lock(mutex_);
  size_t blocks = 0;
  for (const Memory& memory : memories_) blocks += memory.blocks.size();
  return blocks;
}

size_t SimAllocator::live_streams() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

size_t SimAllocator::bad_deallocations() const {
  const std::lock_guard lock(mutex_);
  return bad_deallocations_;
}

}  // namespace berth
