#include "compiler/fuse/fuse_lstm.h"

#include "compiler/fuse/lstm_steps.h"
#include "compiler/fuse/replacements.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Graph;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

class RegionLstm {
 public:
  /// `gates`: steps whose products are other operators' become one without them.
  RegionLstm(ir::Module& module, ir::Method& method, const passes::Options& options, Graph& graph, bool gates)
      : method_(method),
        graph_(graph),
        build_(module, method, graph),
        context_(module, method, options),
        gates_(gates) {}

  Expected<bool> run() {
    const std::vector<NodeId> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : old) {
      replaced_.apply(&method_.node(id).args);
      bool done = false;
      if (method_.node(id).is(OpId::mul_out)) {
        BERTH_ASSIGN_OR_RETURN(done, step(id));
        if (!done && gates_) {
          BERTH_ASSIGN_OR_RETURN(done, step_of_gates(id));
        }
      }
      if (!done) graph_.nodes.push_back(id);
    }
    replaced_.apply(&graph_.outputs);
    return changed_;
  }

 private:
  Expected<bool> step(NodeId id) {
    const auto found = match_lstm_step(context_, method_.node(id));
    if (!found) return false;
    const LstmStep& step = *found;
    BERTH_ASSIGN_OR_RETURN(const ValueId input, operands_.gates_in_order(step));
    context_.remark(method_.node(id), input.valid() ? Reason::kFused : Reason::kOrder, "berth::lstm_cell");
    if (!input.valid()) return false;
    const std::string source = method_.node(id).source;
    const ValueId weight = operands_.columns_in_order(step.weight, step.order);
    const std::vector<Dim> rows = method_.tensor(step.hidden).shape;
    const std::vector<Dim> wide = {rows[0], method_.tensor(weight).shape[1]};
    BERTH_ASSIGN_OR_RETURN(const ValueId gates, with_shape(context_, build_, input, wide, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId hidden, state(step.hidden, rows, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId cell, state(step.cell, rows, source));
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<ValueId> made,
        build_.create(OpId::fused_lstm_cell_out, {gates, hidden, cell, weight, std::string()}, source));
    return replace(id, step.new_cell, made);
  }

  // What a step before gave, if `value` shows it in another shape: join_lstm_steps looks for that.
  Expected<ValueId> state(ValueId value, const std::vector<Dim>& rows, const std::string& source) {
    const ValueId base = behind_views(context_, value);
    if (context_.type(base).shape == rows && is_plain(context_, base)) return base;
    return with_shape(context_, build_, value, rows, source);
  }

  Expected<bool> step_of_gates(NodeId id) {
    const auto found = match_lstm_gates(context_, method_.node(id));
    if (!found) return false;
    const LstmStep& step = *found;
    context_.remark(method_.node(id), Reason::kFused, "berth::lstm_gates");
    const std::string source = method_.node(id).source;
    const std::vector<Dim>& all = method_.tensor(step.input).shape;
    const std::vector<Dim> wide = {Dim(ir::max_numel(method_.tensor(step.input), {}) / all.back().value), all.back()};
    const std::vector<Dim> rows = {wide[0], Dim(wide[1].value / 4)};
    BERTH_ASSIGN_OR_RETURN(const ValueId gates, with_shape(context_, build_, step.input, wide, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId cell, with_shape(context_, build_, step.cell, rows, source));
    const std::vector<int64_t> order(step.order.begin(), step.order.end());
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                           build_.create(OpId::fused_lstm_gates_out, {gates, cell, ir::dims(order)}, source));
    return replace(id, step.new_cell, made);
  }

  // `made`: the hidden state, which `id` gives, and the cell. What stands between the sum of the new cell and here goes
  // on reading that.
  Expected<bool> replace(NodeId id, ValueId new_cell, const std::vector<ValueId>& made) {
    const std::string source = method_.node(id).source;
    const ValueId old[] = {method_.node(id).results[0], new_cell};
    for (size_t i = 0; i < 2; ++i) {
      // The model may have more dimensions, of one place each.
      const std::vector<Dim> shape = method_.tensor(old[i]).shape;
      BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context_, build_, made[i], shape, source));
      replaced_.add(old[i], result);
    }
    changed_ = true;
    return true;
  }

  ir::Method& method_;
  Graph& graph_;
  ir::Builder build_;
  Context context_;
  LstmOperands operands_{context_, build_};
  Replacements replaced_;
  bool gates_;
  bool changed_ = false;
};

}  // namespace

Expected<passes::Changed> fuse_lstm(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, Graph& region) {
    if (!target.fuses) return Expected<bool>(false);
    return RegionLstm(module, method, options, region, takes_bytes(target)).run();
  });
}

}  // namespace berth::fuse
