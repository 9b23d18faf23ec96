#include "compiler/targets/own/own_targets.h"

#include <memory>

#include "compiler/targets/own/cpu_target.h"
#include "compiler/targets/own/cuda_target.h"
#include "compiler/targets/own/portable_target.h"
#include "compiler/targets/own/sim_target.h"
#include "compiler/targets/own/vulkan_target.h"
#include "plugin/target.h"

namespace berth::targets::own {

int32_t own_targets(const berth_host* host, berth_plugin* plugin) {
  return plugin::Parts::enter(host, plugin, [](plugin::Parts& parts) {
    parts.set_name("Berth");
    parts.add(std::make_unique<PortableTarget>());
    parts.add(std::make_unique<CpuTarget>());
    parts.add(std::make_unique<CudaTarget>());
    parts.add(std::make_unique<VulkanTarget>());
    parts.add(std::make_unique<SimTarget>());
    return plugin::Status();
  });
}

}  // namespace berth::targets::own
