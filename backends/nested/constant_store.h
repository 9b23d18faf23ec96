// ConstantStore: the constants of a backend's delegates, once per blob and device however many delegates and methods
// read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/result.h"
#include "runtime/data_loader.h"
#include "runtime/device_allocator.h"
#include "runtime/named_data.h"

namespace berth {

/// Where kernels find memory that the program knows by another address; see NestedBackend::reach.
class AddressSpace {
 public:
  virtual ~AddressSpace() = default;
  /// Where kernels find the `bytes` > 0 bytes at `address` of `use.device`, for work on `use.stream` that comes next.
  /// InvalidArgument when they are no memory of that device. From several threads.
  virtual Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const = 0;
};

/// Used from several threads; the lock is taken when delegates are loaded and unloaded, never while they run.
class ConstantStore {
 public:
  explicit ConstantStore(const AddressSpace* space) : space_(space) {}
  /// REQUIRES: every buffer was given back.
  ~ConstantStore();
  ConstantStore(const ConstantStore&) = delete;
  ConstantStore& operator=(const ConstantStore&) = delete;

  /// The blob `key` of `source` where kernels on `use.device` find it: a host's where the loader has it, a device's
  /// uploaded by the first who asks (complete on return; without a stream, since others will read it from theirs). The
  /// last buffer that is given back frees it. Errors are those of the source and of the device's allocator.
  Result<FreeableBuffer> get(const NamedDataMap& source, const char* key, const DeviceUse& use);

  /// How many blobs are held, and their bytes.
  size_t blobs() const;
  uint64_t bytes() const;

 private:
  // Blobs are the same when their key, their device and what they come from are.
  using Key = std::tuple<const void*, std::string, const DeviceAllocator*, DeviceIndex>;
  struct Blob {
    ConstantStore* store = nullptr;
    FreeableBuffer host;            // in place; empty on a device
    void* on_device = nullptr;      // the program's address of it
    const void* reached = nullptr;  // the kernels'
    size_t bytes = 0;
    size_t users = 0;
  };

  static void release(void* blob, const void* data, size_t size);
  Error bring(const NamedDataMap& source, const char* key, const DeviceUse& use, Blob* blob) const;
  void give_back(Blob* blob);

  const AddressSpace* space_;
  mutable std::mutex mutex_;
  std::map<Key, Blob> blobs_;
};

}  // namespace berth
