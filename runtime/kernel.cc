#include "runtime/kernel.h"

#include <cstring>

#include "base/math.h"

namespace berth {

void* KernelContext::allocate_temp(size_t bytes) {
  constexpr uintptr_t kAlignment = 64;
  const uintptr_t base = reinterpret_cast<uintptr_t>(temp_.data());
  const uintptr_t start = align_up<uintptr_t>(base + used_, kAlignment);
  const size_t offset = start - base;
  if (temp_.data() == nullptr || offset > temp_.size() || bytes > temp_.size() - offset) {
    message_ = "the temp memory is too small";
    return nullptr;
  }
  used_ = offset + bytes;
  return temp_.data() + offset;
}

Error KernelContext::fetch(const void* from, size_t bytes, void* to) const {
  if (fetcher_ != nullptr && fetcher_->call != nullptr) {
    return fetcher_->call(fetcher_->context, {static_cast<const uint8_t*>(from), bytes}, to);
  }
  if (bytes > 0) std::memcpy(to, from, bytes);
  return Error::kOk;
}

}  // namespace berth
