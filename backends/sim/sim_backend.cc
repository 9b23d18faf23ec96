#include "backends/sim/sim_backend.h"

#include "kernels/portable/portable.h"

namespace berth {

SimBackend::SimBackend(const char* name, DeviceType type, SimAllocator* allocator)
    : NestedBackend(name, portable::kernels()), type_(type), allocator_(allocator) {}

namespace {

struct Session {
  DeviceUse use;
  double seconds = 0;
};

}  // namespace

Result<void*> SimBackend::open(const DelegateSource& source, const DelegateLoad& load, format::Report* /*report*/) {
  if (!allocator_->keeps_time()) return static_cast<void*>(nullptr);
  return static_cast<void*>(new Session{load.use, allocator_->delegate_seconds(source)});
}

void SimBackend::close(void* session) { delete static_cast<Session*>(session); }

Error SimBackend::end(void* session, KernelContext& /*context*/, Error result) {
  const Session* const called = static_cast<const Session*>(session);
  if (called != nullptr) allocator_->called(called->use.stream, called->use.device.index, called->seconds);
  return result;
}

Error SimBackend::reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  return allocator_->use(address, bytes, use.device.index, use.stream, reached);
}

Error SimBackend::reach_input(const DeviceUse& use, void* address, size_t bytes, void** reached) const {
  return allocator_->use(address, bytes, use.device.index, use.stream, reached, false);
}

}  // namespace berth
