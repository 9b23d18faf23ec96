#include "compiler/passes/hoist_state_writes.h"

#include <map>
#include <set>
#include <utility>

#include "compiler/ir/arguments.h"
#include "compiler/ir/region_devices.h"

namespace berth::passes {
namespace {

using ir::Graph;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::StateId;
using ir::ValueId;

constexpr char kHoistStateWrites[] = "hoist_state_writes";

/// The last value that each state was given so far.
using Written = std::map<StateId, ValueId>;

class Hoister {
 public:
  Hoister(const Module& module, Method& method, const Options& options)
      : module_(module), method_(method), options_(options) {}

  bool run() {
    bool within = false;
    for (const NodeId id : method_.body.nodes) {
      if (!written_in(id).empty()) within = true;
      if (condition_writes(id)) return false;
    }
    if (!within) return false;
    Written written;
    walk(method_.body, &written);
    for (const auto& [state, value] : written) method_.body.nodes.push_back(write(state, value));
    // What the state had when the method began can be read anywhere, so also first.
    method_.body.nodes.insert(method_.body.nodes.begin(), reads_.begin(), reads_.end());
    return true;
  }

 private:
  std::set<StateId> written_in(NodeId id) const {
    std::set<StateId> states;
    if (method_.node(id).is(OpId::delegate)) return states;
    for (const Graph& region : method_.node(id).regions) {
      ir::for_each_graph(method_, region, [&](const Graph& graph) {
        for (const NodeId inner : graph.nodes) {
          if (method_.node(inner).is(OpId::state_write)) states.insert(method_.node(inner).state);
        }
      });
    }
    return states;
  }

  /// Whether the condition of a `while` in the node, or the node's own, writes a state.
  bool condition_writes(NodeId id) const {
    const Node& node = method_.node(id);
    if (node.is(OpId::delegate)) return false;
    for (size_t r = 0; r < node.regions.size(); ++r) {
      for (const NodeId inner : node.regions[r].nodes) {
        const bool writes = method_.node(inner).is(OpId::state_write) || !written_in(inner).empty();
        if ((node.is(OpId::while_) && r == 0 && writes) || condition_writes(inner)) return true;
      }
    }
    return false;
  }

  /// Takes the writes out of the graph, and keeps account of what they wrote.
  void walk(Graph& graph, Written* written) {
    const std::vector<NodeId> given = std::move(graph.nodes);
    graph.nodes.clear();
    for (const NodeId id : given) {
      if (method_.node(id).is(OpId::state_write)) {
        (*written)[method_.node(id).state] = std::get<ValueId>(method_.node(id).args[arg::state_write::value]);
        continue;
      }
      graph.nodes.push_back(id);
      const std::set<StateId> states = written_in(id);
      if (states.empty()) continue;
      for (const StateId state : states) {
        remark(options_, kHoistStateWrites, method_, method_.node(id), "gives @" + module_.states[state].name);
      }
      if (method_.node(id).is(OpId::if_)) {
        give(id, states, written);
      } else {
        carry(id, states, written);
      }
    }
  }

  /// One more result of an `if` for each of the states.
  void give(NodeId id, const std::set<StateId>& states, Written* written) {
    // Regions stay where they are when the list of nodes grows: nodes move, their vectors' contents do not.
    for (Graph& region : method_.node(id).regions) {
      Written within = *written;
      walk(region, &within);
      for (const StateId state : states) region.outputs.emplace_back(value_of(state, within));
    }
    for (const StateId state : states) (*written)[state] = add_result(id, method_.node(id).results.size(), state);
  }

  /// One more value that a loop carries for each of the states, behind the others.
  void carry(NodeId id, const std::set<StateId>& states, Written* written) {
    const size_t argument = method_.node(id).is(OpId::scan) ? size_t{arg::scan::carried} : size_t{arg::while_::init};
    auto at = static_cast<ptrdiff_t>(ir::carried_count(method_.node(id)));
    const ptrdiff_t first = at;
    Written within = *written;
    for (const StateId state : states) {
      const ValueId initial = value_of(state, *written);
      std::get<ir::ValueList>(method_.node(id).args[argument]).push_back(initial);
      for (Graph& region : method_.node(id).regions) {
        const ValueId input = method_.add_value(module_.states[state].type, module_.states[state].name);
        region.inputs.insert(region.inputs.begin() + at, input);
        within[state] = input;  // the body's, which is the last region
      }
      (*written)[state] = add_result(id, at++, state);
    }
    Graph& body = method_.node(id).regions.back();
    walk(body, &within);
    at = first;
    for (const StateId state : states) {
      body.outputs.insert(body.outputs.begin() + at++, ir::Argument(within[state]));
    }
  }

  ValueId value_of(StateId state, const Written& written) {
    const auto found = written.find(state);
    return found == written.end() ? read(state) : found->second;
  }

  ValueId add_result(NodeId id, size_t at, StateId state) {
    const ValueId result = method_.add_value(module_.states[state].type, module_.states[state].name + ".new");
    std::vector<ValueId>& results = method_.node(id).results;
    results.insert(results.begin() + static_cast<ptrdiff_t>(at), result);
    method_.value(result).kind = ir::ValueKind::kNode;
    method_.value(result).node = id;
    for (size_t k = 0; k < results.size(); ++k) method_.value(results[k]).result = static_cast<int>(k);
    return result;
  }

  /// The value of the state when the method began.
  ValueId read(StateId state) {
    const auto known = old_.find(state);
    if (known != old_.end()) return known->second;
    const NodeId id = add_node(OpId::state_read, state);
    const ValueId value = method_.add_value(module_.states[state].type, module_.states[state].name + ".old");
    method_.value(value).kind = ir::ValueKind::kNode;
    method_.value(value).node = id;
    method_.node(id).results = {value};
    reads_.push_back(id);
    return old_[state] = value;
  }

  NodeId write(StateId state, ValueId value) {
    const NodeId id = add_node(OpId::state_write, state);
    method_.node(id).args.emplace_back(value);
    return id;
  }

  NodeId add_node(OpId op, StateId state) {
    Node node;
    node.op = &ir::operator_of(op);
    node.state = state;
    return method_.nodes.push_back(std::move(node));
  }

  const Module& module_;
  Method& method_;
  const Options& options_;
  Written old_;
  std::vector<NodeId> reads_;
};

}  // namespace

Expected<Changed> hoist_state_writes(ir::Module& module, const Options& options) {
  bool changed = false;
  for (Method& method : module.methods) changed = Hoister(module, method, options).run() || changed;
  return changed_if(changed);
}

}  // namespace berth::passes
