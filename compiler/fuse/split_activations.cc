#include "compiler/fuse/split_activations.h"

#include <algorithm>

#include "compiler/fuse/fuse_activations.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// The arguments with `part` where `whole` was, alone or as the only one of a list; false where it is not there.
bool put_part(ValueId whole, ValueId part, std::vector<Argument>* args) {
  Argument& first = args->front();
  if (first == Argument(whole)) {
    first = part;
  } else if (first == Argument(ir::ValueList{whole})) {
    first = ir::ValueList{part};
  } else {
    return false;
  }
  return true;
}

// Whether `value` is a convolution that an activation can end.
bool is_open_convolution(const Context& context, ValueId value) {
  const Node* const node = context.maker(value);
  return node != nullptr && node->is(OpId::convolution_out) && context.uses(value) == 1;
}

// The concatenation of convolutions that `activation` alone reads; null where it reads something else.
const Node* join_read_by(const Context& context, const ActivationOf& activation) {
  const Node* const join = context.maker(activation.input);
  if (join == nullptr || !join->is(OpId::cat_out) || context.uses(activation.input) != 1) return nullptr;
  const auto& parts = std::get<ir::ValueList>(join->args[arg::cat_out::tensors]);
  const bool open =
      std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return is_open_convolution(context, part); });
  return open ? join : nullptr;
}

Expected<passes::Action> split_activation(Context& context, ir::Builder& build, NodeId id) {
  const Node node = context.node(id);
  const auto activation = activation_of(context, node);
  const Node* const join = activation ? join_read_by(context, *activation) : nullptr;
  std::vector<Argument> args = node.args;
  // A limit may be that of a node before.
  if (join == nullptr || !put_part(activation->input, activation->input, &args)) return passes::Action::keep();
  ir::ValueList parts = std::get<ir::ValueList>(join->args[arg::cat_out::tensors]);
  const Argument dim = join->args[arg::cat_out::dim];
  const std::string join_source = join->source;
  context.remark(node, Reason::kFused, "the parts that are joined");
  for (ValueId& part : parts) {
    args = node.args;
    put_part(activation->input, part, &args);
    BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> made, build.create(*node.op, args, node.source));
    part = made[0];
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId joined, build.one(OpId::cat_out, {std::move(parts), dim}, join_source));
  return context.replace(id, joined);
}

}  // namespace

Expected<passes::Changed> split_activations(ir::Module& module, const Targets& targets,
                                            const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(split_activation); });
}

}  // namespace berth::fuse
