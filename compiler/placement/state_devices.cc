#include "compiler/placement/state_devices.h"

#include <optional>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/placement/graph_walk.h"

namespace berth::placement {
namespace {

// Where a state is wanted: on no device yet, on one, or on several.
struct Wish {
  std::optional<Device> device;
  bool several = false;

  void add(Device other) {
    several = several || (device.has_value() && *device != other);
    device = other;
  }
};

class Survey {
 public:
  explicit Survey(const Module& module) : module_(module), wishes_(module.states.size()) {}

  IdVector<ir::StateId, Device> run() {
    for (const Method& method : module_.methods) survey(method);
    IdVector<ir::StateId, Device> devices;
    for (ir::StateId id : wishes_.ids()) {
      const Wish& wish = wishes_[id];
      const bool agreed = wish.device.has_value() && !wish.several;
      devices.push_back(agreed ? *wish.device : module_.states[id].type.device);
    }
    return devices;
  }

 private:
  Device device_of(const Node& node) const {
    if (!is_delegate(node)) return Device();
    return ir::delegate_device(module_.delegates[node.delegate]).value();
  }

  static ValueId copied(const Node& node) { return std::get<ValueId>(node.args[arg::device_copy::self]); }

  void survey(const Method& method) {
    // Which state each value is a reading of, or a copy of one.
    IdVector<ValueId, ir::StateId> reads(method.values.size());
    visit(method, method.body, [&](const Node& node) {
      if (node.is(ir::OpId::state_read)) reads[node.results[0]] = node.state;
      if (is_copy(node)) reads[node.results[0]] = reads[copied(node)];
    });
    const auto wish = [&](const ir::Argument& argument, Device device) {
      ir::for_each_value(argument, [&](const ValueId& id) {
        const ir::StateId state = reads[id];
        if (state.valid()) wishes_[state].add(device);
      });
    };
    visit(method, method.body, [&](const Node& node) {
      if (is_copy(node)) return;
      if (node.is(ir::OpId::state_write)) {
        write(method, node, reads);
      } else {
        for (const ir::Argument& argument : node.args) wish(argument, device_of(node));
      }
      if (is_delegate(node)) return;
      for (const Graph& region : node.regions) {
        for (const ir::Argument& output : region.outputs) wish(output, Device());
      }
    });
    for (const ir::Argument& output : method.body.outputs) wish(output, Device());
  }

  // One that is written with what was read from a state leaves the choice to the others.
  void write(const Method& method, const Node& node, const IdVector<ValueId, ir::StateId>& reads) {
    ValueId value = std::get<ValueId>(node.args[arg::state_write::value]);
    while (method.value(value).kind == ir::ValueKind::kNode && is_copy(method.node(method.value(value).node))) {
      value = copied(method.node(method.value(value).node));
    }
    if (reads[value].valid()) return;
    const ir::Value& written = method.value(value);
    const bool made = written.kind == ir::ValueKind::kNode;
    wishes_[node.state].add(made ? device_of(method.node(written.node)) : Device());
  }

  template <typename F>
  void visit(const Method& method, const Graph& graph, const F& f) const {
    for (NodeId id : graph.nodes) {
      const Node& node = method.node(id);
      f(node);
      if (is_delegate(node)) continue;
      for (const Graph& region : node.regions) visit(method, region, f);
    }
  }

  const Module& module_;
  IdVector<ir::StateId, Wish> wishes_;
};

}  // namespace

IdVector<ir::StateId, Device> state_devices(const Module& module) { return Survey(module).run(); }

}  // namespace berth::placement
