#include "backends/sim/sim_backend.h"

#include "kernels/portable/portable.h"

namespace berth {

SimBackend::SimBackend(const char* name, DeviceType type, const SimAllocator* allocator)
    : NestedBackend(name, portable::kernels()), type_(type), allocator_(allocator) {}

Error SimBackend::reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  *reached = allocator_->alias(address, bytes, use.device.index);
  return *reached == nullptr ? Error::kInvalidArgument : Error::kOk;
}

Result<void*> SimBackend::open(const DelegateSource& source, const DelegateLoad& load, format::Report* report) {
  if (load.use.allocator == allocator_) return static_cast<void*>(nullptr);
  return format::fail(report, Error::kInvalidArgument, "delegate device",
                      "the allocator registered for %s is not the simulated one that this backend works on",
                      to_text(source.device).text);
}

}  // namespace berth
