#include "compiler/fuse/fuse_group_norms.h"

#include "compiler/fuse/strided.h"
#include "compiler/fuse/written_norm.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Arguments of native_group_norm.
enum { kInput, kWeight, kBias, kN, kC, kHxW, kGroup, kEps };

constexpr char kName[] = "a group norm";

// A norm of f32 that makes `argument`, which one node reads, and no other result of which is read.
const Node* norm_of(const Context& context, const Argument& argument) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  if (value == nullptr) return nullptr;
  const MadeNorm made = made_norm(context, *value, OpId::native_group_norm_out);
  return made.of_images ? nullptr : made.node;
}

bool is_identity(const Context& context, const Node& norm) {
  const auto is = [&](size_t k, double number) {
    return ir::is_none(norm.args[k]) || context.number(norm.args[k]) == number;
  };
  return is(kWeight, 1) && is(kBias, 0);
}

// The view behind a norm of rows.
Expected<passes::Action> view(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const Node* norm = norm_of(context, node.args[arg::view_copy_out::self]);
  if (norm == nullptr || !is_identity(context, *norm)) return passes::Action::keep();
  const Node* before = context.maker(*norm, kInput);
  if (before == nullptr || !before->is(OpId::view_copy_out)) return passes::Action::keep();
  const ValueId image = std::get<ValueId>(before->args[arg::view_copy_out::self]);
  const ir::TensorType& type = context.type(image);
  if (!is_plain(context, image) || type.rank() < 3 || type.shape != context.type(node.results[0]).shape) {
    return passes::Action::keep();
  }
  const int64_t channels = type.shape[1].value;
  const int64_t groups = std::get<Dim>(norm->args[kGroup]).value;
  const bool cut_alike = type.shape[0] == std::get<Dim>(norm->args[kN]) && groups > 0 && channels % groups == 0;
  if (!cut_alike) return passes::Action::keep();
  int64_t places = 1;
  for (size_t d = 2; d < type.shape.size(); ++d) places *= type.shape[d].value;
  std::vector<Argument> args = norm->args;
  args[kInput] = image;
  args[kWeight] = ir::None{};
  args[kBias] = ir::None{};
  args[kC] = Dim(channels);
  args[kHxW] = Dim(places);
  return replace_by_norm(context, build, id, OpId::native_group_norm_out, std::move(args), false, kName);
}

// A factor or a number to add behind a norm that has none yet.
Expected<passes::Action> affine(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const bool product = node.is(OpId::mul_out);
  if (!product && node.args[arg::add_out::alpha] != Argument(Dim(1))) return passes::Action::keep();
  for (size_t k = 0; k < 2; ++k) {
    const Node* norm = norm_of(context, node.args[k]);
    if (norm == nullptr || !ir::is_none(norm->args[kBias]) || (product && !ir::is_none(norm->args[kWeight]))) continue;
    const ir::TensorType type = context.type(norm->results[0]);
    if (!type.is_static() || type.rank() < 3 || type.shape != context.type(node.results[0]).shape) continue;
    std::vector<Argument> args = norm->args;
    const ValueId numbers = along_dim(context, build, node.args[1 - k], type.shape, 1);
    if (!numbers.valid()) continue;
    args[product ? kWeight : kBias] = numbers;
    return replace_by_norm(context, build, id, OpId::native_group_norm_out, std::move(args), false, kName);
  }
  return passes::Action::keep();
}

Expected<passes::Action> fuse_group_norm(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (node.is(OpId::view_copy_out)) return view(context, build, id);
  if (node.is(OpId::mul_out) || node.is(OpId::add_out)) return affine(context, build, id);
  return passes::Action::keep();
}

}  // namespace

Expected<passes::Changed> fuse_group_norms(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_group_norm); });
}

}  // namespace berth::fuse
