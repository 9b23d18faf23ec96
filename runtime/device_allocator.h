// DeviceAllocator: memory of a device, and the copies to, from and within it; implemented once per kind of device.
// DeviceAllocatorRegistry: which allocator serves which kind. docs/devices.md has a new device step by step.
//
// The interface follows ExecuTorch's DeviceAllocator (its release 1.5), with device-to-device copies and streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"

namespace berth {

/// A queue of work of one device: what is put into it runs in order. Opaque; made by the allocator that is passed it.
/// Null means "no queue": the work is complete when the call returns.
struct DeviceStream;

/// REQUIRES of an implementation: every function may be called from several threads at once, for different memory; none
/// aborts or throws; an index that the machine has not got is InvalidArgument.
///
/// Copies of 0 bytes succeed and touch nothing. Host memory that a copy reads may be reused, and host memory that it
/// writes may be read, as soon as the call returns, also with a stream: a stream orders work on the device alone.
class DeviceAllocator {
 public:
  /// What allocate() aligns to when nothing is said: enough for every element type.
  static constexpr size_t kDefaultAlignment = 16;

  virtual ~DeviceAllocator() = default;

  virtual DeviceType device_type() const = 0;

  /// `bytes` bytes of device `index`, uninitialised, at a multiple of `alignment`. The address means something to this
  /// allocator and its kernels alone; the host must not follow it. MemoryAllocationFailed when the device has not got
  /// them; InvalidArgument for an alignment that is no power of two or more than the device can give.
  virtual Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment = kDefaultAlignment) = 0;
  /// Gives back what allocate() gave with this index. Waits for work on it that is under way. Null is ignored.
  virtual void deallocate(void* memory, DeviceIndex index) = 0;

  virtual Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                                    DeviceStream* stream = nullptr) = 0;
  virtual Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                    DeviceStream* stream = nullptr) = 0;
  /// Between two devices of this type, or within one; the runs of bytes do not overlap. `stream` is the target's.
  virtual Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source,
                                      DeviceIndex source_index, size_t bytes, DeviceStream* stream = nullptr) = 0;

  /// How many devices of this type the machine has: indices 0 to device_count() - 1.
  virtual int device_count() const { return 1; }

  // A device without streams leaves the rest as it is.

  /// A stream of device `index`, or null: then everything is complete on return.
  virtual Result<DeviceStream*> create_stream(DeviceIndex index) {
    static_cast<void>(index);
    return static_cast<DeviceStream*>(nullptr);
  }
  /// Waits for the stream's work. Null is ignored.
  virtual void destroy_stream(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
  }
  /// Returns when everything that was put into `stream` is done, with the error of what failed in it.
  virtual Error synchronize(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    return Error::kOk;
  }
  /// Marks the end of what is in `stream` now; wait() of another stream of this type waits for the last mark.
  virtual Error record(DeviceStream* stream, DeviceIndex index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    return Error::kOk;
  }
  /// What is put into `stream` from now on starts after the last mark of `other`.
  virtual Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) {
    static_cast<void>(stream);
    static_cast<void>(index);
    static_cast<void>(other);
    static_cast<void>(other_index);
    return Error::kOk;
  }
};

/// Pairs of a device type and its allocator, in a fixed table without a heap; it owns no allocator. Registration is
/// over before the first program is loaded: from then on look-ups from any thread need no lock.
class DeviceAllocatorRegistry {
 public:
  static constexpr size_t kMaxTypes = 8;

  /// The table of the process, for applications that want one; a table of one's own goes to Program::load instead.
  static DeviceAllocatorRegistry& instance();

  DeviceAllocatorRegistry() = default;
  DeviceAllocatorRegistry(const DeviceAllocatorRegistry&) = delete;
  DeviceAllocatorRegistry& operator=(const DeviceAllocatorRegistry&) = delete;

  /// `allocator` serves devices of `type` from now on, also when its own type is another one: so a simulated device can
  /// stand in for a real one. It must outlive the table's users.
  ///
  /// InvalidArgument for null and for `cpu`, whose memory is the application's; RegistrationAlreadyRegistered for a
  /// type that has one; OutOfResources when the table is full. Each is logged, and changes nothing.
  Error register_allocator(DeviceType type, DeviceAllocator* allocator);
  Error register_allocator(DeviceAllocator* allocator);

  /// Null for a type that has none.
  DeviceAllocator* get(DeviceType type) const;

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

/// The devices that a Method uses; kernels ask it through their KernelContext.
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
