#include "compiler/memory/schedule_problem.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/delegate.h"

namespace berth::memory {
namespace {

// What is visible from outside, or what runs on a device one after the other.
bool is_ordered(const ir::Module& module, const ir::Method& method, const ir::Node& node) {
  if (node.op->is_device_copy()) return true;
  switch (node.op->id) {
    case ir::OpId::state_read:
    case ir::OpId::state_write: return true;
    case ir::OpId::delegate: return ir::may_have_effects(module, method, node);
    default: return !node.regions.empty();
  }
}

class ProblemBuilder {
 public:
  ProblemBuilder(const ir::Module& module, const ir::Method& method, const MemoryModel& model, const InPlaceSet& set)
      : module_(module), method_(method), model_(model), set_(set), maker_(method.values.size(), -1) {}

  scheduling::Problem run() {
    const auto tasks = static_cast<int64_t>(method_.body.nodes.size());
    problem_.tasks = static_cast<int32_t>(tasks);
    for (const packing::Buffer& storage : model_.buffers.all) {
      scheduling::Buffer buffer;
      buffer.bytes = storage.size;
      buffer.producer = task_of(storage.lower);
      buffer.kept = storage.upper > model_.steps.save;
      // What is made after the last node takes its bytes whatever the order.
      if (storage.lower >= model_.steps.save) buffer.bytes = 0;
      problem_.buffers.push_back(std::move(buffer));
    }
    int32_t turn = -1;
    for (int32_t task = 0; task < problem_.tasks; ++task) {
      const ir::Node& node = method_.node(method_.body.nodes[task]);
      add_node(node, task);
      if (!is_ordered(module_, method_, node)) continue;
      if (turn >= 0) problem_.edges.push_back({turn, task});
      turn = task;
    }
    return std::move(problem_);
  }

 private:
  /// The node of the body in whose steps, those of its regions included, `step` lies; -1 for what comes before them all
  /// and after.
  int32_t task_of(int64_t step) const {
    if (step < 1 || step >= model_.steps.save) return -1;
    const auto& nodes = method_.body.nodes;
    const auto later = std::upper_bound(nodes.begin(), nodes.end(), step,
                                        [&](int64_t s, ir::NodeId id) { return s < model_.steps.nodes[id]; });
    return static_cast<int32_t>(later - nodes.begin()) - 1;
  }

  int32_t buffer_of(ir::ValueId value) const {
    const ValueHome& place = model_.aliases.homes[value];
    return place.home == Home::kBuffer ? place.buffer.index : -1;
  }

  void reads(ir::ValueId value, int32_t task) {
    // Numbers and views have no bytes of their own, and are made before they are used all the same.
    const int32_t maker = maker_[value];
    if (maker >= 0 && maker != task) problem_.edges.push_back({maker, task});
    const int32_t index = buffer_of(value);
    if (index < 0) return;
    scheduling::Buffer& buffer = problem_.buffers[index];
    if (buffer.producer < task) buffer.readers.push_back(task);
  }

  void add_arguments(const std::vector<ir::Argument>& arguments, int32_t task) {
    for (const ir::Argument& argument : arguments) {
      ir::for_each_value(argument, [&](const ir::ValueId& value) { reads(value, task); });
      ir::for_each_dim(argument, [&](const ir::Dim& dim) { needs_size(dim, task); });
    }
  }

  void add_graph(const ir::Graph& graph, int32_t task) {
    for (const ir::NodeId id : graph.nodes) {
      const ir::Node& node = method_.node(id);
      add_arguments(node.args, task);
      for (const ir::Graph& region : node.regions) add_graph(region, task);
    }
    add_arguments(graph.outputs, task);
  }

  // A size is read off a tensor that has it: the first one stays before those who need it, and so do the first ones
  // that have what it is computed of.
  void needs_size(ir::Dim dim, int32_t task) {
    if (dim.is_constant() || !sizes_seen_.insert({task, dim.symbol}).second) return;
    const auto first = first_with_.find(dim.symbol);
    if (first != first_with_.end() && first->second < task) problem_.edges.push_back({first->second, task});
    const ir::Symbol& symbol = module_.symbols[dim.symbol];
    if (symbol.kind == ir::SymbolKind::kInput) return;
    needs_size(symbol.a, task);
    needs_size(symbol.b, task);
  }

  void has_sizes(ir::ValueId value, int32_t task) {
    const ir::TensorType* type = method_.value(value).tensor();
    if (type == nullptr) return;
    for (const ir::Dim& dim : type->shape) {
      if (!dim.is_constant()) first_with_.emplace(dim.symbol, task);
    }
  }

  void add_node(const ir::Node& node, int32_t task) {
    add_arguments(node.args, task);
    for (const ir::Graph& region : node.regions) add_graph(region, task);
    for (const ir::ValueId result : node.results) has_sizes(result, task);
    for (const ir::ValueId result : node.results) {
      maker_[result] = task;
      reads(result, task);  // a view names bytes that were made before
    }
    if (!node.results.empty()) add_in_place(node);
  }

  void add_in_place(const ir::Node& node) {
    const ir::TensorType* to = method_.value(node.results[0]).tensor();
    for (size_t i = 0; to != nullptr && i < node.args.size(); ++i) {
      if (!set_.allows(*node.op, i)) continue;
      ir::for_each_value(node.args[i], [&](const ir::ValueId& value) {
        const ir::TensorType* from = value.valid() ? method_.value(value).tensor() : nullptr;
        if (from == nullptr || from->shape != to->shape || element_size(from->dtype) != element_size(to->dtype)) return;
        const int32_t source = buffer_of(value);
        const int32_t target = buffer_of(node.results[0]);
        if (source >= 0 && target >= 0 && source != target) problem_.in_place.push_back({source, target});
      });
    }
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryModel& model_;
  const InPlaceSet& set_;
  std::set<std::pair<int32_t, ir::SymbolId>> sizes_seen_;
  std::map<ir::SymbolId, int32_t> first_with_;  // of each size: the first task that makes a tensor with it
  IdVector<ir::ValueId, int32_t> maker_;        // the task that defines the value, or -1
  scheduling::Problem problem_;
};

}  // namespace

bool is_schedule_exact(const ir::Method& method) {
  for (const ir::NodeId id : method.body.nodes) {
    if (!method.node(id).regions.empty() && !method.node(id).is(ir::OpId::delegate)) return false;
  }
  return std::none_of(method.body.nodes.begin(), method.body.nodes.end(),
                      [&](ir::NodeId id) { return method.node(id).op->joins_or_cuts(); });
}

scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set) {
  return ProblemBuilder(module, method, model, set).run();
}

}  // namespace berth::memory
