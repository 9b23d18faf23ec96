#include "runtime/arrivals.h"

namespace berth {

Error Arrivals::begin(const DeviceUse& use, void* target, const void* source, size_t bytes) {
  BERTH_RETURN_IF_ERROR(before_use(target, bytes));
  if (count_ == kMost) BERTH_RETURN_IF_ERROR(finish(0));
  const Result<uint64_t> number =
      use.allocator->begin_copy_to_host(target, source, bytes, use.device.index, use.stream);
  if (!number.ok()) return number.error();
  if (*number == 0) return Error::kOk;
  const uintptr_t address = reinterpret_cast<uintptr_t>(target);
  copies_[count_++] = {&use, *number, address, address + bytes};
  return Error::kOk;
}

Error Arrivals::before_use(const void* begin, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  for (size_t i = count_; i-- > 0;) {
    // Those before it in its stream went with a later one.
    if (i >= count_ || address >= copies_[i].end || copies_[i].begin >= address + bytes) continue;
    BERTH_RETURN_IF_ERROR(finish(i));
  }
  return Error::kOk;
}

Error Arrivals::settle() {
  while (count_ > 0) BERTH_RETURN_IF_ERROR(finish(count_ - 1));
  return Error::kOk;
}

// A stream's earlier copies are done with it. It is kept where it could not be waited for.
Error Arrivals::finish(size_t index) {
  const Copy done = copies_[index];
  BERTH_RETURN_IF_ERROR(
      done.use->allocator->finish_copy_to_host(done.number, done.use->device.index, done.use->stream));
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (copies_[i].use != done.use || copies_[i].number > done.number) copies_[kept++] = copies_[i];
  }
  count_ = kept;
  return Error::kOk;
}

}  // namespace berth
