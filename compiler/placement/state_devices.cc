#include "compiler/placement/state_devices.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/region_devices.h"
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
    // Of each result that a state gets: the state. What gives it the old value back leaves the choice to the others.
    IdVector<ValueId, ir::StateId> updates(method.values.size());
    visit(method, method.body, [&](const Node& node) {
      if (node.is(ir::OpId::state_write)) mark_updates(method, written_by(method, node), node.state, &updates);
    });
    const auto wish = [&](const ir::Argument& argument, Device device, ir::StateId updated = {}) {
      ir::for_each_value(argument, [&](const ValueId& id) {
        const ir::StateId state = reads[id];
        if (state.valid() && state != updated) wishes_[state].add(device);
      });
    };
    visit(method, method.body, [&](const Node& node) {
      if (is_copy(node)) return;
      if (node.is(ir::OpId::state_write)) {
        write(method, node, reads);
      } else if (is_delegate(node) || node.regions.empty()) {
        for (const ir::Argument& argument : node.args) wish(argument, device_of(node));
      }
      if (is_delegate(node) || node.regions.empty()) return;
      const auto updated = [&](size_t k) { return k < node.results.size() ? updates[node.results[k]] : ir::StateId(); };
      for (size_t a = 0; a < node.args.size(); ++a) {
        size_t i = 0;
        ir::for_each_value(node.args[a], [&](const ValueId& id) {
          const bool carried = i < ir::carried_count(node) && a == (node.is(ir::OpId::scan) ? 1u : 0u);
          wish(id, Device(), carried ? updated(i) : ir::StateId());
          ++i;
        });
      }
      for (size_t r = 0; r < node.regions.size(); ++r) {
        const bool condition = node.is(ir::OpId::while_) && r == 0;
        for (size_t k = 0; k < node.regions[r].outputs.size(); ++k) {
          wish(node.regions[r].outputs[k], Device(), condition ? ir::StateId() : updated(k));
        }
      }
    });
    for (const ir::Argument& output : method.body.outputs) wish(output, Device());
  }

  // One that is written with what was read from a state leaves the choice to the others.
  void write(const Method& method, const Node& node, const IdVector<ValueId, ir::StateId>& reads) {
    made(method, written_by(method, node), node.state, reads);
  }

  /// What `state` gets lives where it is made: in the regions of a branch or loop where that gives it.
  void made(const Method& method, ValueId value, ir::StateId state, const IdVector<ValueId, ir::StateId>& reads) {
    const ir::Value& written = method.value(value);
    const std::vector<ValueId>& inputs = method.body.inputs;
    const bool carried =
        written.kind == ir::ValueKind::kInput && std::find(inputs.begin(), inputs.end(), value) == inputs.end();
    if (reads[value].valid() || carried) return;
    const Node* node = written.kind == ir::ValueKind::kNode ? &method.node(written.node) : nullptr;
    if (node == nullptr || is_delegate(*node) || node->regions.empty()) {
      wishes_[state].add(node == nullptr ? Device() : device_of(*node));
      return;
    }
    for_each_giver(*node, written.result,
                   [&](ValueId giver) { made(method, without_copies(method, giver), state, reads); });
  }

  void mark_updates(const Method& method, ValueId value, ir::StateId state, IdVector<ValueId, ir::StateId>* updates) {
    const ir::Value& written = method.value(value);
    if (written.kind != ir::ValueKind::kNode) return;
    const Node& node = method.node(written.node);
    if (is_delegate(node) || node.regions.empty()) return;
    (*updates)[value] = state;
    for_each_giver(node, written.result,
                   [&](ValueId giver) { mark_updates(method, without_copies(method, giver), state, updates); });
  }

  /// Calls `f` for what the regions of a branch or loop give for its result `k`.
  template <typename F>
  static void for_each_giver(const Node& node, size_t k, const F& f) {
    for (size_t r = node.is(ir::OpId::while_) ? 1 : 0; r < node.regions.size(); ++r) {
      const ValueId* giver = std::get_if<ValueId>(&node.regions[r].outputs[k]);
      if (giver != nullptr) f(*giver);
    }
  }

  static ValueId written_by(const Method& method, const Node& write) {
    return without_copies(method, std::get<ValueId>(write.args[arg::state_write::value]));
  }

  static ValueId without_copies(const Method& method, ValueId value) {
    while (method.value(value).kind == ir::ValueKind::kNode && is_copy(method.node(method.value(value).node))) {
      value = copied(method.node(method.value(value).node));
    }
    return value;
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
