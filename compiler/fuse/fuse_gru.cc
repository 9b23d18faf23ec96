#include "compiler/fuse/fuse_gru.h"

#include <map>

#include "compiler/fuse/gru_steps.h"
#include "compiler/fuse/replacements.h"
#include "compiler/fuse/step_runs.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Steps of one layer that follow each other.
struct GruChain {
  std::vector<GruStep> steps;
  StepRange gates;
};

class RegionGru {
 public:
  RegionGru(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph)
      : method_(method), graph_(graph), build_(module, method, graph), context_(module, method, options) {}

  Expected<bool> run() {
    find_steps();
    find_chains();
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      const Node& node = method_.node(id);
      const auto chain = node.results.empty() ? begins_.end() : begins_.find(node.results[0]);
      if (chain != begins_.end()) BERTH_TRY(write(chains_[chain->second]));
      BERTH_ASSIGN_OR_RETURN(const bool whole, joins_all(id));
      if (!whole) graph_.nodes.push_back(id);
    }
    replaced_.apply(&graph_.outputs);
    return !chains_.empty();
  }

 private:
  int64_t elements(ValueId value) const { return ir::max_numel(context_.type(value), {}); }

  // All steps of the region, in its order, those before which the state is a constant among them.
  void find_steps() {
    std::map<ValueId, GruStep> behind;  // by the hidden state before
    for (NodeId id : graph_.nodes) {
      const auto step = match_gru_step(context_, context_.node(id));
      if (!step) continue;
      steps_[step->new_hidden] = *step;
      behind.emplace(step->hidden, *step);
    }
    for (const auto& [hidden, step] : behind) {
      const Node* node = context_.maker(hidden);
      if (node == nullptr || steps_.count(hidden) != 0) continue;
      const auto first = match_first_gru_step(context_, *node, step);
      if (first) steps_[hidden] = *first;
    }
  }

  void find_chains() {
    std::map<ValueId, ValueId> next;  // the step that goes on from a hidden state
    for (const auto& [result, step] : steps_) {
      const auto before = steps_.find(step.hidden);
      if (before != steps_.end() && before->second.same_layer(step)) next.emplace(step.hidden, result);
    }
    std::map<ValueId, bool> taken;
    for (NodeId id : graph_.nodes) {
      const Node& node = context_.node(id);
      const auto step = node.results.empty() ? steps_.end() : steps_.find(node.results[0]);
      if (step == steps_.end() || taken[step->first]) continue;
      std::vector<GruStep> all = {step->second};
      for (auto going = next.find(step->first); going != next.end(); going = next.find(going->second)) {
        all.push_back(steps_.at(going->second));
      }
      const GruChain chain = longest_run(all);
      for (const GruStep& one : chain.steps) taken[one.new_hidden] = true;
      begins_[step->first] = chains_.size();
      chains_.push_back(chain);
      context_.remark(node, Reason::kFused, "berth::gru");
    }
  }

  // From the first step on, those whose gates lie one after another.
  GruChain longest_run(const std::vector<GruStep>& all) const {
    std::vector<ValueId> inputs;
    for (const GruStep& step : all) inputs.push_back(step.input);
    StepRange gates = steps_in_order(context_, inputs);
    if (gates.steps == 0) gates = {inputs[0], 1, 0, 1};
    return {{all.begin(), all.begin() + gates.steps}, gates};
  }

  Status write(const GruChain& chain) {
    const GruStep& front = chain.steps.front();
    const std::string source = context_.maker(front.new_hidden)->source;
    const int64_t size = front.size(context_);
    const int64_t rows = elements(front.new_hidden) / size;
    const int64_t steps = chain.gates.steps;
    const bool reverse = chain.gates.reverse;
    BERTH_ASSIGN_OR_RETURN(const ValueId gates, gates_of_steps(context_, build_, replaced_.now(chain.gates.base),
                                                               chain.gates, {Dim(rows), Dim(3 * size)}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId hidden,
                           with_shape(context_, build_, replaced_.now(front.hidden), {Dim(rows), Dim(size)}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId made, weights_.layer(build_, front, gates, hidden, reverse, source));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t place = reverse ? steps - 1 - i : i;
      const ValueId old = chain.steps[i].new_hidden;
      BERTH_ASSIGN_OR_RETURN(ValueId state, build_.one(OpId::select_copy_int_out, {made, Dim(0), Dim(place)}, source));
      // The model may have more dimensions, of one place each.
      const std::vector<Dim> shape = context_.type(old).shape;
      BERTH_ASSIGN_OR_RETURN(state, with_shape(context_, build_, state, shape, source));
      replaced_.add(old, state);
    }
    return Done{};
  }

  // Whether `id` only joins all steps, in order: the layer's result then stands for it.
  Expected<bool> joins_all(NodeId id) {
    const ValueId base = joined_value(context_, method_.node(id));
    const Node* maker = base.valid() ? context_.maker(base) : nullptr;
    if (maker == nullptr || !maker->is(OpId::fused_gru_out)) return false;
    const ValueId old = method_.node(id).results[0];
    const std::string source = method_.node(id).source;
    const std::vector<Dim> shape = context_.type(old).shape;
    BERTH_ASSIGN_OR_RETURN(const ValueId all, with_shape(context_, build_, base, shape, source));
    replaced_.add(old, all);
    return true;
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  GruWeights weights_{context_};
  std::map<ValueId, GruStep> steps_;  // by the hidden state that each gives
  std::vector<GruChain> chains_;
  std::map<ValueId, size_t> begins_;  // the chain whose first step gives a state
  Replacements replaced_;
};

}  // namespace

Expected<passes::Changed> fuse_gru(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, Graph& region) {
    return has_gru(target) ? RegionGru(module, method, options, region).run() : Expected<bool>(false);
  });
}

}  // namespace berth::fuse
