#include "compiler/memory/schedule_problem.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/region_devices.h"
#include "compiler/memory/narrowed_input.h"

namespace berth::memory {
namespace {

// What is visible from outside, or what runs on a device one after the other.
bool is_ordered(const ir::Module& module, const ir::Method& method, const ir::Node& node, CopyOrder copies) {
  if (node.op->is_device_copy()) return copies == CopyOrder::kKept;
  if (node.op->has_effects) return true;
  switch (node.op->id) {
    case ir::OpId::state_read:
    case ir::OpId::state_write: return true;
    case ir::OpId::delegate: return ir::may_have_effects(module, method, node);
    default: return !node.regions.empty();
  }
}

/// The steps of a graph's nodes: from `begin` to before `end`, where its outputs are read.
struct RegionSteps {
  int64_t begin = 1;
  int64_t end = 1;
};

/// As find_liveness() counts them.
class StepCounter {
 public:
  StepCounter(const ir::Method& method, const MemoryModel& model) : method_(method), model_(model) {}

  RegionSteps of(const RegionId& id) const {
    const ir::Node& node = method_.node(id.node);
    int64_t before = first(id.node);
    for (size_t r = 0; r < id.region; ++r) before = last(node.regions[r], before) + 1;
    return {before + 1, last(node.regions[id.region], before) + 1};
  }

 private:
  /// The step before the first region of the node: a scan takes its slices in one of its own.
  int64_t first(ir::NodeId id) const { return model_.steps.nodes[id] + (method_.node(id).is(ir::OpId::scan) ? 1 : 0); }

  int64_t last(const ir::Graph& graph, int64_t before) const {
    return graph.nodes.empty() ? before : last(graph.nodes.back());
  }

  int64_t last(ir::NodeId id) const {
    const ir::Node& node = method_.node(id);
    if (node.regions.empty() || node.is(ir::OpId::delegate)) return model_.steps.nodes[id];
    int64_t step = first(id);
    for (const ir::Graph& region : node.regions) step = last(region, step) + 1;
    return step;
  }

  const ir::Method& method_;
  const MemoryModel& model_;
};

void add_regions(const ir::Method& method, const ir::Graph& graph, std::vector<RegionId>* regions) {
  for (const ir::NodeId id : graph.nodes) {
    const ir::Node& node = method.node(id);
    if (node.is(ir::OpId::delegate)) continue;
    for (size_t r = 0; r < node.regions.size(); ++r) {
      add_regions(method, node.regions[r], regions);
      regions->push_back({id, r});
    }
  }
}

class ProblemBuilder {
 public:
  ProblemBuilder(const ir::Module& module, const ir::Method& method, const MemoryModel& model, const InPlaceSet& set,
                 const ir::Graph& graph, RegionSteps steps, CopyOrder copies = CopyOrder::kKept)
      : module_(module),
        method_(method),
        model_(model),
        set_(set),
        graph_(graph),
        steps_(steps),
        copies_(copies),
        maker_(method.values.size(), -1) {}

  scheduling::Problem run() {
    problem_.tasks = static_cast<int32_t>(graph_.nodes.size());
    for (const packing::Buffer& buffer : model_.buffers.all) {
      scheduling::Buffer made;
      made.bytes = buffer.size;
      made.producer = task_of(buffer.lower);
      made.kept = buffer.upper > steps_.end;
      // What is made after the last node, or dead before the first, takes its bytes whatever the order.
      if (buffer.lower >= steps_.end || buffer.upper <= steps_.begin) made.bytes = 0;
      problem_.buffers.push_back(std::move(made));
    }
    // What lies in a delegate's scratch is alive when that is, and counts by itself.
    for (const AliasCandidate& candidate : model_.candidates.all) {
      if (candidate.kind != AliasKind::kInScratch) continue;
      scheduling::Buffer& scratch = problem_.buffers[candidate.buffers.to];
      scratch.bytes = std::max<int64_t>(scratch.bytes - problem_.buffers[candidate.buffers.from].bytes, 0);
    }
    int32_t turn = -1;
    for (int32_t task = 0; task < problem_.tasks; ++task) {
      const ir::Node& node = method_.node(graph_.nodes[task]);
      add_node(node, task);
      if (!is_ordered(module_, method_, node, copies_)) continue;
      if (turn >= 0) problem_.edges.push_back({turn, task});
      turn = task;
    }
    return std::move(problem_);
  }

  /// What is carried is read before the next value takes its place. REQUIRES: the graph is the body of `loop`.
  void keep_in_place(const ir::Node& loop) {
    for (size_t i = 0; i < ir::carried_count(loop); ++i) {
      const ir::ValueId* next = std::get_if<ir::ValueId>(&graph_.outputs[i]);
      const bool placed = next != nullptr && (model_.aliases.stands_for[*next] == loop.results[i] ||
                                              model_.aliases.pointed[loop.results[i]]);
      if (placed) keep_reads_before(graph_.inputs[i], *next);
    }
  }

 private:
  void keep_reads_before(ir::ValueId carried, ir::ValueId next) {
    const auto found = std::find(graph_.nodes.begin(), graph_.nodes.end(), method_.value(next).node);
    const auto maker = static_cast<int32_t>(found - graph_.nodes.begin());
    for (int32_t task = 0; task < maker && found != graph_.nodes.end(); ++task) {
      bool reads = false;
      ir::for_each_mention(method_, method_.node(graph_.nodes[task]), [&](const ir::ValueId& v) {
        reads = reads || v == carried || (buffer_of(v) >= 0 && buffer_of(v) == buffer_of(carried));
      });
      if (reads) problem_.edges.push_back({task, maker});
    }
  }

  /// The node of the graph in whose steps, those of its regions included, `step` lies; -1 for what comes before them
  /// all and after.
  int32_t task_of(int64_t step) const {
    if (step < steps_.begin || step >= steps_.end) return -1;
    const auto& nodes = graph_.nodes;
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
        may_take(value, node.results[0]);
      });
    }
    if (!set_.allows_any(ir::operator_of(ir::OpId::fused_elementwise_out))) return;
    const ir::ValueId narrowed = narrowed_input(module_, method_, node);
    if (narrowed.valid()) may_take(narrowed, node.results[0]);
  }

  /// `result` may lie in the bytes of `input`.
  void may_take(ir::ValueId input, ir::ValueId result) {
    const int32_t source = buffer_of(input);
    const int32_t target = buffer_of(result);
    if (source >= 0 && target >= 0 && source != target) problem_.in_place.push_back({source, target});
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryModel& model_;
  const InPlaceSet& set_;
  const ir::Graph& graph_;
  const RegionSteps steps_;
  const CopyOrder copies_;
  std::set<std::pair<int32_t, ir::SymbolId>> sizes_seen_;
  std::map<ir::SymbolId, int32_t> first_with_;  // of each size: the first task that makes a tensor with it
  IdVector<ir::ValueId, int32_t> maker_;        // the task that defines the value, or -1
  scheduling::Problem problem_;
};

}  // namespace

std::vector<RegionId> schedulable_regions(const ir::Method& method) {
  std::vector<RegionId> regions;
  add_regions(method, method.body, &regions);
  return regions;
}

bool is_schedule_exact(const ir::Method& method) {
  for (const ir::NodeId id : method.body.nodes) {
    if (!method.node(id).regions.empty() && !method.node(id).is(ir::OpId::delegate)) return false;
  }
  return std::none_of(method.body.nodes.begin(), method.body.nodes.end(),
                      [&](ir::NodeId id) { return method.node(id).op->joins_or_cuts(); });
}

scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set, CopyOrder copies) {
  return ProblemBuilder(module, method, model, set, method.body, {1, model.steps.save}, copies).run();
}

scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set, const RegionId& region) {
  const ir::Node& node = method.node(region.node);
  const ir::Graph& graph = node.regions[region.region];
  ProblemBuilder builder(module, method, model, set, graph, StepCounter(method, model).of(region));
  const bool body = !node.is(ir::OpId::if_) && region.region + 1 == node.regions.size();
  if (body) builder.keep_in_place(node);
  return builder.run();
}

}  // namespace berth::memory
