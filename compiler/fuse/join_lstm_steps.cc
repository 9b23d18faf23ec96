#include "compiler/fuse/join_lstm_steps.h"

#include <algorithm>
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
    const int64_t step = elements_of_gates(all[0]);
    const auto first = dense_run(context_, value_argument(method_.node(all[0]), 0));
    if (!first || first->offset % step != 0) return;
    StepChain chain;
    chain.gates.base = first->base;
    chain.steps = {all[0]};
    int64_t before = first->offset;
    for (size_t i = 1; i < all.size(); ++i) {
      const auto run = dense_run(context_, value_argument(method_.node(all[i]), 0));
      if (!run || run->base != first->base || elements_of_gates(all[i]) != step) break;
      const int64_t distance = run->offset - before;
      if (i == 1) chain.gates.reverse = distance < 0;
      if (distance != (chain.gates.reverse ? -step : step)) break;
      chain.steps.push_back(all[i]);
      before = run->offset;
    }
    const int64_t elements = ir::max_numel(context_.type(first->base), {});
    const bool whole = elements % step == 0;
    const bool joined = whole && chain.steps.size() > 1;
    context_.remark(method_.node(all[0]), joined ? Reason::kFused : Reason::kOrder, "berth::lstm");
    if (!joined) return;
    chain.gates.all = elements / step;
    chain.gates.first = std::min(first->offset, before) / step;
    chain.gates.steps = static_cast<int64_t>(chain.steps.size());
    chain.gates = turned_back(context_, chain.gates);
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
    const auto [base, all, first, steps, reverse] = chain.gates;
    BERTH_ASSIGN_OR_RETURN(ValueId gates,
                           with_shape(context_, build_, replaced_.now(base), {Dim(all), state[0], columns}, source));
    if (steps != all) {
      BERTH_ASSIGN_OR_RETURN(gates, build_.one(OpId::slice_copy_Tensor_out,
                                               {gates, Dim(0), Dim(first), Dim(first + steps), Dim(1)}, source));
    }
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
