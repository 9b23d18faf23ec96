#include "compiler/placement/insert_copies.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/region_devices.h"
#include "compiler/placement/graph_walk.h"

namespace berth::placement {
namespace {

using passes::Changed;

constexpr char kInsertCopies[] = "insert_copies";

// A value on a device, by the value that all copies of it go back to.
struct Wanted {
  ValueId root;
  Device device;

  friend bool operator<(const Wanted& a, const Wanted& b) {
    const auto key = [](const Wanted& w) { return std::make_tuple(w.root, w.device.type, w.device.index); };
    return key(a) < key(b);
  }
};

struct Need {
  Wanted wanted;
  CopyReason reason = CopyReason::kHostOperator;
};

class CopyInserter {
 public:
  CopyInserter(const Module& module, Method& method, bool direct_copies, const passes::Options& options,
               const std::vector<Device>& outputs)
      : module_(module),
        method_(method),
        direct_copies_(direct_copies),
        options_(options),
        outputs_(outputs),
        roots_(method.values.size()) {
    visible_.resize(method.values.size());
    for (ValueId id : method.values.ids()) {
      roots_[id] = id;
      visible_[id] = method.values[id].kind == ir::ValueKind::kConstant;
    }
    find_copies(method.body);
  }

  bool run() {
    const std::vector<Argument> old = method_.body.outputs;
    graph(method_.body, true, outputs_);
    name_outputs(old);
    return changed_;
  }

 private:
  void find_copies(const Graph& graph) {
    for (NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      if (is_copy(node)) {
        const ValueId root = roots_[std::get<ValueId>(node.args[arg::device_copy::self])];
        roots_[node.results[0]] = root;
        existing_[{root, method_.tensor(node.results[0]).device}].push_back(id);
      }
      if (is_delegate(node)) continue;
      for (const Graph& region : node.regions) find_copies(region);
    }
  }

  Device home(ValueId root) const { return method_.tensor(root).device; }

  bool goes_directly(Device from, Device to) const {
    return direct_copies_ && !from.is_cpu() && !to.is_cpu() && from.type == to.type;
  }

  // Appends what of `argument` is not on `device`.
  void need(const Argument& argument, Device device, CopyReason reason, std::vector<Need>* out) const {
    ir::for_each_value(argument, [&](const ValueId& id) { need(id, device, reason, out); });
  }

  void need(const ValueId& id, Device device, CopyReason reason, std::vector<Need>* out) const {
    const ValueId root = roots_[id];
    if (method_.value(root).tensor() == nullptr || home(root) == device) return;
    const bool through_host = !home(root).is_cpu() && !device.is_cpu() && !goes_directly(home(root), device);
    if (through_host) out->push_back({{root, Device()}, reason});
    out->push_back({{root, device}, reason});
  }

  // Where `node` reads value `i` of its argument `a`.
  Device reads_on(const Node& node, size_t a, size_t i) const {
    if (is_delegate(node)) {
      return ir::delegate_device(module_.delegates[node.delegate]).value();
    }
    if (node.is(OpId::state_write)) return module_.states[node.state].type.device;
    return node.regions.empty() ? Device() : ir::argument_device(method_, node, a, i);
  }

  static CopyReason reason_of(const Node& node) {
    if (is_delegate(node)) return CopyReason::kDelegateInput;
    if (node.is(OpId::state_write)) return CopyReason::kState;
    return node.regions.empty() ? CopyReason::kHostOperator : CopyReason::kControlFlow;
  }

  // What `node`, its regions left out, reads that is not where it reads it.
  void gather_arguments(const Node& node, std::vector<Need>* out) const {
    for_each_argument(node, [&](const ValueId& id, Device device) { need(id, device, reason_of(node), out); });
  }

  // Calls `f(ValueId&, Device)` for each value that `node` reads itself, and where.
  template <typename N, typename F>
  void for_each_argument(N& node, F&& f) const {
    for (size_t a = 0; a < node.args.size(); ++a) {
      size_t i = 0;
      ir::for_each_value(node.args[a], [&](auto& id) { f(id, reads_on(node, a, i++)); });
    }
  }

  // What `node` and all in its regions read that is not where they read it.
  void gather(const Node& node, std::vector<Need>* out) const {
    if (is_copy(node)) return;
    gather_arguments(node, out);
    if (is_delegate(node)) return;
    for (size_t r = 0; r < node.regions.size(); ++r) gather_region(node, r, out);
  }

  void gather_region(const Node& node, size_t r, std::vector<Need>* out) const {
    const Graph& region = node.regions[r];
    for (NodeId id : region.nodes) gather(method_.node(id), out);
    for (size_t k = 0; k < region.outputs.size(); ++k) {
      need(region.outputs[k], ir::region_output_device(method_, node, r, k), CopyReason::kControlFlow, out);
    }
  }

  // Whether the one branch of this `if` that needs it can have the copy to itself.
  bool belongs_in_branch(const Node& node, const Wanted& wanted, bool last) const {
    if (!node.is(OpId::if_) || !last) return false;
    const auto has = [&](const std::vector<Need>& needs) {
      return std::any_of(needs.begin(), needs.end(),
                         [&](const Need& need) { return !(need.wanted < wanted) && !(wanted < need.wanted); });
    };
    std::vector<Need> own;
    gather_arguments(node, &own);
    if (has(own)) return false;
    size_t branches = 0;
    for (size_t r = 0; r < node.regions.size(); ++r) {
      std::vector<Need> inside;
      gather_region(node, r, &inside);
      branches += has(inside) ? 1 : 0;
    }
    return branches == 1;
  }

  // `outputs`: where each output is given.
  void graph(Graph& graph, bool is_body, const std::vector<Device>& outputs) {
    const std::vector<NodeId> old = std::move(graph.nodes);
    graph.nodes.clear();
    std::vector<std::vector<Need>> needs(old.size() + 1);
    for (size_t i = 0; i < old.size(); ++i) gather(method_.node(old[i]), &needs[i]);
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      need(graph.outputs[k], outputs[k], is_body ? CopyReason::kOutput : CopyReason::kControlFlow, &needs[old.size()]);
    }
    std::map<Wanted, size_t> last;
    for (size_t i = 0; i < needs.size(); ++i) {
      for (const Need& need : needs[i]) last[need.wanted] = i;
    }
    const size_t outer = scope_.size();
    const std::vector<ValueId> inputs = graph.inputs;
    for (ValueId input : inputs) visible_[input] = true;
    for (size_t i = 0; i < old.size(); ++i) {
      if (is_copy(method_.node(old[i]))) continue;
      for (const Need& need : needs[i]) {
        if (belongs_in_branch(method_.node(old[i]), need.wanted, last[need.wanted] == i)) continue;
        provide(need, graph);
      }
      node(old[i]);
      graph.nodes.push_back(old[i]);
      for (ValueId result : method_.node(old[i]).results) visible_[result] = true;
    }
    for (const Need& need : needs[old.size()]) provide(need, graph);
    for (size_t k = 0; k < graph.outputs.size(); ++k) resolve(graph.outputs[k], outputs[k]);
    if (graph.nodes != old) changed_ = true;
    for (; scope_.size() > outer; scope_.pop_back()) copies_.erase(scope_.back());
    if (!is_body) hide(inputs, old);
  }

  // What a region defines is not seen outside of it.
  void hide(const std::vector<ValueId>& inputs, const std::vector<NodeId>& nodes) {
    for (ValueId input : inputs) visible_[input] = false;
    for (NodeId id : nodes) {
      for (ValueId result : method_.node(id).results) visible_[result] = false;
    }
  }

  void node(NodeId id) {
    for_each_argument(method_.node(id), [&](ValueId& value, Device device) { resolve(value, device); });
    if (is_delegate(method_.node(id))) return;
    // Regions stay where they are when the list of nodes grows.
    for (size_t r = 0; r < method_.node(id).regions.size(); ++r) {
      Graph& region = method_.node(id).regions[r];
      std::vector<Device> outputs;
      for (size_t k = 0; k < region.outputs.size(); ++k) {
        outputs.push_back(ir::region_output_device(method_, method_.node(id), r, k));
      }
      graph(region, false, outputs);
    }
  }

  void resolve(Argument& argument, Device device) {
    ir::for_each_value(argument, [&](ValueId& id) { resolve(id, device); });
  }

  void resolve(ValueId& id, Device device) {
    const ValueId found = find(roots_[id], device);
    if (found != id) changed_ = true;
    id = found;
  }

  ValueId find(ValueId root, Device device) const {
    if (method_.value(root).tensor() == nullptr || home(root) == device) return root;
    const auto found = copies_.find({root, device});
    BERTH_CHECK(found != copies_.end());
    return found->second;
  }

  // Makes the copy at the end of `graph`, unless there is one already, or its value is made further inside.
  void provide(const Need& need, Graph& graph) {
    const Wanted& wanted = need.wanted;
    if (!visible_[wanted.root] || copies_.count(wanted) != 0) return;
    const Device from = home(wanted.root);
    const OpId op = goes_directly(from, wanted.device) ? OpId::d2d_copy_out
                    : wanted.device.is_cpu()           ? OpId::d2h_copy_out
                                                       : OpId::h2d_copy_out;
    const ValueId source = op == OpId::h2d_copy_out ? find(wanted.root, Device()) : wanted.root;
    const NodeId id = take_existing(wanted, op, source);
    graph.nodes.push_back(id.valid() ? id : make(wanted, op, source, need.reason));
    const Node& copy = method_.node(graph.nodes.back());
    copies_[wanted] = copy.results[0];
    scope_.push_back(wanted);
    passes::remark(options_, kInsertCopies, method_, copy,
                   std::string("to ") + to_text(wanted.device).text + ": " + to_string(need.reason));
  }

  NodeId take_existing(const Wanted& wanted, OpId op, ValueId source) {
    const auto found = existing_.find(wanted);
    if (found == existing_.end()) return NodeId();
    for (NodeId& id : found->second) {
      if (!id.valid() || !method_.node(id).is(op)) continue;
      const NodeId taken = std::exchange(id, NodeId());
      Argument& argument = method_.node(taken).args[arg::device_copy::self];
      if (argument != Argument(source)) changed_ = true;
      argument = source;
      return taken;
    }
    return NodeId();
  }

  static std::string suffix(Device device) {
    if (device.is_cpu()) return ".cpu";
    return std::string(".") + to_string(device.type) + std::to_string(static_cast<int>(device.index));
  }

  NodeId make(const Wanted& wanted, OpId op, ValueId source, CopyReason reason) {
    const std::string name = method_.value(wanted.root).name;
    ir::TensorType type = method_.tensor(wanted.root);
    type.device = wanted.device;
    const ValueId result = method_.add_value(std::move(type), name + suffix(wanted.device));
    roots_.push_back(wanted.root);
    visible_.push_back(false);
    Node node;
    node.op = &ir::operator_of(op);
    node.args.emplace_back(source);
    node.results.push_back(result);
    node.source = name + " to " + to_text(wanted.device).text + ": " + to_string(reason);
    const NodeId id = method_.nodes.next_id();
    ir::Value& value = method_.value(result);
    value.kind = ir::ValueKind::kNode;
    value.node = id;
    method_.nodes.push_back(std::move(node));
    changed_ = true;
    return id;
  }

  // The caller knows outputs by their names.
  void name_outputs(const std::vector<Argument>& old) {
    const auto was_output = [&](ValueId id) { return std::find(old.begin(), old.end(), Argument(id)) != old.end(); };
    for (size_t k = 0; k < old.size(); ++k) {
      const ValueId* before = std::get_if<ValueId>(&old[k]);
      if (before == nullptr || !before->valid()) continue;
      const ValueId now = std::get<ValueId>(method_.body.outputs[k]);
      const bool fixed = method_.value(*before).kind == ir::ValueKind::kInput ||
                         method_.value(now).kind != ir::ValueKind::kNode || was_output(now);
      if (now == *before || fixed) continue;
      const std::string name = method_.value(*before).name;
      if (method_.value(now).name == name) continue;
      method_.rename(*before, name + suffix(method_.tensor(*before).device));
      method_.rename(now, name);
    }
  }

  const Module& module_;
  Method& method_;
  const bool direct_copies_;
  const passes::Options& options_;
  const std::vector<Device>& outputs_;
  IdVector<ValueId, ValueId> roots_;                // of each value: itself, or what it is a copy of
  IdVector<ValueId, bool> visible_;                 // values that are defined where the walk is
  std::map<Wanted, std::vector<NodeId>> existing_;  // copies that were there before and are not used yet
  std::map<Wanted, ValueId> copies_;                // those that are visible where the walk is
  std::vector<Wanted> scope_;                       // of copies_, in the order in which they were made
  bool changed_ = false;
};

}  // namespace

const char* to_string(CopyReason reason) {
  switch (reason) {
    case CopyReason::kDelegateInput: return "delegate-input";
    case CopyReason::kHostOperator: return "host-operator";
    case CopyReason::kControlFlow: return "control-flow";
    case CopyReason::kState: return "state";
    case CopyReason::kOutput: return "graph-output";
  }
  return "?";
}

Expected<Changed> insert_copies(Module& module, const Options& options, const passes::Options& pass_options,
                                const OutputDevices& outputs) {
  BERTH_CHECK(outputs.size() == module.methods.size());
  bool changed = false;
  for (size_t m = 0; m < module.methods.size(); ++m) {
    const bool direct = options_of(options, module.methods[m]).direct_copies;
    changed = CopyInserter(module, module.methods[m], direct, pass_options, outputs[m]).run() || changed;
  }
  return passes::changed_if(changed);
}

}  // namespace berth::placement
