// DeviceAllocator: allocates memory on devices of one type and copies to, from and within it. DeviceAllocatorRegistry:
// finds the allocator of a device type. docs/devices.md explains step by step how to add a device.
//
// The interface follows ExecuTorch's DeviceAllocator (its release 1.5), with device-to-device copies and streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"
#include "format/report.h"

namespace berth {

/// A queue of work of one device, executed in order. Opaque; created by an allocator and passed back to it. Null means
/// "no queue": the work is complete when the call returns.
struct DeviceStream;

/// Implementations must be thread-safe for calls with different memory, must not abort or throw, and return
/// InvalidArgument for an index that the machine does not have.
///
/// Copies of 0 bytes succeed and touch nothing. When a copy returns, its host memory may be reused (if it was read) or
/// read (if it was written), also with a stream: a stream only orders work on the device.
class DeviceAllocator {
 public:
  /// The default alignment of allocate(): enough for every element type.
  static constexpr size_t kDefaultAlignment = 16;

  virtual ~DeviceAllocator() = default;

  virtual DeviceType device_type() const = 0;

  /// `bytes` bytes on device `index`, uninitialised, at a multiple of `alignment`. Only this allocator and its device's
  /// kernels may use the address; the host must not dereference it. MemoryAllocationFailed when the device has too
  /// little memory; InvalidArgument for an alignment that is not a power of two or larger than the device supports.
  virtual Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment = kDefaultAlignment) = 0;
  /// Frees memory from allocate() with the same index, after waiting for work that uses it. Null is ignored.
  virtual void deallocate(void* memory, DeviceIndex index) = 0;

  virtual Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                                    DeviceStream* stream = nullptr) = 0;
  virtual Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                    DeviceStream* stream = nullptr) = 0;
  /// Begins a copy in `stream` as copy_device_to_host(), which may not have arrived when the call returns. Its number
  /// among the stream's, which rises: until finish_copy_to_host() for it or a later one, or synchronize() or
  /// destroy_stream(), `target` must not be used. 0 where it is complete, as it is by default. What is added to the
  /// stream later may overwrite `source`. Any number may be under way; Methods have sixteen at most.
  virtual Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                              DeviceStream* stream) {
    BERTH_RETURN_IF_ERROR(copy_device_to_host(target, source, bytes, index, stream));
    return uint64_t{0};
  }
  /// Waits for the copy of this number, and those before it in the stream. Also errors of work in the stream that the
  /// device has found by then. REQUIRES: begin_copy_to_host() gave the number for this stream.
  virtual Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) {
    static_cast<void>(number);
    static_cast<void>(index);
    static_cast<void>(stream);
    return Error::kOk;
  }
  /// Copies between two devices of this type, or within one; the ranges must not overlap. `stream` is the target's.
  virtual Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source,
                                      DeviceIndex source_index, size_t bytes, DeviceStream* stream = nullptr) = 0;

  /// The number of devices of this type: their indices are 0 to device_count() - 1.
  virtual int device_count() const { return 1; }
  /// Whether its devices are GPUs: DeviceAllocatorRegistry::find_gpu().
  virtual bool is_gpu() const { return device_type() == DeviceType::kCuda; }

  // A device without streams need not override the functions below, nor those above that begin and finish a copy.

  /// A new stream of device `index`, or null, which means that all work is complete on return.
  virtual Result<DeviceStream*> create_stream(DeviceIndex index) {
    static_cast<void>(index);
    return static_cast<DeviceStream*>(nullptr);
  }
  /// Waits for the stream's work. Null is ignored.
  virtual void destroy_stream(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
  }
  /// Waits until all work in `stream` is done; returns the error of work that failed.
  virtual Error synchronize(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    return Error::kOk;
  }
  /// Marks the current end of `stream`; wait() on another stream of this type waits for the latest mark.
  virtual Error record(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    return Error::kOk;
  }
  /// Work added to `stream` from now on starts after the latest mark of `other`.
  virtual Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    static_cast<void>(other);
    static_cast<void>(other_index);
    return Error::kOk;
  }
};

/// A fixed-size table from device types to allocators. Does not own the allocators, and does not use the heap. All
/// registration must happen before the first program is loaded; lookups are then thread-safe without a lock.
class DeviceAllocatorRegistry {
 public:
  static constexpr size_t kMaxTypes = 12;

  /// The process-wide table, the default; LoadOptions::registry selects another.
  static DeviceAllocatorRegistry& instance();

  DeviceAllocatorRegistry() = default;
  DeviceAllocatorRegistry(const DeviceAllocatorRegistry&) = delete;
  DeviceAllocatorRegistry& operator=(const DeviceAllocatorRegistry&) = delete;

  /// Makes `allocator` serve devices of `type`, even if its own type is different, so that a simulated device can stand
  /// in for a real one. It must outlive every user of the table.
  ///
  /// InvalidArgument for null and for `cpu`, whose memory the application provides; RegistrationAlreadyRegistered for a
  /// type that has an allocator; OutOfResources when the table is full. Errors are logged and change nothing.
  Error register_allocator(DeviceType type, DeviceAllocator* allocator);
  Error register_allocator(DeviceAllocator* allocator);

  /// Null when no allocator is registered for `type`.
  DeviceAllocator* get_allocator(DeviceType type) const;

  /// Device `index` of the one type of GPU that this machine has: one whose allocator says is_gpu() and has a device,
  /// under the type that it is registered for. For programs that run on whatever GPU is there (LoadOptions::devices).
  /// NotFound when there is none; InvalidArgument when there are several types, or no device `index`. `report`, which
  /// may be null, names the types that there are.
  Result<Device> find_gpu(DeviceIndex index = 0, format::Report* report = nullptr) const;

  size_t size() const { return count_; }

 private:
  struct Entry {
    DeviceType type;
    DeviceAllocator* allocator;
  };
  Entry entries_[kMaxTypes] = {};
  size_t count_ = 0;
};

/// The same on DeviceAllocatorRegistry::instance().
Error register_device_allocator(DeviceAllocator* allocator);
DeviceAllocator* get_device_allocator(DeviceType type);

/// A device that a Method uses, with its stream there.
struct DeviceUse {
  Device device;
  DeviceAllocator* allocator = nullptr;
  DeviceStream* stream = nullptr;
};

/// The devices that a Method uses, for its kernels (KernelContext::devices).
class DeviceTable {
 public:
  DeviceTable() = default;
  explicit DeviceTable(Span<const DeviceUse> uses) : uses_(uses) {}

  /// Null when the Method does not use this device.
  const DeviceUse* find(Device device) const {
    for (const DeviceUse& use : uses_) {
      if (use.device == device) return &use;
    }
    return nullptr;
  }
  Span<const DeviceUse> uses() const { return uses_; }

 private:
  Span<const DeviceUse> uses_;
};

}  // namespace berth
