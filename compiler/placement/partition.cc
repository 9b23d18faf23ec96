#include "compiler/placement/partition.h"

#include <algorithm>
#include <string>

#include "base/target_device.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text.h"
#include "compiler/placement/assign.h"
#include "compiler/placement/estimate_text.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/group.h"

namespace berth::placement {
namespace {

using passes::Changed;

constexpr char kPartition[] = "partition";

class MethodPartitioner {
 public:
  MethodPartitioner(Module& module, Method& method, const Options& options, const passes::Options& pass_options,
                    Assignment assignment, const MethodEstimate& estimate)
      : module_(module),
        method_(method),
        options_(options),
        pass_options_(pass_options),
        assignment_(std::move(assignment)),
        estimate_(estimate) {}

  Expected<Changed> run() {
    BERTH_TRY(graph(method_.body));
    return passes::changed_if(changed_);
  }

 private:
  // Regions before what holds them. A graph stays where it is when the list of nodes grows: nodes move, their vectors'
  // contents do not.
  Status graph(Graph& graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodeId id = graph.nodes[i];
      if (is_delegate(method_.node(id))) continue;
      for (size_t r = 0; r < method_.node(id).regions.size(); ++r) BERTH_TRY(this->graph(method_.node(id).regions[r]));
    }
    BERTH_ASSIGN_OR_RETURN(const Grouping grouping, group_nodes(module_, method_, graph, options_, &assignment_));
    std::vector<ir::DelegateId> delegates;  // by group
    for (const Group& group : grouping.groups) delegates.push_back(add_delegate(group));
    remark(graph, grouping, delegates);
    for (size_t g = 0; g < delegates.size(); ++g) note_seconds(grouping.groups[g], delegates[g]);
    if (grouping.groups.empty()) return Done{};
    changed_ = true;
    rebuild(graph, grouping, delegates);
    return Done{};
  }

  ir::DelegateId add_delegate(const Group& group) {
    const targets::Target& target = options_.targets[group.target];
    ir::Delegate delegate;
    const auto taken = [&](const std::string& name) {
      return std::any_of(module_.delegates.begin(), module_.delegates.end(),
                         [&](const ir::Delegate& other) { return other.name == name; });
    };
    size_t number = module_.delegates.size();
    do {
      delegate.name = "d" + std::to_string(number++);
    } while (taken(delegate.name));
    delegate.backend = target.backend;
    if (!target.device.is_cpu()) delegate.specs.push_back({kTargetDevice, to_text(target.device).text});
    delegate.specs.insert(delegate.specs.end(), target.specs.begin(), target.specs.end());
    return module_.delegates.push_back(std::move(delegate));
  }

  void note_seconds(const Group& group, ir::DelegateId delegate) const {
    if (options_.delegate_seconds == nullptr) return;
    const DeviceCosts* const costs = costs_of(options_, group.target);
    if (costs == nullptr) return;
    const bool fuses = options_.targets[group.target].fuses;
    const double seconds = seconds_of_part(module_, method_, group.nodes, *costs, fuses);
    options_.delegate_seconds->emplace(module_.delegates[delegate].name, seconds);
  }

  void remark(const Graph& graph, const Grouping& grouping, const std::vector<ir::DelegateId>& delegates) const {
    if (!passes::wants_why(pass_options_, kPartition)) return;
    for (NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      const int32_t group = node.results.empty() ? -1 : grouping.group_of[node.results[0]];
      std::string reason = std::string("outside of delegates: ") + targets::to_string(assignment_.support[id]);
      if (!assignment_.reason[id].empty()) reason += ": " + assignment_.reason[id];
      if (assignment_.target[id] >= 0) reason = "outside of delegates: portable";
      if (group >= 0) {
        const ir::Delegate& delegate = module_.delegates[delegates[group]];
        reason = ir::named('@', delegate.name) + " on " + options_.targets[grouping.groups[group].target].name;
      }
      reason += node_estimate(estimate_, options_, id);
      passes::remark(pass_options_, kPartition, method_, node, reason);
    }
    for (size_t g = 0; g < delegates.size(); ++g) {
      const std::string part = part_estimate(estimate_, options_, method_, grouping.groups[g]);
      if (!part.empty())
        remark_line(pass_options_, method_, ir::named('@', module_.delegates[delegates[g]].name) + part);
    }
  }

  // Values of groups that others read, in the order in which they are made.
  std::vector<std::vector<ValueId>> find_outputs(const Graph& graph, const Grouping& grouping) const {
    IdVector<ValueId, bool> read(method_.values.size());
    for (NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      const int32_t own = node.results.empty() ? -1 : grouping.group_of[node.results[0]];
      ir::for_each_mention(method_, node, [&](const ValueId& value) {
        if (grouping.group_of[value] != own) read[value] = true;
      });
    }
    for (const Argument& output : graph.outputs) {
      ir::for_each_value(output, [&](const ValueId& value) { read[value] = true; });
    }
    std::vector<std::vector<ValueId>> outputs(grouping.groups.size());
    for (size_t g = 0; g < outputs.size(); ++g) {
      for (NodeId id : grouping.groups[g].nodes) {
        for (ValueId result : method_.node(id).results) {
          if (read[result]) outputs[g].push_back(result);
        }
      }
    }
    return outputs;
  }

  void rebuild(Graph& graph, const Grouping& grouping, const std::vector<ir::DelegateId>& delegates) {
    const std::vector<std::vector<ValueId>> outputs = find_outputs(graph, grouping);
    // What a call gives has the name that the value had; the region's own gets another.
    IdVector<ValueId, ValueId> given(method_.values.size());
    for (const std::vector<ValueId>& list : outputs) {
      for (ValueId value : list) {
        const std::string name = method_.value(value).name;
        method_.rename(value, name + ".out");
        const ir::Type type = method_.value(value).type;
        given[value] = method_.add_value(type, name);
      }
    }
    ir::replace_values(method_, given);
    std::vector<NodeId> calls;
    for (size_t g = 0; g < grouping.groups.size(); ++g) {
      calls.push_back(call(grouping, g, outputs[g], given, delegates[g]));
    }
    const std::vector<NodeId> old = std::move(graph.nodes);
    graph.nodes.clear();
    for (int32_t item : grouping.order) {
      graph.nodes.push_back(item >= 0 ? old[item] : calls[-(item + 1)]);
    }
  }

  NodeId call(const Grouping& grouping, size_t g, const std::vector<ValueId>& outputs,
              const IdVector<ValueId, ValueId>& given, ir::DelegateId delegate) {
    const Group& group = grouping.groups[g];
    Node node;
    node.op = &ir::operator_of(ir::OpId::delegate);
    node.delegate = delegate;
    node.source = source_of(group);
    Graph region;
    region.nodes = group.nodes;
    for (ValueId value : outputs) region.outputs.emplace_back(value);
    // What a value that the region mentions is inside of it.
    IdVector<ValueId, ValueId> inside(method_.values.size());
    ir::ValueList arguments;
    for (ValueId input : group.inputs) {
      const ValueId outer = given.contains(input) && given[input].valid() ? given[input] : input;
      const ir::Type type = method_.value(outer).type;
      const std::string name = method_.value(outer).name + ".in";
      inside[outer] = method_.add_value(type, name);
      region.inputs.push_back(inside[outer]);
      arguments.push_back(outer);
    }
    for (ValueId value : outputs) inside[given[value]] = value;
    for (NodeId id : group.nodes) {
      for (Argument& argument : method_.node(id).args) {
        ir::for_each_value(argument, [&](ValueId& value) {
          if (inside[value].valid()) value = inside[value];
        });
      }
    }
    node.args.emplace_back(std::move(arguments));
    node.regions.push_back(std::move(region));
    const NodeId id = method_.nodes.next_id();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId result = given[outputs[k]];
      ir::Value& value = method_.value(result);
      value.kind = ir::ValueKind::kNode;
      value.node = id;
      value.result = static_cast<int>(k);
      node.results.push_back(result);
    }
    method_.nodes.push_back(std::move(node));
    return id;
  }

  // "Conv_0 ... Relu_9"
  std::string source_of(const Group& group) const {
    std::string first;
    std::string last;
    for (NodeId id : group.nodes) {
      const std::string& source = method_.node(id).source;
      if (source.empty()) continue;
      if (first.empty()) first = source;
      last = source;
    }
    return first == last ? first : first + " ... " + last;
  }

  Module& module_;
  Method& method_;
  const Options& options_;
  const passes::Options& pass_options_;
  Assignment assignment_;
  const MethodEstimate& estimate_;
  bool changed_ = false;
};

// A constant among the arguments of a call that has a region would be copied to the device in every run.
bool move_constants_inside(Method& method, Node& node) {
  auto& arguments = std::get<ir::ValueList>(node.args[arg::delegate::inputs]);
  Graph& region = node.regions[0];
  IdVector<ValueId, ValueId> inside(method.values.size());
  bool changed = false;
  for (size_t i = arguments.size(); i-- > 0;) {
    const ValueId input = region.inputs[i];
    const auto gives = [&](const Argument& output) { return output == Argument(input); };
    const bool given = std::any_of(region.outputs.begin(), region.outputs.end(), gives);
    if (method.value(arguments[i]).kind != ir::ValueKind::kConstant || given) continue;
    inside[input] = arguments[i];
    arguments.erase(arguments.begin() + static_cast<ptrdiff_t>(i));
    region.inputs.erase(region.inputs.begin() + static_cast<ptrdiff_t>(i));
    changed = true;
  }
  if (!changed) return false;
  ir::for_each_graph(method, region, [&](Graph& graph) {
    for (NodeId id : graph.nodes) {
      for (Argument& argument : method.node(id).args) {
        ir::for_each_value(argument, [&](ValueId& value) {
          if (inside[value].valid()) value = inside[value];
        });
      }
    }
  });
  return true;
}

bool move_constants_inside(Method& method) {
  bool changed = false;
  ir::for_each_graph(method, method.body, [&](Graph& graph) {
    for (NodeId id : graph.nodes) {
      Node& node = method.node(id);
      if (is_delegate(node) && !node.regions.empty()) changed = move_constants_inside(method, node) || changed;
    }
  });
  return changed;
}

}  // namespace

Expected<Changed> partition(Module& module, const Options& options, const passes::Options& pass_options) {
  Changed changed = Changed::kNo;
  for (Method& method : module.methods) changed = changed | passes::changed_if(move_constants_inside(method));
  if (all_targets(options).empty() && options.rules.empty() && !options.node_device) return changed;
  BERTH_ASSIGN_OR_RETURN(Assignments assignments, assign(module, options));
  remark_estimate(assignments.estimate, options, pass_options);
  for (size_t m = 0; m < module.methods.size(); ++m) {
    const Options own = options_of(options, module.methods[m]);
    const MethodEstimate none;
    const bool by_cost = m < assignments.estimate.methods.size();
    const MethodEstimate& estimate = by_cost ? assignments.estimate.methods[m] : none;
    MethodPartitioner partitioner(module, module.methods[m], own, pass_options, std::move(assignments.methods[m]),
                                  estimate);
    BERTH_ASSIGN_OR_RETURN(const Changed one, partitioner.run());
    changed = changed | one;
  }
  return changed;
}

}  // namespace berth::placement
