// For tests: a device in heap memory that records all calls and fails on request.
//
// The addresses that it returns are not mapped, so host code that dereferences one crashes. host() returns the memory
// behind an address.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/math.h"
#include "runtime/device_allocator.h"
#include "runtime/device_explanation.h"

namespace berth::testing {

inline constexpr Device kCuda0 = Device(DeviceType::kCuda, 0);

class RecordingAllocator final : public DeviceAllocator {
 public:
  enum class Kind {
    kAllocate,
    kDeallocate,
    kHostToDevice,
    kDeviceToHost,
    kDeviceToDevice,
    kSynchronize,
    kRecord,
    kWait
  };
  struct Call {
    Kind kind = Kind::kAllocate;
    size_t bytes = 0;
    int index = 0;
    void* target = nullptr;
    const void* source = nullptr;
    int source_index = 0;
    size_t alignment = 0;
    DeviceStream* stream = nullptr;
  };

  explicit RecordingAllocator(DeviceType type = DeviceType::kCuda, int devices = 2) : type_(type), devices_(devices) {}
  ~RecordingAllocator() override {
    for (const auto& [address, memory] : live_) std::free(memory.base);
  }

  DeviceType device_type() const override { return type_; }
  int device_count() const override { return devices_; }

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (index < 0 || index >= devices_ || !is_power_of_two(alignment)) return Error::kInvalidArgument;
    if (++allocations_ == fail_allocation) return Error::kMemoryAllocationFailed;
    const size_t room = align_up(bytes + 1, alignment) + alignment;
    uint8_t* base = static_cast<uint8_t*>(std::malloc(room));
    std::memset(base, 0xcd, room);
    uint8_t* memory = reinterpret_cast<uint8_t*>(align_up(reinterpret_cast<uintptr_t>(base), uintptr_t{alignment}));
    void* address = seen(memory);
    live_[reinterpret_cast<uintptr_t>(address)] = {base, bytes, index};
    calls_.push_back({Kind::kAllocate, bytes, index, address, nullptr, 0, alignment, nullptr});
    return address;
  }

  void deallocate(void* memory, DeviceIndex index) override {
    if (memory == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back({Kind::kDeallocate, 0, index, memory, nullptr, 0, 0, nullptr});
    const auto found = live_.find(reinterpret_cast<uintptr_t>(memory));
    BERTH_CHECK(found != live_.end() && found->second.index == index);
    std::free(found->second.base);
    live_.erase(found);
  }

  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return copy({Kind::kHostToDevice, bytes, index, target, source, 0, 0, stream}, host(target), source);
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return copy({Kind::kDeviceToHost, bytes, index, target, source, index, 0, stream}, target, host(source));
  }
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream) override {
    return copy({Kind::kDeviceToDevice, bytes, target_index, target, source, source_index, 0, stream}, host(target),
                host(source));
  }

  Result<DeviceStream*> create_stream(DeviceIndex index) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_streams) return static_cast<DeviceStream*>(nullptr);
    if (++created_streams_ == fail_stream) return Error::kOutOfResources;
    streams_[created_streams_] = index;
    return reinterpret_cast<DeviceStream*>(created_streams_);
  }
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = streams_.find(reinterpret_cast<uintptr_t>(stream));
    BERTH_CHECK(found != streams_.end() && found->second == index);
    streams_.erase(found);
  }
  Error synchronize(DeviceStream* stream, DeviceIndex index) override {
    return note(Kind::kSynchronize, stream, index);
  }
  Error record(DeviceStream* stream, DeviceIndex index) override { return note(Kind::kRecord, stream, index); }
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream*, DeviceIndex) override {
    return note(Kind::kWait, stream, index);
  }

  /// The memory behind an address of the device.
  template <typename T>
  static T* host(T* address) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) ^ kVeil);
  }

  std::vector<Call> calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  std::vector<Call> calls(Kind kind) const {
    std::vector<Call> some;
    for (const Call& call : calls()) {
      if (call.kind == kind) some.push_back(call);
    }
    return some;
  }
  size_t count(Kind kind) const { return calls(kind).size(); }
  size_t copies() const {
    return count(Kind::kHostToDevice) + count(Kind::kDeviceToHost) + count(Kind::kDeviceToDevice);
  }
  /// Allocations and streams that are still live.
  size_t live() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_.size() + streams_.size();
  }

  // The number of the call that fails, counted from 1; 0 for none.
  size_t fail_allocation = 0;
  size_t fail_copy = 0;
  size_t fail_stream = 0;
  size_t fail_synchronize = 0;
  bool has_streams = false;
  const char* explanation = nullptr;  // of what fails

 private:
  static constexpr uintptr_t kVeil = uintptr_t{1} << (sizeof(void*) * 8 - 18);

  struct Memory {
    uint8_t* base;
    size_t bytes;
    int index;
  };

  static void* seen(void* memory) { return host(memory); }

  // Whether [address, address + bytes) is inside one allocation of that device.
  bool is_ours(const void* address, size_t bytes, int index) const {
    const uintptr_t a = reinterpret_cast<uintptr_t>(address);
    auto after = live_.upper_bound(a);
    if (after == live_.begin()) return false;
    --after;
    return after->second.index == index && a - after->first <= after->second.bytes &&
           bytes <= after->second.bytes - (a - after->first);
  }

  Error copy(const Call& call, void* target, const void* source) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(call);
    if (++copies_ == fail_copy) return failed();
    if (call.bytes == 0) return Error::kOk;
    if (call.kind != Kind::kDeviceToHost) BERTH_CHECK(is_ours(call.target, call.bytes, call.index));
    if (call.kind != Kind::kHostToDevice) BERTH_CHECK(is_ours(call.source, call.bytes, call.source_index));
    std::memcpy(target, source, call.bytes);
    return Error::kOk;
  }

  Error note(Kind kind, DeviceStream* stream, int index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back({kind, 0, index, nullptr, nullptr, 0, 0, stream});
    return kind == Kind::kSynchronize && ++synchronized_ == fail_synchronize ? failed() : Error::kOk;
  }

  Error failed() const {
    if (explanation != nullptr) explain_error(explanation);
    return Error::kInternal;
  }

  const DeviceType type_;
  const int devices_;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  std::map<uintptr_t, Memory> live_;
  std::map<uintptr_t, int> streams_;  // a stream is a number
  size_t allocations_ = 0;
  size_t copies_ = 0;
  size_t created_streams_ = 0;
  size_t synchronized_ = 0;
};

}  // namespace berth::testing
