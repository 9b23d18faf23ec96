#include "tools/machine.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"

#if BERTH_HAS_CUDA
#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#endif

namespace berth::tool {

struct Machine::Parts {
  CpuBackend cpu;
  SimAllocator sim;
  SimBackend sim_backend{&sim};
  // For programs for GPUs whose devices are mapped to simulated ones.
  SimBackend stand_in{"berth.cuda", DeviceType::kSim, &sim};
#if BERTH_HAS_CUDA
  cuda::CudaAllocator cuda;
  cuda::CudaBackend cuda_backend;
#endif
};

Machine::Machine() : parts_(std::make_unique<Parts>()) {
  add(&parts_->sim, [] { return "simulated device memory, for tests"; });
  backend_list_ = {&parts_->cpu, &parts_->sim_backend, &parts_->stand_in};
#if BERTH_HAS_CUDA
  add(&parts_->cuda, cuda::describe_devices);
  backend_list_.push_back(&parts_->cuda_backend);
#endif
}

Machine::~Machine() = default;

void Machine::add(DeviceAllocator* allocator, const char* (*note)()) {
  counters_.push_back(std::make_unique<CountingAllocator>(allocator));
  const Error error = registry_.register_allocator(counters_.back().get());
  BERTH_CHECK(error == Error::kOk);
  notes_.push_back(note);
}

std::vector<DeviceKind> Machine::kinds() const {
  std::vector<DeviceKind> kinds;
  for (size_t i = 0; i < counters_.size(); ++i) {
    kinds.push_back({counters_[i]->device_type(), counters_[i]->device_count(), notes_[i]()});
  }
  return kinds;
}

CopyCount Machine::copies() const {
  CopyCount sum;
  for (const auto& counter : counters_) {
    sum.count += counter->copies().count;
    sum.bytes += counter->copies().bytes;
  }
  return sum;
}

}  // namespace berth::tool
