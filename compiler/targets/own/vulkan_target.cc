#include "compiler/targets/own/vulkan_target.h"

#include <set>
#include <string>

#include "base/device.h"
#include "base/dtype.h"
#include "compiler/targets/own/operator_names.h"

namespace berth::targets::own {
namespace {

using plugin::Argument;
using plugin::Node;
using plugin::refuse;
using plugin::Status;

#define KERNEL(identifier) Row::identifier,
constexpr Row kVulkanKernels[] = {
#include "backends/vulkan/operators.def"
};
#undef KERNEL

// The operators' names: "aten::add.Tensor".
const std::set<std::string>& vulkan_kernels() {
  static const auto* const all = [] {
    auto* const made = new std::set<std::string>;
    for (const Row kernel : kVulkanKernels) made->insert(operator_name(kernel));
    return made;
  }();
  return *all;
}

bool vulkan_has(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

Status vulkan_refuses(DType dtype) { return refuse(std::string("not for tensors of ") + to_string(dtype)); }

// The indices of a max pooling, which the kernel can write.
bool is_index(const Node& node, size_t result) { return node.op() == "aten::max_pool2d_with_indices" && result == 1; }

}  // namespace

VulkanTarget::VulkanTarget() : NestedTarget("vulkan", "berth.vulkan", static_cast<int32_t>(DeviceType::kVulkan)) {
  table_.fuses = 1;
  table_.channels_last = 2;
  table_.alignment = 256;  // the most that a device may want of where a buffer's part begins
}

Status VulkanTarget::takes(const Node& node, const plugin::Specs&) {
  if (vulkan_kernels().count(std::string(node.op())) == 0) return refuse("it has no " + std::string(node.op()));
  for (size_t i = 0; i < node.arguments_size(); ++i) {
    const Argument argument = node.argument(i);
    for (size_t k = 0; k < argument.size(); ++k) {
      if (!argument.has_value(k)) continue;
      const DType dtype = static_cast<DType>(argument.value(k).dtype());
      if (!vulkan_has(dtype)) return vulkan_refuses(dtype);
    }
  }
  for (size_t i = 0; i < node.results_size(); ++i) {
    const DType dtype = static_cast<DType>(node.result(i).dtype());
    if (!vulkan_has(dtype) && !is_index(node, i)) return vulkan_refuses(dtype);
  }
  return {};
}

}  // namespace berth::targets::own
