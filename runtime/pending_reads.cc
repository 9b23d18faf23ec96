#include "runtime/pending_reads.h"

namespace berth {

Error PendingReads::before_mark(const DeviceUse& reader) {
  for (size_t i = count_; i-- > 0;) {
    if (reads_[i].reader == &reader) BERTH_RETURN_IF_ERROR(settle(i));
  }
  return Error::kOk;
}

Error PendingReads::add(const DeviceUse& owner, const DeviceUse& reader, const void* begin, size_t bytes) {
  BERTH_RETURN_IF_ERROR(before_mark(reader));
  if (count_ == kMost) BERTH_RETURN_IF_ERROR(settle(0));
  BERTH_RETURN_IF_ERROR(reader.allocator->record(reader.stream, reader.device.index));
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  reads_[count_++] = {&owner, &reader, address, address + bytes};
  return Error::kOk;
}

Error PendingReads::before_write(Device device, const void* begin, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  for (size_t i = count_; i-- > 0;) {
    const Read& read = reads_[i];
    if (read.owner->device != device || address >= read.end || read.begin >= address + bytes) continue;
    BERTH_RETURN_IF_ERROR(settle(i));
  }
  return Error::kOk;
}

Error PendingReads::settle() {
  while (count_ > 0) BERTH_RETURN_IF_ERROR(settle(count_ - 1));
  return Error::kOk;
}

// The reader's latest mark is that of this copy. It is kept where the owner could not be told to wait.
Error PendingReads::settle(size_t index) {
  const Read& read = reads_[index];
  BERTH_RETURN_IF_ERROR(read.reader->allocator->wait(read.owner->stream, read.owner->device.index, read.reader->stream,
                                                     read.reader->device.index));
  for (size_t i = index + 1; i < count_; ++i) reads_[i - 1] = reads_[i];
  --count_;
  return Error::kOk;
}

}  // namespace berth
