#include "compiler/fuse/fuse_lstm_loops.h"

#include "compiler/fuse/lstm_steps.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

struct LstmLoop {
  LstmStep step;                // its input is all rows
  size_t hidden = 0, cell = 1;  // which of the carried values
  bool reverse = false;
};

// The body as a step whose hidden state is the carried value `hidden`.
std::optional<LstmLoop> match_body(const Context& context, const Node& loop, size_t hidden) {
  const ir::Graph& body = loop.regions[0];
  const size_t cell = 1 - hidden;
  const ValueId* result = std::get_if<ValueId>(&body.outputs[hidden]);
  const Node* last = result == nullptr ? nullptr : context.maker(*result);
  if (last == nullptr || !last->is(OpId::mul_out)) return std::nullopt;
  const auto step = match_lstm_step(context, *last);
  if (!step || step->hidden != body.inputs[hidden] || step->cell != body.inputs[cell]) return std::nullopt;
  if (body.outputs[cell] != Argument(step->new_cell)) return std::nullopt;
  for (size_t i = 2; i < body.outputs.size(); ++i) {
    if (body.outputs[i] != body.outputs[hidden]) return std::nullopt;
  }
  return LstmLoop{*step, hidden, cell, false};
}

std::optional<LstmLoop> match_loop(const Context& context, const Node& loop) {
  if (carried_of(loop).size() != 2 || has_effects(context, loop)) return std::nullopt;
  auto found = match_body(context, loop, 0);
  if (!found) found = match_body(context, loop, 1);
  const auto scanned = found ? scanned_rows(context, loop, found->step.input) : std::nullopt;
  if (!scanned) return std::nullopt;
  found->step.input = scanned->rows;
  found->reverse = scanned->reverse;
  return found;
}

class LoopFuser {
 public:
  LoopFuser(Context& context, ir::Builder& build, const Node& loop, const LstmLoop& found)
      : context_(context),
        build_(build),
        operands_(context, build),
        found_(found),
        source_(loop.source),
        length_(std::get<Dim>(loop.args[arg::scan::length])),
        results_(loop.results) {}

  // Invalid where the gates cannot be put in order.
  Expected<std::vector<ValueId>> run(const ValueList& carried) {
    const LstmStep& step = found_.step;
    const ValueId dense = operands_.columns_in_order(step.weight, step.order);
    const std::vector<Dim> sizes = context_.type(dense).shape;
    const Dim batch = context_.type(step.hidden).shape[0];
    BERTH_ASSIGN_OR_RETURN(ValueId gates, operands_.gates_in_order(step));
    if (!gates.valid()) return std::vector<ValueId>();
    BERTH_ASSIGN_OR_RETURN(gates, shaped(gates, {length_, batch, sizes[1]}));
    BERTH_ASSIGN_OR_RETURN(const ValueId hidden, shaped(carried[found_.hidden], {batch, sizes[0]}));
    BERTH_ASSIGN_OR_RETURN(const ValueId cell, shaped(carried[found_.cell], {batch, sizes[0]}));
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made,
                           build_.create(OpId::fused_lstm_out,
                                         {gates, hidden, cell, operands_.in_blocks(dense), found_.reverse}, source_));
    const Dim last = found_.reverse ? Dim(0) : Dim(-1);
    BERTH_ASSIGN_OR_RETURN(const ValueId state,
                           build_.one(OpId::select_copy_int_out, {made[0], Dim(0), last}, source_));
    ValueId all = made[0];
    if (found_.reverse) {
      BERTH_ASSIGN_OR_RETURN(all, build_.one(OpId::flip_out, {all, ir::dims({0})}, source_));
    }
    std::vector<ValueId> results(results_.size(), all);
    results[found_.hidden] = state;
    results[found_.cell] = made[1];
    for (size_t i = 0; i < results.size(); ++i) {
      BERTH_ASSIGN_OR_RETURN(results[i], shaped(results[i], context_.type(results_[i]).shape));
    }
    return results;
  }

 private:
  Expected<ValueId> shaped(ValueId value, const std::vector<Dim>& shape) {
    return with_shape(context_, build_, value, shape, source_);
  }

  Context& context_;
  ir::Builder& build_;
  LstmOperands operands_;
  const LstmLoop found_;
  const std::string source_;
  const Dim length_;
  const std::vector<ValueId> results_;
};

Expected<passes::Action> fuse_lstm_loop(Context& context, ir::Builder& build, NodeId id) {
  const Node& loop = context.node(id);
  const auto found = match_loop(context, loop);
  if (!found) return passes::Action::keep();
  if (!has_steps(context, loop, found->step.input)) {
    context.remark(loop, Reason::kShape, "berth::lstm");
    return passes::Action::keep();
  }
  const ValueList carried = carried_of(loop);
  BERTH_ASSIGN_OR_RETURN(std::vector<ValueId> results, LoopFuser(context, build, loop, *found).run(carried));
  context.remark(context.node(id), results.empty() ? Reason::kOrder : Reason::kFused, "berth::lstm");
  return results.empty() ? passes::Action::keep() : passes::Action::replace(std::move(results));
}

}  // namespace

Expected<passes::Changed> fuse_lstm_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options) {
  return rewrite_loops(module, fits, options, fuse_lstm_loop);
}

}  // namespace berth::fuse
