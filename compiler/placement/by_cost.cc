#include "compiler/placement/by_cost.h"

#include <algorithm>
#include <map>

#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/placement/choose_places.h"
#include "compiler/placement/cost_places.h"
#include "compiler/placement/device_io.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/operator_work.h"
#include "compiler/placement/timed_problem.h"

namespace berth::placement {
namespace {

// The items and flows of all methods.
class CostModel {
 public:
  CostModel(const Module& module, const Options& options, const std::vector<Takers>& takers)
      : module_(module), options_(options), takers_(takers), places_(options), states_(module.states.size(), -1) {
    problem_.places = static_cast<int32_t>(places_.count());
    program_ = fixed(places_.program());
  }

  Status add_methods() {
    BERTH_ASSIGN_OR_RETURN(const auto ports, find_device_io(module_, options_.device_io));
    for (size_t m = 0; m < module_.methods.size(); ++m) {
      all_.emplace_back();
      own_ = options_of(options_, module_.methods[m]);
      if (own_.by_cost) add_method(m, ports[m]);
    }
    return Done{};
  }

  CostEstimate solve(const std::vector<IdVector<NodeId, int32_t>*>& target) {
    const PlaceProblem problem = problem_.in_ticks();
    std::vector<int32_t> at = choose_places(problem);
    CostEstimate estimate;
    int32_t best = 0;
    for (int32_t place = 0; place < places_.program(); ++place) {
      estimate.alone.emplace_back(places_.name(place), problem_.seconds_of(all_at(problem, place)));
      if (estimate.alone[place].second < estimate.alone[best].second) best = place;
    }
    const bool gains = problem_.seconds_of(at) < (1 - kLeastGain) * estimate.alone[best].second;
    if (!gains) at = all_at(problem, best);
    estimate.seconds = problem_.seconds_of(at);
    for (size_t m = 0; m < all_.size(); ++m) estimate.methods.push_back(tell(m, at, target[m]));
    return estimate;
  }

 private:
  /// What is kept of a method.
  struct MethodModel {
    const Method* method = nullptr;    // null: not placed by cost
    std::vector<int32_t> place;        // of each of its targets
    IdVector<NodeId, int32_t> item;    // -1: none
    IdVector<ValueId, int32_t> maker;  // -1: a constant
    IdVector<ValueId, double> turns;   // of its maker
    IdVector<ValueId, std::vector<int32_t>> readers;
    IdVector<ValueId, int32_t> flow;  // -1: none
  };

  int32_t add_item(std::vector<double> seconds) {
    problem_.items.push_back(std::move(seconds));
    return static_cast<int32_t>(problem_.items.size()) - 1;
  }

  std::vector<double> nowhere() const { return std::vector<double>(places_.count(), TimedProblem::kCannot); }

  int32_t fixed(int32_t place) {
    std::vector<double> seconds = nowhere();
    seconds[place] = 0;
    return add_item(std::move(seconds));
  }

  int32_t home_of(Device device) { return device.is_cpu() ? program_ : fixed(places_.on(device)); }

  void add_method(size_t m, const std::map<ValueId, Device>& ports) {
    const Method& method = module_.methods[m];
    MethodModel& now = all_.back();
    now.method = method_ = &method;
    now_ = &now;
    taken_ = &takers_[m];
    for (const targets::Target& target : own_.targets) now.place.push_back(places_.of(target.name));
    now.item.assign(method.nodes.size(), -1);
    now.maker.assign(method.values.size(), -1);
    now.turns.assign(method.values.size(), 1);
    now.readers.assign(method.values.size(), {});
    now.flow.assign(method.values.size(), -1);
    const auto home = [&](ValueId value) {
      const auto said = ports.find(value);
      const ir::TensorType* type = method.value(value).tensor();
      return home_of(said != ports.end() ? said->second : type == nullptr ? Device() : type->device);
    };
    for (const ValueId input : method.body.inputs) now.maker[input] = home(input);
    add_graph(method.body, 1);
    for (const Argument& output : method.body.outputs) {
      ir::for_each_value(output, [&](ValueId value) { read(value, home(value)); });
    }
    uses_ = ir::count_uses(method);
    for (const ValueId value : method.values.ids()) add_flow(value);
    fuse(method.body, 1);
  }

  void read(ValueId value, int32_t item) { now_->readers[value].push_back(item); }

  void made(ValueId value, int32_t item, double turns) {
    now_->maker[value] = item;
    now_->turns[value] = turns;
  }

  void add_graph(const Graph& graph, double turns) {
    for (const NodeId id : graph.nodes) {
      const Node& node = method_->node(id);
      const int32_t item = item_of(id, node, turns);
      if (!node.is(OpId::delegate)) {
        for (const Graph& region : node.regions) add_region(region, turns * turns_of(module_, node));
      }
      for (const Argument& argument : node.args) {
        ir::for_each_value(argument, [&](ValueId value) { read(value, item); });
      }
      for (const ValueId result : node.results) made(result, item, turns);
    }
  }

  // What comes into a branch or a loop, and what it gives, is on the host.
  void add_region(const Graph& region, double turns) {
    for (const ValueId input : region.inputs) made(input, program_, turns);
    add_graph(region, turns);
    for (const Argument& output : region.outputs) {
      ir::for_each_value(output, [&](ValueId value) { read(value, program_); });
    }
  }

  int32_t item_of(NodeId id, const Node& node, double turns) {
    if (node.is(OpId::state_read) || node.is(OpId::state_write)) return state(node.state);
    if (node.is(OpId::delegate)) {
      const auto device = ir::delegate_device(module_.delegates[node.delegate]);
      return home_of(device.ok() ? *device : Device());
    }
    if (!node.regions.empty()) return program_;
    const Work work = work_at(module_, *method_, node);
    std::vector<double> seconds = nowhere();
    for (const int32_t target : (*taken_)[id])
      seconds[now_->place[target]] = turns * seconds_at(now_->place[target], work);
    if ((*taken_)[id].empty()) seconds[places_.program()] = turns * seconds_at(places_.program(), work);
    return now_->item[id] = add_item(std::move(seconds));
  }

  // What moves no bytes takes no time.
  double seconds_at(size_t place, const Work& work) const {
    return work.bytes == 0 ? 0 : seconds_of(work, places_.costs(place));
  }

  // One for all methods: anywhere but in the program, where no node is by choice.
  int32_t state(ir::StateId id) {
    if (states_[id] >= 0) return states_[id];
    const Device device = module_.states[id].type.device;
    if (!device.is_cpu()) return states_[id] = home_of(device);
    std::vector<double> seconds(places_.count(), 0);
    if (places_.has_host_target()) seconds[places_.program()] = TimedProblem::kCannot;
    return states_[id] = add_item(std::move(seconds));
  }

  void add_flow(ValueId value) {
    const int32_t maker = now_->maker[value];
    if (maker < 0 || now_->readers[value].empty()) return;
    const double bytes = bytes_of(module_, *method_, value);
    TimedProblem::Flow flow{maker, now_->readers[value], {}};
    for (size_t from = 0; from < places_.count(); ++from) {
      for (size_t to = 0; to < places_.count(); ++to) {
        flow.seconds.push_back(now_->turns[value] * places_.crossing(from, to, bytes));
      }
    }
    now_->flow[value] = static_cast<int32_t>(problem_.flows.size());
    problem_.flows.push_back(std::move(flow));
  }

  void fuse(const Graph& graph, double turns) {
    std::map<ValueId, NodeId> made_here;
    for (const NodeId id : graph.nodes) {
      const Node& node = method_->node(id);
      if (node.is(OpId::delegate)) continue;
      for (const Graph& region : node.regions) fuse(region, turns * turns_of(module_, node));
      if (is_elementwise(node) && now_->item[id] >= 0) fuse(id, node, made_here, turns);
      for (const ValueId result : node.results) made_here[result] = id;
    }
  }

  // The argument that is made last is the one whose maker it is fused into.
  void fuse(NodeId id, const Node& node, const std::map<ValueId, NodeId>& made_here, double turns) {
    ValueId last;
    double beside = 0;
    for (const Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ValueId value) {
        beside += bytes_of(module_, *method_, value);
        const auto made = made_here.find(value);
        if (made == made_here.end() || uses_[value] != 1 || !may_have_more(made->second)) return;
        if (!last.valid() || made_here.at(last) < made->second) last = value;
      });
    }
    if (!last.valid()) return;
    beside -= bytes_of(module_, *method_, last);
    const int32_t item = now_->item[id];
    TimedProblem::Flow saved{
        now_->item[made_here.at(last)], {item}, std::vector<double>(places_.count() * places_.count(), 0)};
    for (size_t t = 0; t < own_.targets.size(); ++t) {
      const size_t place = now_->place[t];
      double& alone = problem_.items[item][place];
      if (!own_.targets[t].fuses || alone < 0) continue;
      const double fused = turns * seconds_of_work({WorkKind::kElementwise, 0, beside}, places_.costs(place));
      const double saving = std::max(0.0, alone - fused);
      alone -= saving;
      for (size_t from = 0; from < places_.count(); ++from) {
        if (from != place) saved.seconds[from * places_.count() + place] = saving;
      }
    }
    problem_.flows.push_back(std::move(saved));
  }

  bool may_have_more(NodeId id) const {
    if (now_->item[id] < 0) return false;
    const Node& node = method_->node(id);
    const WorkKind kind = work_at(module_, *method_, node).kind;
    return is_elementwise(node) || kind == WorkKind::kProduct || kind == WorkKind::kConvolution ||
           kind == WorkKind::kDepthwise;
  }

  // Sets the targets of a method's nodes, and says what they take.
  MethodEstimate tell(size_t m, const std::vector<int32_t>& at, IdVector<NodeId, int32_t>* target) const {
    const MethodModel& method = all_[m];
    MethodEstimate estimate;
    if (method.method == nullptr) return estimate;
    estimate.node.assign(method.item.size(), {});
    for (const NodeId id : method.item.ids()) {
      const int32_t item = method.item[id];
      if (item < 0) continue;
      for (size_t t = 0; t < method.place.size(); ++t) {
        estimate.node[id].push_back(problem_.items[item][method.place[t]]);
        if (at[item] == method.place[t]) (*target)[id] = static_cast<int32_t>(t);
      }
    }
    estimate.enters.assign(method.flow.size(), {});
    estimate.leaves.assign(method.flow.size(), 0);
    for (const ValueId value : method.flow.ids()) {
      if (method.flow[value] < 0) continue;
      const std::vector<double> seconds = problem_.taken_to(problem_.flows[method.flow[value]], at);
      for (const int32_t place : method.place) estimate.enters[value].push_back(seconds[place]);
      for (const double one : seconds) estimate.leaves[value] += one;
    }
    return estimate;
  }

  const Module& module_;
  const Options& options_;
  const std::vector<Takers>& takers_;
  CostPlaces places_;
  IdVector<ir::StateId, int32_t> states_;  // items
  int32_t program_ = -1;                   // the item of what the program has on the host
  TimedProblem problem_;
  std::vector<MethodModel> all_;
  // Of the method that is being added.
  Options own_;
  const Method* method_ = nullptr;
  MethodModel* now_ = nullptr;
  const Takers* taken_ = nullptr;
  IdVector<ValueId, int> uses_;
};

}  // namespace

Expected<CostEstimate> choose_by_cost(const Module& module, const Options& options, const std::vector<Takers>& takers,
                                      std::vector<IdVector<NodeId, int32_t>*> target) {
  CostModel model(module, options, takers);
  BERTH_TRY(model.add_methods());
  return model.solve(target);
}

}  // namespace berth::placement
