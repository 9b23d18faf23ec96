#include "compiler/fuse/join_lstm_steps.h"

#include <map>

#include "compiler/fuse/lstm_steps.h"
#include "compiler/fuse/replacements.h"
#include "compiler/fuse/step_runs.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Steps of one LSTM that follow each other.
struct StepChain {
  std::vector<NodeId> steps;
  StepRange gates;
};

class RegionSteps {
 public:
  RegionSteps(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    find_chains(old);
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      const auto chain = of_.find(id.index);
      if (chain == of_.end()) {
        BERTH_ASSIGN_OR_RETURN(const bool whole, joins_all(id));
        if (!whole) graph_.nodes.push_back(id);
        continue;
      }
      const StepChain& steps = chains_[chain->second];
      if (steps.steps.front() == id) BERTH_TRY(join(steps));
    }
    replaced_.apply(&graph_.outputs);
    return !of_.empty();
  }

 private:
  int64_t elements_of_gates(NodeId id) const {
    return ir::max_numel(context_.type(value_argument(method_.node(id), 0)), {});
  }

  bool is_step(NodeId id) const {
    const Node& node = method_.node(id);
    if (!node.is(OpId::fused_lstm_cell_out) ||
        !std::get<std::string>(node.args[arg::fused_lstm_cell_out::packing]).empty())
      return false;
    const ir::Constant* weight = context_.constant(node.args[arg::fused_lstm_cell_out::weight]);
    return weight != nullptr && weight->type.is_contiguous() && is_plain(context_, value_argument(node, 0)) &&
           is_plain(context_, node.results[0]) && elements_of_gates(id) > 0;
  }

  // Whether `next` goes on where `id` ends, and the cell has no other reader.
  bool follows(NodeId id, NodeId next) const {
    const Node& a = method_.node(id);
    const Node& b = method_.node(next);
    return value_argument(b, 1) == a.results[0] && value_argument(b, 2) == a.results[1] &&
           value_argument(b, 3) == value_argument(a, 3) && context_.uses(a.results[1]) == 1;
  }

  void find_chains(const std::vector<NodeId>& nodes) {
    std::map<ValueId, NodeId> reader;  // of a hidden state: the step that goes on
    std::vector<NodeId> steps;
    for (NodeId id : nodes) {
      if (!is_step(id)) continue;
      steps.push_back(id);
      reader[value_argument(method_.node(id), 1)] = id;
    }
    for (NodeId id : steps) {
      if (of_.count(id.index) != 0) continue;
      std::vector<NodeId> all = {id};
      for (auto next = reader.find(method_.node(id).results[0]);
           next != reader.end() && of_.count(next->second.index) == 0 && follows(all.back(), next->second);
           next = reader.find(method_.node(all.back()).results[0])) {
        all.push_back(next->second);
      }
      keep(all);
    }
  }

  // The longest run from the first step on whose gates lie one after another.
  void keep(const std::vector<NodeId>& all) {
    std::vector<ValueId> inputs;
    for (NodeId id : all) inputs.push_back(value_argument(method_.node(id), 0));
    const StepRange gates = steps_in_order(context_, inputs);
    const bool joined = gates.steps > 1;
    context_.remark(method_.node(all[0]), joined ? Reason::kFused : Reason::kOrder, "berth::lstm");
    if (!joined) return;
    StepChain chain = {{all.begin(), all.begin() + gates.steps}, gates};
    for (NodeId id : chain.steps) of_[id.index] = chains_.size();
    chains_.push_back(std::move(chain));
  }

  Status join(const StepChain& chain) {
    const NodeId front = chain.steps.front();
    const Node& node = method_.node(front);
    const std::string source = node.source;
    const ValueId hidden = value_argument(node, 1);
    const ValueId cell = value_argument(node, 2);
    const std::vector<Dim> state = context_.type(hidden).shape;
    const Dim columns = context_.type(value_argument(node, 0)).shape.back();
    const ValueId weight = operands_.in_blocks(value_argument(node, 3));
    const int64_t steps = chain.gates.steps;
    const bool reverse = chain.gates.reverse;
    BERTH_ASSIGN_OR_RETURN(const ValueId gates, gates_of_steps(context_, build_, replaced_.now(chain.gates.base),
                                                               chain.gates, {state[0], columns}, source));
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                           build_.create(OpId::fused_lstm_out, {gates, hidden, cell, weight, reverse}, source));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t place = reverse ? steps - 1 - i : i;
      const ValueId old = method_.node(chain.steps[i]).results[0];
      BERTH_ASSIGN_OR_RETURN(const ValueId state_of_step,
                             build_.one(OpId::select_copy_int_out, {made[0], Dim(0), Dim(place)}, source));
      replaced_.add(old, state_of_step);
    }
    replaced_.add(method_.node(chain.steps.back()).results[1], made[1]);
    return Done{};
  }

  // Whether `id` only joins all that another value holds, in order: that value then stands for it.
  Expected<bool> joins_all(NodeId id) {
    const Node& node = method_.node(id);
    const ValueId base = joined_value(context_, node);
    const Node* maker = base.valid() ? context_.maker(base) : nullptr;
    if (maker == nullptr || !maker->is(OpId::fused_lstm_out)) return false;
    const std::vector<Dim> shape = context_.type(node.results[0]).shape;
    const std::string source = node.source;
    const ValueId old = node.results[0];
    BERTH_ASSIGN_OR_RETURN(const ValueId all, with_shape(context_, build_, base, shape, source));
    replaced_.add(old, all);
    return true;
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  LstmOperands operands_{context_, build_};
  std::vector<StepChain> chains_;
  std::map<int32_t, size_t> of_;  // the chain of each step, by its node's index
  Replacements replaced_;
};

}  // namespace

Expected<passes::Changed> join_lstm_steps(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    return target.fuses ? RegionSteps(module, method, options, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
