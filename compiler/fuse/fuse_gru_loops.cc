#include "compiler/fuse/fuse_gru_loops.h"

#include <algorithm>

#include "compiler/fuse/gru_steps.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// The body as a step; its input is a row.
std::optional<GruStep> match_body(const Context& context, const Node& loop) {
  const ir::Graph& body = loop.regions[0];
  if (carried_of(loop).size() != 1 || has_effects(context, loop)) return std::nullopt;
  const ValueId* result = std::get_if<ValueId>(&body.outputs[0]);
  const Node* last = result == nullptr ? nullptr : context.maker(*result);
  const auto step = last == nullptr ? std::nullopt : match_gru_step(context, *last);
  if (!step || step->hidden != body.inputs[0]) return std::nullopt;
  const bool gives_state = std::all_of(body.outputs.begin(), body.outputs.end(),
                                       [&](const Argument& output) { return output == body.outputs[0]; });
  return gives_state ? step : std::nullopt;
}

// What stands for each result of the loop.
Expected<std::vector<ValueId>> results_of(Context& context, ir::Builder& build, const Node& loop, const GruStep& step,
                                          const Scanned& scanned) {
  const std::string source = loop.source;
  const std::vector<ValueId> old = loop.results;
  const Dim length = std::get<Dim>(loop.args[arg::scan::length]);
  const Dim size(step.size(context));
  const Dim rows(ir::max_numel(context.type(step.new_hidden), {}) / size.value);
  const ValueId before = carried_of(loop)[0];
  GruWeights weights(context);
  BERTH_ASSIGN_OR_RETURN(const ValueId gates,
                         with_shape(context, build, scanned.rows, {length, rows, Dim(3 * size.value)}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId hidden, with_shape(context, build, before, {rows, size}, source));
  BERTH_ASSIGN_OR_RETURN(ValueId all, weights.layer(build, step, gates, hidden, scanned.reverse, source));
  const Dim last = scanned.reverse ? Dim(0) : Dim(-1);
  BERTH_ASSIGN_OR_RETURN(const ValueId state, build.one(OpId::select_copy_int_out, {all, Dim(0), last}, source));
  if (scanned.reverse) {
    BERTH_ASSIGN_OR_RETURN(all, build.one(OpId::flip_out, {all, ir::dims({0})}, source));
  }
  std::vector<ValueId> results(old.size(), all);
  results[0] = state;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<Dim> shape = context.type(old[i]).shape;
    BERTH_ASSIGN_OR_RETURN(results[i], with_shape(context, build, results[i], shape, source));
  }
  return results;
}

Expected<passes::Action> fuse_gru_loop(Context& context, ir::Builder& build, NodeId id) {
  const Node& loop = context.node(id);
  const auto step = match_body(context, loop);
  const auto scanned = step ? scanned_rows(context, loop, step->input) : std::nullopt;
  if (!scanned) return passes::Action::keep();
  if (!has_steps(context, loop, scanned->rows)) {
    context.remark(loop, Reason::kShape, "berth::gru");
    return passes::Action::keep();
  }
  context.remark(loop, Reason::kFused, "berth::gru");
  BERTH_ASSIGN_OR_RETURN(std::vector<ValueId> results, results_of(context, build, loop, *step, *scanned));
  return passes::Action::replace(std::move(results));
}

}  // namespace

Expected<passes::Changed> fuse_gru_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options) {
  return rewrite_loops(module, fits, options, fuse_gru_loop);
}

}  // namespace berth::fuse
