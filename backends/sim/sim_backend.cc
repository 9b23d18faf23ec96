#include "backends/sim/sim_backend.h"

#include "kernels/portable/portable.h"

namespace berth {

SimBackend::SimBackend(const char* name, DeviceType type, const SimAllocator* allocator)
    : NestedBackend(name, portable::kernels()), type_(type), allocator_(allocator) {}

Error SimBackend::reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  *reached = allocator_->alias(address, bytes, use.device.index);
  return *reached == nullptr ? Error::kInvalidArgument : Error::kOk;
}

}  // namespace berth
