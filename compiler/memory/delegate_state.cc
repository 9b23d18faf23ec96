#include "compiler/memory/delegate_state.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/ir/arguments.h"
#include "compiler/memory/nested_payload.h"

namespace berth::memory {
namespace {

using ir::Graph;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

const ValueId* value_of(const ir::Argument& argument) { return std::get_if<ValueId>(&argument); }

/// The argument of `node` that its result may replace, when it reads `value` there; -1 when it does not.
int32_t replaced_argument(const Node& node, ValueId value) {
  if (node.op->in_place != ir::InPlaceClass::kSelf || node.results.size() != 1) return -1;
  for (size_t k = 0; k < node.args.size(); ++k) {
    const ValueId* read = value_of(node.args[k]);
    const bool written = k < 32 && (node.op->in_place_arguments >> k & 1u) != 0;
    if (read != nullptr && *read == value && written) return static_cast<int32_t>(k);
  }
  return -1;
}

/// The node of `graph` that reads `value`, when one argument of one node does and nothing else; null otherwise.
const Node* only_reader(const Method& method, const Graph& graph, ValueId value) {
  const Node* reader = nullptr;
  int reads = 0;
  for (const NodeId id : graph.nodes) {
    const Node& node = method.node(id);
    if (!node.regions.empty()) continue;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& read) {
        if (read != value) return;
        ++reads;
        reader = &node;
      });
    }
  }
  return reads == 1 ? reader : nullptr;
}

/// Follows the chain from `value` to its end, with `visit(node, argument, result)` at each link; what the last link
/// made.
template <typename Visit>
ValueId follow(const Method& method, const Graph& graph, const IdVector<ValueId, int>& uses, ValueId value,
               const Visit& visit) {
  while (uses[value] == 1) {
    const Node* node = only_reader(method, graph, value);
    const int32_t argument = node == nullptr ? -1 : replaced_argument(*node, value);
    if (argument < 0 || !visit(*node, argument, node->results[0])) break;
    value = node->results[0];
  }
  return value;
}

class PortFinder {
 public:
  PortFinder(const Method& method, NodeId call, const MemoryOptions& options)
      : method_(method),
        call_(method.node(call)),
        in_body_(std::find(method.body.nodes.begin(), method.body.nodes.end(), call) != method.body.nodes.end()),
        options_(options),
        uses_(ir::count_uses(method)) {}

  std::vector<StatePort> run() const {
    std::vector<StatePort> ports;
    if (!in_body_ || call_.regions.size() != 1) return ports;
    const auto& inputs = std::get<ir::ValueList>(call_.args[arg::delegate::inputs]);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::StateId state = state_for_this_alone(inputs[i]);
      if (!state.valid()) continue;
      const int32_t result = result_of(call_.regions[0], i);
      if (result >= 0 && becomes(call_.results[result], state)) ports.push_back({static_cast<int32_t>(i), result});
    }
    return ports;
  }

 private:
  /// The state that `input` is the value of, when the method reads it for this call alone.
  ir::StateId state_for_this_alone(ValueId input) const {
    const ir::Value& value = method_.value(input);
    if (value.kind != ir::ValueKind::kNode || uses_[input] != 1) return {};
    const Node& read = method_.node(value.node);
    if (!read.is(OpId::state_read) || !value.tensor()->is_static()) return {};
    int reads = 0;
    int writes = 0;
    ir::for_each_graph(method_, method_.body, [&](const Graph& graph) {
      for (const NodeId id : graph.nodes) {
        const Node& node = method_.node(id);
        if (node.state != read.state) continue;
        ++(node.is(OpId::state_write) ? writes : reads);
      }
    });
    return reads == 1 && writes == 1 ? read.state : ir::StateId();
  }

  /// The result that the region makes of its input `index` in place; -1: none.
  int32_t result_of(const Graph& region, size_t index) const {
    const ValueId input = region.inputs[index];
    const auto allowed = [&](const Node& node, int32_t argument, ValueId result) {
      const ir::TensorType& from = method_.tensor(input);
      const ir::TensorType& to = method_.tensor(result);
      return options_.in_place_set.allows(*node.op, argument) && from.dtype == to.dtype && from.shape == to.shape &&
             from.is_contiguous() && to.is_contiguous();
    };
    const ValueId last = follow(method_, region, uses_, input, allowed);
    if (last == input) return -1;
    int32_t found = -1;
    for (size_t k = 0; k < region.outputs.size(); ++k) {
      const ValueId* output = value_of(region.outputs[k]);
      if (output == nullptr || *output != last) continue;
      if (found >= 0) return -1;
      found = static_cast<int32_t>(k);
    }
    return found;
  }

  bool becomes(ValueId result, ir::StateId state) const {
    if (uses_[result] != 1) return false;
    for (const NodeId id : method_.body.nodes) {
      const Node& node = method_.node(id);
      if (!node.is(OpId::state_write) || node.state != state) continue;
      return std::get<ValueId>(node.args[arg::state_write::value]) == result;
    }
    return false;
  }

  const Method& method_;
  const Node& call_;
  const bool in_body_;
  const MemoryOptions& options_;
  const IdVector<ValueId, int> uses_;
};

/// What the nested program of a payload says: a value that is an input and an output.
std::vector<StatePort> ports_of(const ir::Delegate& delegate) {
  std::vector<StatePort> ports;
  const auto nested = nested_payload(delegate);
  if (!nested.has_value()) return ports;
  const fb::ExecutionPlan& plan = nested->program.method(0);
  for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
    for (uint32_t k = 0; k < plan.outputs()->size(); ++k) {
      if (plan.inputs()->Get(i) == plan.outputs()->Get(k)) {
        ports.push_back({static_cast<int32_t>(i), static_cast<int32_t>(k)});
      }
    }
  }
  return ports;
}

}  // namespace

std::vector<StatePort> find_state_ports(const Module& module, const Method& method, NodeId call,
                                        const MemoryOptions& options) {
  const ir::DelegateId id = method.node(call).delegate;
  if (!module.delegates.contains(id)) return {};
  const ir::Delegate& delegate = module.delegates[id];
  if (delegate.payload.has_value()) return ports_of(delegate);
  if (!options.allows_in_place() || !runs_nested_programs(delegate.backend.c_str())) return {};
  return PortFinder(method, call, options).run();
}

std::vector<StateLink> find_state_links(const Method& method, const std::vector<StatePort>& ports) {
  std::vector<StateLink> links;
  const IdVector<ValueId, int> uses = ir::count_uses(method);
  for (const StatePort& port : ports) {
    const ValueId input = method.body.inputs[port.input];
    follow(method, method.body, uses, input, [&](const Node&, int32_t, ValueId result) {
      links.push_back({input, result});
      return true;
    });
  }
  return links;
}

}  // namespace berth::memory
