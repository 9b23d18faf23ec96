#include "compiler/fuse/fuse_layer_norms.h"

#include "compiler/fuse/written_norm.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

namespace norm = arg::native_layer_norm_out;

struct NormMatch {
  ValueId x;
  int64_t dim = -1;
  double eps = 0;
};

// Whether `variance` is that of x over the norm's dimension, and `distance` is x - mean; nothing else reads them.
bool is_variance(const Context& context, ValueId variance, ValueId distance, const NormMatch& match) {
  variance = under_view(context, variance);
  if (const Node* direct = only_maker(context, variance, OpId::var_correction_out)) {
    return context.uses(distance) == 1 && value_argument(*direct, 0) == match.x &&
           only_dim(direct->args[arg::var_correction_out::dim], context.type(match.x).rank()) == match.dim &&
           context.number(direct->args[arg::var_correction_out::correction]) == 0.0;
  }
  int readers = 0;
  return is_square(context, argument_of_mean(context, variance, match.dim), distance, &readers) &&
         context.uses(distance) == readers + 1;
}

// `distance` / sqrt(variance + eps), or times its inverse.
bool read_norm(const Context& context, ValueId distance, ValueId scale, bool inverse, NormMatch* match) {
  const Node* difference = distance.valid() ? context.maker(distance) : nullptr;
  if (difference == nullptr || !difference->is(OpId::sub_out) || !scale.valid()) return false;
  if (context.number(difference->args[arg::sub_out::alpha]) != 1.0) return false;
  match->x = value_argument(*difference, 0);
  const std::vector<Dim>& statistics = context.type(scale).shape;
  match->dim = dim_of_norm(context, match->x, statistics);
  if (match->dim < 0 || context.type(distance).shape != context.type(match->x).shape) return false;
  const ValueId mean = value_argument(*difference, 1);
  if (!mean.valid() || context.type(mean).shape != statistics) return false;
  if (argument_of_mean(context, under_view(context, mean), match->dim) != match->x) return false;
  const ValueId variance = under_root(context, scale, inverse, &match->eps);
  if (!variance.valid() || context.type(variance).shape != statistics) return false;
  return is_variance(context, variance, distance, *match);
}

Expected<passes::Action> make_layer_norm(Context& context, ir::Builder& build, NodeId id, std::vector<Argument> args,
                                         bool of_images) {
  return replace_by_norm(context, build, id, OpId::native_layer_norm_out, std::move(args), of_images, "a layer norm");
}

Expected<passes::Action> normalise_rows(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const bool inverse = node.is(OpId::mul_out);
  NormMatch match;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    if (k == 1 && !inverse) break;
    if (!read_norm(context, value_argument(node, k), value_argument(node, 1 - k), inverse, &match)) continue;
    const ir::TensorType& type = context.type(node.results[0]);
    if (context.type(match.x).shape != type.shape || type.dtype != DType::kF32) continue;
    const Dim size = type.shape[match.dim];
    const bool of_images = match.dim + 1 != type.rank();
    const std::string source = node.source;
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of_norm(context, build, match.x, match.dim, source));
    return make_layer_norm(context, build, id, {rows, ir::DimList{size}, ir::None{}, ir::None{}, match.eps}, of_images);
  }
  return passes::Action::keep();
}

// A factor or a number to add behind a norm of rows that has none yet.
Expected<passes::Action> take_in_columns(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const bool product = node.is(OpId::mul_out);
  if (!product && context.number(node.args[arg::add_out::alpha]) != 1.0) return passes::Action::keep();
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ValueId before = value_argument(node, k);
    const MadeNorm found = made_norm(context, before, OpId::native_layer_norm_out);
    if (found.node == nullptr || !ir::is_none(found.node->args[norm::bias])) continue;
    if (product && !ir::is_none(found.node->args[norm::weight])) continue;
    const auto& sizes = std::get<ir::DimList>(found.node->args[norm::normalized_shape]);
    if (sizes.size() != 1 || !sizes[0].is_constant()) continue;
    const std::vector<Dim> shape = context.type(before).shape;
    if (shape != context.type(node.results[0]).shape) continue;
    std::vector<Argument> args = found.node->args;
    const int64_t dim = found.of_images ? 1 : static_cast<int64_t>(shape.size()) - 1;
    const ValueId numbers = along_dim(context, build, node.args[1 - k], shape, dim);
    if (!numbers.valid()) continue;
    args[product ? size_t{norm::weight} : size_t{norm::bias}] = numbers;
    return make_layer_norm(context, build, id, std::move(args), found.of_images);
  }
  return passes::Action::keep();
}

Expected<passes::Action> fuse_layer_norm(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (node.is(OpId::div_out)) return normalise_rows(context, build, id);
  if (node.is(OpId::add_out)) return take_in_columns(context, build, id);
  if (!node.is(OpId::mul_out)) return passes::Action::keep();
  BERTH_ASSIGN_OR_RETURN(passes::Action action, normalise_rows(context, build, id));
  if (action.remove) return action;
  return take_in_columns(context, build, id);
}

}  // namespace

Expected<passes::Changed> fuse_layer_norms(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_layer_norm); });
}

}  // namespace berth::fuse
