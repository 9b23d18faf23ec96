#include "compiler/place/state_devices.h"

#include <optional>

#include "compiler/ir/delegate.h"
#include "compiler/place/graph_walk.h"

namespace berth::place {
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

  std::vector<Device> run() {
    for (const Method& method : module_.methods) survey(method);
    std::vector<Device> devices;
    for (size_t s = 0; s < wishes_.size(); ++s) {
      const Wish& wish = wishes_[s];
      const bool agreed = wish.device.has_value() && !wish.several;
      devices.push_back(agreed ? *wish.device : module_.states[s].type.device);
    }
    return devices;
  }

 private:
  Device device_of(const Node& node) const {
    if (!is_delegate(node)) return Device();
    return ir::delegate_device(module_.delegates[static_cast<size_t>(node.delegate)]).value();
  }

  static ValueId copied(const Node& node) { return std::get<ValueId>(node.args[0]); }

  void survey(const Method& method) {
    // Which state each value is a reading of, or a copy of one; -1.
    std::vector<ir::StateId> reads(method.values.size(), -1);
    visit(method, method.body, [&](const Node& node) {
      if (node.is(ir::OpId::state_read)) reads[static_cast<size_t>(node.results[0].index)] = node.state;
      if (is_copy(node))
        reads[static_cast<size_t>(node.results[0].index)] = reads[static_cast<size_t>(copied(node).index)];
    });
    const auto wish = [&](const ir::Argument& argument, Device device) {
      ir::for_each_value(argument, [&](const ValueId& id) {
        const ir::StateId state = reads[static_cast<size_t>(id.index)];
        if (state >= 0) wishes_[static_cast<size_t>(state)].add(device);
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
  void write(const Method& method, const Node& node, const std::vector<ir::StateId>& reads) {
    ValueId value = std::get<ValueId>(node.args[0]);
    while (method.value(value).kind == ir::ValueKind::kNode && is_copy(method.node(method.value(value).node))) {
      value = copied(method.node(method.value(value).node));
    }
    if (reads[static_cast<size_t>(value.index)] >= 0) return;
    const ir::Value& written = method.value(value);
    const bool made = written.kind == ir::ValueKind::kNode;
    wishes_[static_cast<size_t>(node.state)].add(made ? device_of(method.node(written.node)) : Device());
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
  std::vector<Wish> wishes_;
};

}  // namespace

std::vector<Device> state_devices(const Module& module) { return Survey(module).run(); }

}  // namespace berth::place
