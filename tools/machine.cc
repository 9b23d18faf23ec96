#include "tools/machine.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"

#if BERTH_HAS_CUDA
#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#endif
#if BERTH_HAS_VULKAN
#include "backends/vulkan/vulkan_allocator.h"
#include "backends/vulkan/vulkan_backend.h"
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
#if BERTH_HAS_VULKAN
  vulkan::VulkanAllocator vulkan;
  vulkan::VulkanBackend vulkan_backend{&vulkan};
#endif
};

Machine::Machine() : parts_(std::make_unique<Parts>()) {
  BERTH_CHECK(add(&parts_->sim, [] { return "simulated device memory, for tests"; }) == Error::kOk);
  backend_list_ = {&parts_->cpu, &parts_->sim_backend, &parts_->stand_in};
#if BERTH_HAS_CUDA
  BERTH_CHECK(add(&parts_->cuda, cuda::describe_devices) == Error::kOk);
  backend_list_.push_back(&parts_->cuda_backend);
#endif
#if BERTH_HAS_VULKAN
  BERTH_CHECK(add(&parts_->vulkan, [this] { return parts_->vulkan.describe(); }) == Error::kOk);
  backend_list_.push_back(&parts_->vulkan_backend);
#endif
}

Machine::~Machine() = default;

Error Machine::add(DeviceAllocator* allocator, std::function<std::string()> note) {
  auto counter = std::make_unique<CountingAllocator>(allocator);
  BERTH_RETURN_IF_ERROR(registry_.register_allocator(counter.get()));
  counters_.push_back(std::move(counter));
  notes_.push_back(std::move(note));
  return Error::kOk;
}

Status Machine::add_plugins(Span<const Plugin* const> plugins) {
  plugins_ = std::make_unique<PluginDevices>(plugins);
  for (DeviceAllocator* allocator : plugins_->allocators()) {
    const Error error = add(allocator, [] { return "of a plug-in"; });
    if (error == Error::kOk) continue;
    return Failure{error, "--plugin",
                   std::string("the memory of ") + to_string(allocator->device_type()) +
                       " cannot have its allocator: another one serves this device type"};
  }
  const std::vector<Backend*>& backends = plugins_->backends();
  backend_list_.insert(backend_list_.end(), backends.begin(), backends.end());
  return Done{};
}

Status Machine::keep_pipelines([[maybe_unused]] const std::string& file) {
#if BERTH_HAS_VULKAN
  parts_->vulkan.keep_pipelines(file);
  return Done{};
#else
  return Failure{Error::kNotSupported, "--pipeline-cache", "this build has no devices with Vulkan"};
#endif
}

std::vector<DeviceKind> Machine::kinds() const {
  std::vector<DeviceKind> kinds;
  for (size_t i = 0; i < counters_.size(); ++i) {
    const DeviceType type = counters_[i]->device_type();
    int processors = 0;
#if BERTH_HAS_VULKAN
    if (type == DeviceType::kVulkan) processors = parts_->vulkan.processor_count();
#endif
    kinds.push_back({type, counters_[i]->device_count(), processors, notes_[i]()});
  }
  return kinds;
}

DeviceWork Machine::work() const {
  DeviceWork work;
#if BERTH_HAS_VULKAN
  const vulkan::VulkanCounts vulkan = parts_->vulkan.counts();
  work = {vulkan.submissions, vulkan.dispatches, vulkan.barriers, vulkan.pipelines, vulkan.allocations, 0, 0};
#endif
#if BERTH_HAS_CUDA
  const cuda::CudaCounts cuda = parts_->cuda_backend.counts();
  work.submissions += cuda.submissions;
  work.dispatches += cuda.dispatches;
  work.pipelines += cuda.graphs;
  work.allocations += cuda::device_allocations();
  work.library_calls += cuda.library_calls;
  work.fallbacks += cuda.fallbacks;
#endif
  return work;
}

uint64_t Machine::validation_messages() const {
#if BERTH_HAS_VULKAN
  return parts_->vulkan.messages();
#else
  return 0;
#endif
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
