#include "compiler/placement/group.h"

#include <algorithm>

#include "compiler/ir/delegate.h"
#include "compiler/placement/entries.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/group_limits.h"
#include "compiler/placement/size_carriers.h"

namespace berth::placement {
namespace {

using targets::Support;

/// What each part of a group that is cut where devices meet has to do: so many calls' time, and of the group's work one
/// part in so many.
constexpr double kLeastCalls = 4;
constexpr double kMostParts = 16;

class Grouper {
 public:
  Grouper(const Module& module, const Method& method, const Graph& graph, const Options& options,
          Assignment* assignment)
      : module_(module), method_(method), graph_(graph), options_(options), assignment_(*assignment) {
    reads_.resize(graph.nodes.size());
    piece_.assign(method.nodes.size(), 0);
    IdVector<ValueId, int32_t> made_by(method.values.size(), -1);
    int32_t last_effect = -1;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = method.node(graph.nodes[i]);
      ir::for_each_mention(method, node, [&](const ValueId& id) {
        if (made_by[id] >= 0) reads_[i].push_back(made_by[id]);
      });
      for (ValueId result : node.results) made_by[result] = static_cast<int32_t>(i);
      if (!ir::may_have_effects(module, method, node)) continue;
      if (last_effect >= 0) reads_[i].push_back(last_effect);
      last_effect = static_cast<int32_t>(i);
    }
  }

  // Each round takes at least one node back, or gives some a piece of their own, so there is an end.
  Expected<Grouping> run() {
    BERTH_TRY(ask_for_sets());
    set_entries_apart();
    for (;;) {
      clusters_ = find_clusters(reads_, colours());
      fill();
      BERTH_ASSIGN_OR_RETURN(const bool whole, check());
      if (whole && !cut_where_devices_meet()) break;
    }
    out_.order = clusters_.order;
    return std::move(out_);
  }

 private:
  bool makes_delegates(int32_t target) const { return target >= 0 && !options_.targets[target].is_portable(); }

  std::vector<int32_t> colours() const {
    std::vector<int32_t> colours;
    for (NodeId id : graph_.nodes) {
      const int32_t target = assignment_.target[id];
      const int32_t count = static_cast<int32_t>(options_.targets.size());
      colours.push_back(makes_delegates(target) ? target + count * piece_[id] : -1);
    }
    return colours;
  }

  void fill() {
    out_ = Grouping();
    out_.groups.resize(clusters_.count);
    out_.group_of.assign(method_.values.size(), -1);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int32_t g = clusters_.of[i];
      if (g < 0) continue;
      Group& group = out_.groups[g];
      group.target = assignment_.target[graph_.nodes[i]];
      group.nodes.push_back(graph_.nodes[i]);
      for (ValueId result : method_.node(graph_.nodes[i]).results) out_.group_of[result] = g;
    }
    IdVector<ValueId, int32_t> taken(method_.values.size(), -1);
    for (size_t g = 0; g < out_.groups.size(); ++g) {
      for (NodeId id : out_.groups[g].nodes) {
        ir::for_each_mention(method_, method_.node(id), [&](const ValueId& value) {
          const bool own = out_.group_of[value] == static_cast<int32_t>(g);
          const bool constant = method_.value(value).kind == ir::ValueKind::kConstant;
          if (own || constant || taken[value] == static_cast<int32_t>(g)) return;
          taken[value] = static_cast<int32_t>(g);
          out_.groups[g].inputs.push_back(value);
        });
      }
    }
  }

  /// Nodes that their target wants in one delegate, or in none.
  struct Set {
    std::vector<NodeId> nodes;
    bool apart = false;   // has a piece of its own
    bool broken = false;  // its nodes were taken back
  };

  Status ask_for_sets() {
    set_of_.assign(method_.nodes.size(), -1);
    IdVector<ValueId, int> uses;
    for (size_t t = 0; t < options_.targets.size(); ++t) {
      const targets::Target& target = options_.targets[t];
      if (!target.marks || target.is_portable()) continue;
      std::vector<NodeId> nodes;
      for (NodeId id : graph_.nodes) {
        if (assignment_.target[id] == static_cast<int32_t>(t)) nodes.push_back(id);
      }
      if (nodes.empty()) continue;
      if (uses.size() == 0) uses = ir::count_uses(method_);
      auto marked = target.marks(module_, method_, uses, nodes, target.specs);
      if (!marked.ok()) {
        return Failure{marked.error().code, "method " + method_.name + ": " + marked.error().place,
                       marked.error().message};
      }
      for (std::vector<NodeId>& set : marked->together) {
        for (NodeId id : set) set_of_[id] = static_cast<int32_t>(sets_.size());
        sets_.push_back({std::move(set)});
      }
      for (NodeId id : marked->left) BERTH_TRY(leave(id));
    }
    return Done{};
  }

  // A node that the user asked for may not be left out silently.
  Status leave(NodeId id) {
    if (assignment_.target[id] < 0) return Done{};
    if (assignment_.asked[id]) {
      return Failure{Error::kInvalidArgument, place_of(method_, method_.node(id)),
                     std::string("cannot run where it was placed: ") + to_string(Support::kTogether) +
                         ": its target wants it in a delegate with nodes that cannot be there"};
    }
    take_back(id, Support::kTogether);
    return Done{};
  }

  // Where Berth's kernels compute in the program's own memory: to others' devices an input is copied first.
  void set_entries_apart() {
    if (&graph_ != &method_.body) return;
    for (const std::vector<NodeId>& nodes : find_entries(module_, method_)) {
      const int32_t target = assignment_.target[nodes[0]];
      if (!makes_delegates(target)) continue;
      if (!options_.targets[target].fuses || !options_.targets[target].device.is_cpu()) continue;
      const auto stays = [&](NodeId id) { return assignment_.target[id] != target || set_of_[id] >= 0; };
      if (std::any_of(nodes.begin(), nodes.end(), stays)) continue;
      ++pieces_;
      for (NodeId id : nodes) piece_[id] = pieces_;
    }
  }

  // Whether every set is in one group or in none; otherwise it got a piece of its own, or was taken back.
  Expected<bool> sets_are_whole() {
    bool whole = true;
    IdVector<NodeId, int32_t> group(method_.nodes.size(), -1);
    if (!sets_.empty()) {
      for (size_t i = 0; i < graph_.nodes.size(); ++i) group[graph_.nodes[i]] = clusters_.of[i];
    }
    for (Set& set : sets_) {
      if (set.broken) continue;
      const auto gone = [&](NodeId id) { return assignment_.target[id] < 0; };
      const auto elsewhere = [&](NodeId id) { return group[id] != group[set.nodes[0]]; };
      set.broken = std::any_of(set.nodes.begin(), set.nodes.end(), gone);
      if (!set.broken && std::none_of(set.nodes.begin(), set.nodes.end(), elsewhere)) continue;
      if (!set.broken && !set.apart) {
        set_apart(&set);
        whole = false;
        continue;
      }
      set.broken = true;
      for (NodeId id : set.nodes) {
        if (!gone(id)) whole = false;
        BERTH_TRY(leave(id));
      }
    }
    return whole;
  }

  void set_apart(Set* set) {
    set->apart = true;
    ++pieces_;
    for (NodeId id : set->nodes) piece_[id] = pieces_;
  }

  // Whether every group stands; otherwise nodes were taken back.
  Expected<bool> check() {
    BERTH_ASSIGN_OR_RETURN(bool whole, sets_are_whole());
    if (!whole) return false;
    for (Group& group : out_.groups) {
      BERTH_ASSIGN_OR_RETURN(const bool known, sizes_are_known(&group));
      if (known && is_worth_it(group)) {
        if (leave_last_views(group) || cut_to_limits(group)) whole = false;
        continue;
      }
      whole = false;
      if (!known) continue;
      for (NodeId id : group.nodes) take_back(id, Support::kViewsOnly);
    }
    return whole;
  }

  // Whether views at the end of a group were left to the program. There they are names: of the delegate's results where
  // it computes in the program's own memory, or of their copies on the host where nothing but the method's caller reads
  // them. The delegate would copy what it has computed to where its caller wants it.
  bool leave_last_views(const Group& group) {
    IdVector<ValueId, bool> read(method_.values.size());
    if (!options_.targets[group.target].device.is_cpu()) {
      if (&graph_ != &method_.body || !options_.device_io.empty()) return false;
      read = read_outside(group);
    }
    bool left = false;
    for (auto id = group.nodes.rbegin(); id != group.nodes.rend(); ++id) {
      const Node& node = method_.node(*id);
      const bool is_view = node.op->is_reshape();
      if (is_view && !read[node.results[0]] && !assignment_.asked[*id] && set_of_[*id] < 0) {
        take_back(*id, Support::kLastView);
        left = true;
        continue;
      }
      ir::for_each_mention(method_, node, [&](const ValueId& value) { read[value] = true; });
    }
    return left;
  }

  IdVector<ValueId, bool> read_outside(const Group& group) const {
    IdVector<ValueId, bool> read(method_.values.size());
    IdVector<NodeId, bool> own(method_.nodes.size());
    for (NodeId id : group.nodes) own[id] = true;
    for (NodeId id : graph_.nodes) {
      if (own[id]) continue;
      ir::for_each_mention(method_, method_.node(id), [&](const ValueId& value) { read[value] = true; });
    }
    return read;
  }

  // Whether the group was cut, or lost its first node, as it is beyond what a delegate of its target may have.
  bool cut_to_limits(const Group& group) {
    const targets::Limits& limits = options_.targets[group.target].limits;
    if (!limits.any()) return false;
    const size_t longest = longest_within(method_, graph_, group.nodes, limits);
    if (longest == group.nodes.size()) return false;
    const size_t count = without_half_sets(group.nodes, longest);
    if (count == 0) {
      Set* const set = set_of_[group.nodes[0]] < 0 ? nullptr : &sets_[set_of_[group.nodes[0]]];
      if (set != nullptr && !set->apart) {
        set_apart(set);
      } else {
        take_back(group.nodes[0], Support::kLimit);
      }
      return true;
    }
    // What is left may not join a group that was within the limits, either.
    pieces_ += 2;
    for (size_t i = 0; i < group.nodes.size(); ++i) piece_[group.nodes[i]] = i < count ? pieces_ - 1 : pieces_;
    return true;
  }

  // Once, where devices are to work at the same time: whether a group was cut where another device reads what it has
  // made, so that this goes there while the rest is computed, or where it first reads what another device makes, so
  // that what is before need not wait for it. Each part is worth several calls.
  bool cut_where_devices_meet() {
    // What is in branches and loops waits for each other.
    if (!options_.cut_where_devices_meet || are_cut_ || &graph_ != &method_.body) return false;
    if (options_.whole.count(method_.name) != 0) return false;
    are_cut_ = true;
    const IdVector<NodeId, bool> read = read_by_others();
    bool any = false;
    for (const Group& group : out_.groups) {
      const DeviceCosts* const costs = costs_of(options_, group.target);
      if (costs != nullptr) any = cut_where_devices_meet(group, *costs, read) || any;
    }
    if (any && options_.cut_methods != nullptr) options_.cut_methods->insert(method_.name);
    return any;
  }

  bool cut_where_devices_meet(const Group& group, const DeviceCosts& costs, const IdVector<NodeId, bool>& read) {
    std::vector<double> work = {0};  // before each node
    for (NodeId id : group.nodes) {
      work.push_back(work.back() + seconds_of_node(module_, method_, method_.node(id), costs));
    }
    const double least = std::max(kLeastCalls * costs.call_seconds, work.back() / kMostParts);
    IdVector<ValueId, bool> seen(method_.values.size());
    size_t begin = 0;
    bool leaves = false;
    for (size_t i = 0; i < group.nodes.size(); ++i) {
      const bool meets = leaves || first_reads_other(group, group.nodes[i], &seen);
      const size_t cut = without_half_sets(group.nodes, i);
      if (meets && cut > begin && work[cut] - work[begin] >= least && work.back() - work[cut] >= least) {
        ++pieces_;
        for (size_t k = begin; k < cut; ++k) piece_[group.nodes[k]] = pieces_;
        begin = cut;
        leaves = false;
      }
      leaves = leaves || read[group.nodes[i]];
    }
    if (begin == 0) return false;
    ++pieces_;
    for (size_t k = begin; k < group.nodes.size(); ++k) piece_[group.nodes[k]] = pieces_;
    return true;
  }

  Device device_of(NodeId id) const {
    const int32_t target = assignment_.target[id];
    return makes_delegates(target) ? options_.targets[target].device : Device();
  }

  // Whether the node reads something that a node of another device makes, and that nothing before it in the group
  // reads.
  bool first_reads_other(const Group& group, NodeId id, IdVector<ValueId, bool>* seen) const {
    const Device own = options_.targets[group.target].device;
    bool any = false;
    ir::for_each_mention(method_, method_.node(id), [&](const ValueId& value) {
      const ir::Value& read = method_.value(value);
      if (!(*seen)[value] && read.kind == ir::ValueKind::kNode && device_of(read.node) != own) any = true;
      (*seen)[value] = true;
    });
    return any;
  }

  // Of each node: whether a node of another device reads what it makes.
  IdVector<NodeId, bool> read_by_others() const {
    IdVector<NodeId, bool> read(method_.nodes.size());
    for (NodeId reader : graph_.nodes) {
      ir::for_each_mention(method_, method_.node(reader), [&](const ValueId& value) {
        const ir::Value& made = method_.value(value);
        if (made.kind == ir::ValueKind::kNode && device_of(made.node) != device_of(reader)) read[made.node] = true;
      });
    }
    return read;
  }

  // The largest number up to `count` of nodes, from the first on, that hold no set in part.
  size_t without_half_sets(const std::vector<NodeId>& nodes, size_t count) const {
    std::vector<size_t> begins(sets_.size(), nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      if (set_of_[nodes[i]] >= 0) begins[set_of_[nodes[i]]] = i;
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      const int32_t set = set_of_[nodes[i]];
      if (set >= 0 && i >= count) count = std::min(count, begins[set]);
    }
    return count;
  }

  void take_back(NodeId id, Support support) {
    assignment_.target[id] = -1;
    assignment_.support[id] = support;
  }

  // Whether the sizes that the group's kernels need are at hand; otherwise nodes were taken back.
  Expected<bool> sizes_are_known(Group* group) {
    const Device device = options_.targets[group->target].device;
    const std::vector<UnknownSize> unknown = add_size_carriers(module_, method_, group->nodes, device, &group->inputs);
    for (const UnknownSize& size : unknown) {
      take_back(size.node, Support::kSymbolUnknown);
      if (assignment_.asked[size.node]) return refuse(size);
    }
    return unknown.empty();
  }

  Failure refuse(const UnknownSize& size) const {
    return Failure{Error::kInvalidArgument, place_of(method_, method_.node(size.node)),
                   std::string("cannot run where it was placed: ") + to_string(Support::kSymbolUnknown) +
                       ": no tensor that is there has the size " + module_.symbols[size.symbol].name +
                       " as a dimension"};
  }

  bool is_worth_it(const Group& group) const {
    bool beside = false;
    const auto same_device = [&](int32_t g) {
      return g >= 0 && &out_.groups[g] != &group &&
             options_.targets[out_.groups[g].target].device == options_.targets[group.target].device;
    };
    for (NodeId id : group.nodes) {
      if (assignment_.asked[id] || !method_.node(id).op->is_reshape()) return true;
    }
    for (ValueId input : group.inputs) beside = beside || same_device(out_.group_of[input]);
    const int32_t own = static_cast<int32_t>(&group - out_.groups.data());
    for (size_t i = 0; i < reads_.size(); ++i) {
      for (int32_t read : reads_[i]) {
        beside = beside || (clusters_.of[read] == own && same_device(clusters_.of[i]));
      }
    }
    return beside;
  }

  const Module& module_;
  const Method& method_;
  const Graph& graph_;
  const Options& options_;
  Assignment& assignment_;
  // Of each place in the graph: the places of what it reads; of what has effects, the one before it that has, too.
  std::vector<std::vector<int32_t>> reads_;
  // Of each node: nodes of different pieces never share a group, as a limit of their target was between them.
  IdVector<NodeId, int32_t> piece_;
  int32_t pieces_ = 0;
  bool are_cut_ = false;  // where devices meet
  std::vector<Set> sets_;
  IdVector<NodeId, int32_t> set_of_;  // of each node, -1: of none
  Clusters clusters_;
  Grouping out_;
};

}  // namespace

Expected<Grouping> group_nodes(const Module& module, const Method& method, const Graph& graph, const Options& options,
                               Assignment* assignment) {
  return Grouper(module, method, graph, options, assignment).run();
}

}  // namespace berth::placement
