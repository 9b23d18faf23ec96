#include "compiler/fuse/expand_batch_norms.h"

#include "compiler/passes/affine.h"

namespace berth::fuse {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// One number a channel, stretched over the places of an image of `rank` dimensions.
ValueId per_channel(ir::Builder& build, const std::vector<double>& numbers, int rank, const std::string& name) {
  std::vector<int64_t> sizes = {static_cast<int64_t>(numbers.size())};
  sizes.resize(rank - 1, 1);
  return float_constant(build, sizes, std::vector<float>(numbers.begin(), numbers.end()), name);
}

Expected<passes::Action> fuse_batch_norm(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (!node.is(OpId::native_batch_norm_legit_no_training_out)) return passes::Action::keep();
  const ir::TensorType& type = context.type(node.results[0]);
  if (type.dtype != DType::kF32 || type.rank() < 2 || !type.shape[1].is_constant()) {
    context.remark(node, type.dtype != DType::kF32 ? Reason::kDType : Reason::kShape);
    return passes::Action::keep();
  }
  if (context.uses(node.results[1]) != 0 || context.uses(node.results[2]) != 0) {
    context.remark(node, Reason::kReadElsewhere);
    return passes::Action::keep();
  }
  passes::Affine affine;
  const passes::AffineReason reason =
      passes::read_affine(context.module(), context.method(), node, 1, type.shape[1].value, &affine);
  if (reason != passes::AffineReason::kAffine) {
    context.remark(node, Reason::kNotConstant);
    return passes::Action::keep();
  }
  context.remark(node, Reason::kFused, "a product and a sum");
  const std::string source = node.source;
  const std::string name = context.method().value(node.results[0]).name;
  const ValueId old = node.results[0];
  const int rank = type.rank();
  const ValueId scale = per_channel(build, affine.scale, rank, name + "_scale");
  const ValueId shift = per_channel(build, affine.shift, rank, name + "_shift");
  BERTH_ASSIGN_OR_RETURN(const ValueId scaled, build.one(OpId::mul_out, {affine.input, scale}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId made, build.one(OpId::add_out, {scaled, shift}, source, name));
  context.replaced(old, made);
  return passes::Action::replace({made, ValueId{}, ValueId{}});
}

}  // namespace

Expected<passes::Changed> expand_batch_norms(ir::Module& module, const Targets& targets,
                                             const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_batch_norm); });
}

}  // namespace berth::fuse
