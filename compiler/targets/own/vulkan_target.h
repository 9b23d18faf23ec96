// The target `vulkan`: delegates on devices with a Vulkan driver, for VulkanBackend (backends/vulkan/vulkan_backend.h).
//
// It takes the operators of backends/vulkan/operators.def, the list that the kernels are made by, for the types that
// stand there.
#pragma once

#include "plugin/target.h"

namespace berth::targets::own {

class VulkanTarget final : public plugin::NestedTarget {
 public:
  VulkanTarget();

  plugin::Status takes(const plugin::Node& node, const plugin::Specs& specs) override;
};

}  // namespace berth::targets::own
