// PendingReads: copies between devices that may not have read their source yet. The source's device goes on meanwhile;
// only what overwrites the bytes there waits for the copy.
//
// The memory plan counts a copy's source as free after the copy's instruction. So the run keeps account: which bytes
// unfinished copies read, and before each instruction which of them it writes. No program has to say so.
//
// A stream can be waited for up to its latest mark alone. So before the stream of a copy is marked anew, the source's
// device is told to wait for the copy, if it was not before: of each stream one copy is under way at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "runtime/device_allocator.h"

namespace berth {

/// Not for several threads at once. Never allocates.
class PendingReads {
 public:
  /// More are not kept, as each method has room for them: the device waits for the oldest then.
  static constexpr size_t kMost = 4;

  bool empty() const { return count_ == 0; }

  /// The stream of `reader` is about to be marked.
  Error before_mark(const DeviceUse& reader);
  /// A copy was queued on the stream of `reader`; it reads `bytes` bytes at `begin` on `owner`, whose stream has not
  /// been told to wait. Marks the stream of `reader`. Both outlive the run. Errors of the streams.
  Error add(const DeviceUse& owner, const DeviceUse& reader, const void* begin, size_t bytes);

  /// Something is about to be queued on `device` that writes these bytes: its stream waits for the copies that read any
  /// of them.
  Error before_write(Device device, const void* begin, size_t bytes);

  /// Every device waits.
  Error settle();
  /// All streams were waited for.
  void clear() { count_ = 0; }

 private:
  struct Read {
    const DeviceUse* owner;
    const DeviceUse* reader;
    uintptr_t begin;
    uintptr_t end;
  };

  Error settle(size_t index);

  Read reads_[kMost];
  size_t count_ = 0;
};

}  // namespace berth
