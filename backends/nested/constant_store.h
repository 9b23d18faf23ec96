// ConstantStore: the constants of a backend's delegates, shared by all delegates and methods, so that each device has
// one copy of each blob.
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

/// Translates the program's addresses to those of kernels; see NestedBackend::reach.
class AddressSpace {
 public:
  virtual ~AddressSpace() = default;
  /// Sets `*reached` to the address that kernels use for the `bytes` > 0 bytes at `address` of `use.device`, for the
  /// next work on `use.stream`. InvalidArgument when they are not memory of that device. Thread-safe.
  virtual Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const = 0;
};

/// Thread-safe; takes a lock when delegates are loaded and unloaded, never while they run.
class ConstantStore {
 public:
  explicit ConstantStore(const AddressSpace* space) : space_(space) {}
  /// REQUIRES: every buffer was freed.
  ~ConstantStore();
  ConstantStore(const ConstantStore&) = delete;
  ConstantStore& operator=(const ConstantStore&) = delete;

  /// The blob `key` of `source`, at the address that kernels on `use.device` use: in place on the host, otherwise
  /// uploaded by the first call (complete on return; without a stream, since other streams will read it). It is freed
  /// with the last buffer. Errors are those of the source and of the device's allocator.
  Result<FreeableBuffer> get(const NamedDataMap& source, const char* key, const DeviceUse& use);

  /// The number of blobs held, and their bytes.
  size_t blobs() const;
  uint64_t bytes() const;

 private:
  // Blobs are identified by their source, key and device.
  using Key = std::tuple<const void*, std::string, const DeviceAllocator*, DeviceIndex>;
  struct Blob {
    ConstantStore* store = nullptr;
    FreeableBuffer host;            // in place; empty on a device
    void* on_device = nullptr;      // the program's address
    const void* reached = nullptr;  // the kernels' address
    size_t bytes = 0;
    size_t users = 0;
  };

  static void release(void* blob, const void* data, size_t size);
  Error upload(const NamedDataMap& source, const char* key, const DeviceUse& use, Blob* blob) const;
  void give_back(Blob* blob);

  const AddressSpace* space_;
  mutable std::mutex mutex_;
  std::map<Key, Blob> blobs_;
};

}  // namespace berth
