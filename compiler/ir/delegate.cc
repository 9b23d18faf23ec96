#include "compiler/ir/delegate.h"

#include "base/backend_facts.h"
#include "base/target_device.h"
#include "compiler/ir/text.h"

namespace berth::ir {

Expected<Device> parse_device(std::string_view text, const std::string& place) {
  const Result<Device> device = berth::parse_device(text.data(), text.size());
  if (device.ok() && (*device == Device() || !device->is_cpu())) return *device;
  const bool unknown = !device.ok() && device.error() == Error::kNotFound;
  return Failure{Error::kInvalidArgument, place,
                 (unknown ? std::string("expected a device of a type among ") + device_type_names()
                          : "expected a device such as cpu, cuda:0 or sim:1, with an index up to 127") +
                     ", found " + quoted(text)};
}

Expected<Device> delegate_device(const Delegate& delegate) {
  TargetDevice target;
  for (const CompileSpec& spec : delegate.specs) target.read(spec.key.c_str(), spec.value.data(), spec.value.size());
  if (target.ok()) return target.device();
  return Failure{Error::kInvalidArgument, "delegate " + named('@', delegate.name), target.message()};
}

DelegateSpecs delegate_specs(const Delegate& delegate) {
  DelegateSpecs specs;
  for (const CompileSpec& spec : delegate.specs) specs.read(spec.key.c_str(), spec.value.data(), spec.value.size());
  if (!runs_nested_programs(delegate.backend.c_str())) return specs;
  DelegateSpecs nested;  // what it needs else is planned with its region, and it keeps nothing
  nested.alignment = specs.alignment;
  nested.padding = specs.padding;
  nested.pure = specs.pure;
  return nested;
}

bool may_have_effects(const Module& module, const Method& method, const Node& node) {
  if (node.is(OpId::state_write) || node.op->has_effects) return true;
  if (node.is(OpId::delegate)) {
    const Delegate& delegate = module.delegates[node.delegate];
    if (!delegate.payload.has_value() || runs_nested_programs(delegate.backend.c_str())) return false;
    const DelegateSpecs specs = delegate_specs(delegate);
    return !specs.pure || specs.state > 0;
  }
  for (const Graph& region : node.regions) {
    for (const NodeId id : region.nodes) {
      if (may_have_effects(module, method, method.node(id))) return true;
    }
  }
  return false;
}

}  // namespace berth::ir
