// Arrivals: copies to the host's memory that may not be there yet. The host goes on meanwhile; only what uses the bytes
// waits for the copy.
//
// A program has a copy's target as written after the copy's instruction. So the run keeps account: which bytes
// unfinished copies write, and before each instruction which of them it uses. No program has to say so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "runtime/device_allocator.h"

namespace berth {

/// Not for several threads at once. Never allocates.
class Arrivals {
 public:
  /// More are not kept, as each method has room for them: the oldest is waited for then.
  static constexpr size_t kMost = 16;

  bool empty() const { return count_ == 0; }

  /// Begins a copy of `bytes` bytes from `source` on the device of `use`, in its stream, to `target` on the host. `use`
  /// outlives the run. Errors of the allocator, also of earlier copies that had to be waited for.
  Error begin(const DeviceUse& use, void* target, const void* source, size_t bytes);

  /// The host is about to use these bytes: waits for the copies to any of them. Errors of the devices, also those that
  /// their kernels found.
  Error before_use(const void* begin, size_t bytes);

  /// Waits for all. The first error.
  Error settle();
  /// All streams were waited for.
  void clear() { count_ = 0; }

 private:
  struct Copy {
    const DeviceUse* use;
    uint64_t number;  // of the stream's copy
    uintptr_t begin;
    uintptr_t end;
  };

  Error finish(size_t index);

  Copy copies_[kMost];
  size_t count_ = 0;
};

}  // namespace berth
