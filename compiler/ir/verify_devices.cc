#include "compiler/ir/verify_devices.h"

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/region_devices.h"
#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

class DeviceRules {
 public:
  DeviceRules(const Module& module, const Method& method) : module_(module), method_(method) {}

  Status run() { return nodes(method_.body); }

 private:
  Failure fail(const Node& node, const std::string& message) const {
    std::string place = "method " + method_.name + ", " + node.op->functional_name;
    if (!node.source.empty()) place += " " + quoted(node.source);
    return Failure{Error::kInvalidArgument, place, message};
  }

  static std::string text(Device device) { return to_text(device).text; }

  Status is_on(const Node& node, ValueId id, Device device) const {
    const Value& value = method_.value(id);
    const TensorType* type = value.tensor();
    if (type == nullptr || type->device == device) return Done{};
    return fail(node,
                "expected " + named('%', value.name) + " on " + text(device) + ", found it on " + text(type->device));
  }

  Status are_on(const Node& node, const std::vector<ValueId>& ids, Device device) const {
    for (ValueId id : ids) BERTH_TRY(is_on(node, id, device));
    return Done{};
  }

  Status arguments_are_on(const Node& node, Device device) const {
    std::vector<ValueId> ids;
    for (const Argument& argument : node.args) for_each_value(argument, [&](const ValueId& id) { ids.push_back(id); });
    return are_on(node, ids, device);
  }

  Status nodes(const Graph& graph) const {
    for (NodeId id : graph.nodes) BERTH_TRY(node(method_.node(id)));
    return Done{};
  }

  Status node(const Node& node) const {
    if (node.op->is_device_copy()) return copy(node);
    switch (node.op->id) {
      case OpId::delegate: return delegate(node);
      case OpId::state_read: return are_on(node, node.results, state(node));
      case OpId::state_write: return arguments_are_on(node, state(node));
      default: return on_host(node);
    }
  }

  Device state(const Node& node) const { return module_.states[node.state].type.device; }

  Status on_host(const Node& node) const {
    if (!node.regions.empty()) return at_borders(node);
    BERTH_TRY(arguments_are_on(node, Device()));
    return are_on(node, node.results, Device());
  }

  /// By the rules of region_devices.h.
  Status at_borders(const Node& node) const {
    for (size_t a = 0; a < node.args.size(); ++a) {
      std::vector<ValueId> ids;
      for_each_value(node.args[a], [&](const ValueId& id) { ids.push_back(id); });
      for (size_t i = 0; i < ids.size(); ++i) BERTH_TRY(is_on(node, ids[i], argument_device(method_, node, a, i)));
    }
    for (size_t r = 0; r < node.regions.size(); ++r) {
      const Graph& region = node.regions[r];
      for (size_t i = 0; i < region.inputs.size(); ++i) {
        BERTH_TRY(is_on(node, region.inputs[i], region_input_device(method_, node, i)));
      }
      for (size_t k = 0; k < region.outputs.size(); ++k) {
        const ValueId* id = std::get_if<ValueId>(&region.outputs[k]);
        const Device device = region_output_device(method_, node, r, k);
        if (id != nullptr && id->valid()) BERTH_TRY(is_on(node, *id, device));
        if (id == nullptr && !device.is_cpu())
          return fail(node, "expected a tensor on " + text(device) + " to be given");
      }
      BERTH_TRY(nodes(region));
    }
    return Done{};
  }

  Status copy(const Node& node) const {
    const Device from = method_.tensor(std::get<ValueId>(node.args[arg::device_copy::self])).device;
    const Device to = method_.tensor(node.results[0]).device;
    const bool from_device = node.op->copies_from_device();
    const bool to_device = node.op->copies_to_device();
    const bool ends = from.is_cpu() != from_device && to.is_cpu() != to_device;
    if (ends && (!from_device || !to_device || from.type == to.type)) return Done{};
    const char* wanted = !from_device ? "from the cpu to a device"
                         : !to_device ? "from a device to the cpu"
                                      : "between devices of one type";
    return fail(node, std::string("expected a copy ") + wanted + ", found one from " + text(from) + " to " + text(to));
  }

  Status delegate(const Node& node) const {
    BERTH_ASSIGN_OR_RETURN(const Device device, delegate_device(module_.delegates[node.delegate]));
    BERTH_TRY(arguments_are_on(node, device));
    BERTH_TRY(are_on(node, node.results, device));
    for (const Graph& region : node.regions) {
      BERTH_TRY(are_on(node, region.inputs, device));
      for (const Argument& output : region.outputs) BERTH_TRY(given_on(node, std::get<ValueId>(output), device));
      BERTH_TRY(inside(region, device));
    }
    return Done{};
  }

  // Constants that a region gives are the delegate's copies, too.
  Status given_on(const Node& node, ValueId id, Device device) const {
    if (method_.value(id).kind == ValueKind::kConstant) return Done{};
    return is_on(node, id, device);
  }

  Status inside(const Graph& region, Device device) const {
    for (NodeId id : region.nodes) {
      const Node& node = method_.node(id);
      BERTH_TRY(are_on(node, node.results, device));
      for (const Graph& inner : node.regions) {
        BERTH_TRY(are_on(node, inner.inputs, device));
        BERTH_TRY(inside(inner, device));
      }
    }
    return Done{};
  }

  const Module& module_;
  const Method& method_;
};

}  // namespace

Status verify_devices(const Module& module) {
  for (const Method& method : module.methods) BERTH_TRY(DeviceRules(module, method).run());
  return Done{};
}

}  // namespace berth::ir
