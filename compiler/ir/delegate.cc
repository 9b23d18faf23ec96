#include "compiler/ir/delegate.h"

#include <optional>

#include "base/backend_facts.h"
#include "compiler/ir/text.h"

namespace berth::ir {

Expected<Device> parse_device(std::string_view text, const std::string& place) {
  const Result<Device> device = berth::parse_device(text.data(), text.size());
  if (device.ok() && (*device == Device() || !device->is_cpu())) return *device;
  const bool unknown = !device.ok() && device.error() == Error::kNotFound;
  return Failure{Error::kInvalidArgument, place,
                 (unknown ? std::string("expected a device of a type among ") + kDeviceTypeNames
                          : "expected a device such as cpu, cuda:0 or sim:1, with an index up to 127") +
                     ", found " + quoted(text)};
}

Expected<Device> delegate_device(const Delegate& delegate) {
  const std::string place = "delegate " + named('@', delegate.name) + ", " + kTargetDevice;
  std::optional<Device> device;
  for (const CompileSpec& spec : delegate.specs) {
    if (spec.key != kTargetDevice) continue;
    BERTH_ASSIGN_OR_RETURN(const Device found, parse_device(spec.value, place));
    if (device.has_value() && *device != found) {
      return Failure{Error::kInvalidArgument, place,
                     "is said twice: " + std::string(to_text(*device).text) + " and " + to_text(found).text};
    }
    device = found;
  }
  return device.value_or(Device());
}

bool may_have_effects(const Module& module, const Method& method, const Node& node) {
  if (node.is(OpId::state_write)) return true;
  if (node.is(OpId::delegate)) {
    const Delegate& delegate = module.delegates[static_cast<size_t>(node.delegate)];
    return delegate.payload.has_value() && !is_berths_own(delegate.backend.c_str());
  }
  for (const Graph& region : node.regions) {
    for (const NodeId id : region.nodes) {
      if (may_have_effects(module, method, method.node(id))) return true;
    }
  }
  return false;
}

}  // namespace berth::ir
