#include "backends/sim/sim_backend.h"

#include "kernels/portable/portable.h"

namespace berth {

SimBackend::SimBackend(const char* name, DeviceType type, SimAllocator* allocator)
    : NestedBackend(name, portable::kernels()), type_(type), allocator_(allocator) {}

Error SimBackend::reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  return allocator_->use(address, bytes, use.device.index, use.stream, reached);
}

}  // namespace berth
