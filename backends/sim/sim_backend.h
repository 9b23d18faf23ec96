// SimBackend: delegates on a simulated device: nested programs with the portable kernels, on memory that only they may
// touch.
//
//     SimAllocator sim;
//     SimBackend backend(&sim);                                        // "berth.sim" on sim:0, sim:1, …
//     SimBackend cuda("berth.cuda", DeviceType::kCuda, &sim);          // runs programs for GPUs where there is none
//
// As a stand-in it runs what consists of portable operators; another device's fused ones are OperatorMissing at load.
#pragma once

#include "backends/nested/nested_backend.h"
#include "backends/sim/sim_allocator.h"

namespace berth {

class SimBackend final : public NestedBackend {
 public:
  /// Memory of the devices of `type` comes from `allocator`, directly or through one that counts its calls; it outlives
  /// the backend. Delegates that are handed other memory are refused. `name` is static.
  SimBackend(const char* name, DeviceType type, SimAllocator* allocator);
  explicit SimBackend(SimAllocator* allocator) : SimBackend("berth.sim", DeviceType::kSim, allocator) {}

  bool serves(DeviceType type) const override { return type == type_; }

 protected:
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override;
  Error reach_input(const DeviceUse& use, void* address, size_t bytes, void** reached) const override;
  // Where the devices keep time, a session is what a call takes.
  Result<void*> open(const DelegateSource& source, const DelegateLoad& load, format::Report* report) override;
  void close(void* session) override;
  Error end(void* session, KernelContext& context, Error result) override;

 private:
  const DeviceType type_;
  SimAllocator* allocator_;
};

}  // namespace berth
