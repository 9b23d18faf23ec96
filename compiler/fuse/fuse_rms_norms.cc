#include "compiler/fuse/fuse_rms_norms.h"

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

namespace rms = arg::fused_rms_norm_out;

Expected<passes::Action> make_rms_norm(Context& context, ir::Builder& build, NodeId id, std::vector<Argument> args,
                                       bool of_images) {
  return replace_by_norm(context, build, id, OpId::fused_rms_norm_out, std::move(args), of_images, "an RMS norm");
}

// Which dimension of x `scale` has the root of, x * `scale` being its norm, or x / `scale`; -1 when it is not that.
int64_t dim_of_root(const Context& context, ValueId x, ValueId scale, bool inverse, double* eps) {
  if (!scale.valid()) return -1;
  const int64_t dim = dim_of_norm(context, x, context.type(scale).shape);
  if (dim < 0) return -1;
  const ValueId mean = under_root(context, scale, inverse, eps);
  if (!mean.valid() || context.type(mean).shape != context.type(scale).shape) return -1;
  int readers = 0;
  return is_square(context, argument_of_mean(context, under_view(context, mean), dim), x, &readers) ? dim : -1;
}

// x times the inverse of the root, or divided by it.
Expected<passes::Action> divide_rows(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const bool inverse = node.is(OpId::mul_out);
  for (const size_t k : {size_t{0}, size_t{1}}) {
    if (k == 1 && !inverse) break;
    const ValueId x = value_argument(node, k);
    double eps = 0;
    const int64_t dim = dim_of_root(context, x, value_argument(node, 1 - k), inverse, &eps);
    const ir::TensorType& type = context.type(node.results[0]);
    if (dim < 0 || type.dtype != DType::kF32) continue;
    const bool of_images = dim + 1 != type.rank();
    const std::string source = node.source;
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of_norm(context, build, x, dim, source));
    return make_rms_norm(context, build, id, {rows, ir::None{}, eps}, of_images);
  }
  return passes::Action::keep();
}

// A factor behind a norm that has none yet.
Expected<passes::Action> take_in_weight(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ValueId before = value_argument(node, k);
    const MadeNorm found = made_norm(context, before, OpId::fused_rms_norm_out);
    if (found.node == nullptr || !ir::is_none(found.node->args[rms::weight])) continue;
    const std::vector<Dim> shape = context.type(before).shape;
    if (shape != context.type(node.results[0]).shape) continue;
    std::vector<Argument> args = found.node->args;
    const int64_t dim = found.of_images ? 1 : static_cast<int64_t>(shape.size()) - 1;
    const ValueId weight = along_dim(context, build, node.args[1 - k], shape, dim);
    if (!weight.valid()) continue;
    args[rms::weight] = weight;
    return make_rms_norm(context, build, id, std::move(args), found.of_images);
  }
  return passes::Action::keep();
}

Expected<passes::Action> fuse_rms_norm(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (!node.is(OpId::mul_out) && !node.is(OpId::div_out)) return passes::Action::keep();
  BERTH_ASSIGN_OR_RETURN(passes::Action action, divide_rows(context, build, id));
  if (action.remove || context.node(id).is(OpId::div_out)) return action;
  return take_in_weight(context, build, id);
}

}  // namespace

Expected<passes::Changed> fuse_rms_norms(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] { return Visit(fuse_rms_norm); });
}

}  // namespace berth::fuse
