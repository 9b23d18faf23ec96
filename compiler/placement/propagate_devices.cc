#include "compiler/placement/propagate_devices.h"

#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/placement/carry_devices.h"
#include "compiler/placement/device_io.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/state_devices.h"

namespace berth::placement {
namespace {

using passes::Changed;

constexpr char kPropagateDevices[] = "propagate_devices";

class Propagation {
 public:
  Propagation(Module& module, Method& method, const passes::Options& options)
      : module_(module), method_(method), options_(options) {}

  // Inputs of the method are where their types say.
  bool run() {
    nodes(method_.body);
    return changed_;
  }

 private:
  void set(ValueId id, Device device) {
    ir::TensorType* type = method_.value(id).tensor();
    if (type == nullptr || type->device == device) return;
    type->device = device;
    changed_ = true;
  }

  void set(const std::vector<ValueId>& ids, Device device) {
    for (ValueId id : ids) set(id, device);
  }

  void nodes(const Graph& graph) {
    for (NodeId id : graph.nodes) node(method_.node(id));
  }

  void node(const Node& node) {
    if (node.op->copies_to_device()) return;  // its result says where it goes
    switch (node.op->id) {
      case ir::OpId::delegate: return delegate(node);
      case ir::OpId::state_read: return set(node.results, module_.states[node.state].type.device);
      default: break;
    }
    set(node.results, Device());
    for (const Graph& region : node.regions) {
      set(region.inputs, Device());
      nodes(region);
    }
  }

  void delegate(const Node& node) {
    const Device device = ir::delegate_device(module_.delegates[node.delegate]).value();
    passes::remark(options_, kPropagateDevices, method_, node,
                   std::string("reads and gives on ") + to_text(device).text);
    set(node.results, device);
    for (const Graph& region : node.regions) inside(region, device);
  }

  void inside(const Graph& region, Device device) {
    set(region.inputs, device);
    for (NodeId id : region.nodes) {
      set(method_.node(id).results, device);
      for (const Graph& inner : method_.node(id).regions) inside(inner, device);
    }
  }

  Module& module_;
  Method& method_;
  const passes::Options& options_;
  bool changed_ = false;
};

std::vector<Device> wanted_outputs(const Method& method, const std::map<ValueId, Device>& asked) {
  std::vector<Device> devices;
  for (const ir::Argument& output : method.body.outputs) {
    const ValueId* id = std::get_if<ValueId>(&output);
    Device device;
    if (id != nullptr && id->valid() && method.value(*id).tensor() != nullptr) {
      const auto said = asked.find(*id);
      device = said == asked.end() ? method.tensor(*id).device : said->second;
    }
    devices.push_back(device);
  }
  return devices;
}

bool place_states(Module& module, const passes::Options& options) {
  const IdVector<ir::StateId, Device> devices = state_devices(module);
  bool changed = false;
  for (ir::StateId id : devices.ids()) {
    ir::State& state = module.states[id];
    if (state.type.device != devices[id]) {
      state.type.device = devices[id];
      changed = true;
    }
    if (passes::wants_why(options, kPropagateDevices)) {
      options.why_lines->push_back(std::string(kPropagateDevices) + ": state " + ir::named('@', state.name) + ": on " +
                                   to_text(devices[id]).text);
    }
  }
  return changed;
}

}  // namespace

Expected<Changed> propagate_devices(Module& module, const Options& options, const passes::Options& pass_options,
                                    OutputDevices* outputs) {
  BERTH_ASSIGN_OR_RETURN(const auto asked, find_device_io(module, options.device_io));
  outputs->clear();
  bool changed = false;
  for (size_t m = 0; m < module.methods.size(); ++m) {
    Method& method = module.methods[m];
    outputs->push_back(wanted_outputs(method, asked[m]));
    for (ValueId input : method.body.inputs) {
      const auto said = asked[m].find(input);
      if (said == asked[m].end() || method.tensor(input).device == said->second) continue;
      method.value(input).tensor()->device = said->second;
      changed = true;
    }
  }
  changed = place_states(module, pass_options) || changed;
  for (size_t m = 0; m < module.methods.size(); ++m) {
    changed = Propagation(module, module.methods[m], pass_options).run() || changed;
    // Between turns of a loop it is copied within the device.
    const bool direct = options_of(options, module.methods[m]).direct_copies;
    if (direct) changed = carry_on_devices(&module.methods[m], module, (*outputs)[m]) || changed;
  }
  return passes::changed_if(changed);
}

}  // namespace berth::placement
