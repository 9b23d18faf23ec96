#include "compiler/fuse/moved.h"

#include <algorithm>

#include "compiler/ir/arguments.h"

namespace berth::fuse {

using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

namespace {

Moved permuted(const Context& context, const Node* node) {
  if (node == nullptr || !node->is(OpId::permute_copy_out)) return {};
  const ValueId base = value_argument(*node, arg::permute_copy_out::self);
  return context.type(base).is_contiguous() ? Moved{base, passes::permutation(context.method(), *node)} : Moved{};
}

// An image whose channels go behind its places, or back.
bool moves_channels(const Context& context, const Node& node) {
  const DimOrder order = passes::permutation(context.method(), node);
  return order == DimOrder{0, 2, 3, 1} || order == DimOrder{0, 3, 1, 2};
}

}  // namespace

Moved moved(const Context& context, const Node* node) {
  if (node == nullptr || !node->op->is_reshape()) return permuted(context, node);
  const ValueId base = value_argument(*node, arg::view::self);
  const bool fixed = base.valid() && context.type(base).is_static() && context.type(base).is_contiguous() &&
                     context.type(node->results[0]).is_static() && context.type(node->results[0]).is_contiguous();
  return fixed ? Moved{base, {}} : Moved{};
}

int64_t leading_ones(const Context& context, const Moved& view, ValueId result) {
  const std::vector<Dim>&from = context.type(view.base).shape, &to = context.type(result).shape;
  if (to.size() <= from.size() || !std::equal(from.rbegin(), from.rend(), to.rbegin())) return -1;
  const auto more = static_cast<int64_t>(to.size() - from.size());
  return std::count(to.begin(), to.begin() + more, Dim(1)) == more ? more : -1;
}

bool is_convolved(const Context& context, ValueId value) {
  constexpr int kMostSteps = 64;  // so that long chains of nothing but these take no longer
  for (int step = 0; step < kMostSteps && value.valid(); ++step) {
    const Node* const node = context.maker(value);
    if (node == nullptr) return false;
    if (node->is(OpId::convolution_out)) return true;
    const bool passes_on = node->op->is_reshape() || node->is(OpId::constant_pad_nd_out) ||
                           node->is(OpId::slice_copy_Tensor_out) || moves_channels(context, *node) ||
                           node->is(OpId::native_group_norm_out) || node->op->in_place == ir::InPlaceClass::kElement;
    if (node->is(OpId::cat_out)) {
      value = std::get<ir::ValueList>(node->args[arg::cat_out::tensors]).front();
      continue;
    }
    if (!passes_on) return false;
    value = value_argument(*node, 0);
  }
  return false;
}

Expected<ValueId> permuted_by(ir::Builder& build, ValueId value, const DimOrder& order, const std::string& source) {
  return build.one(OpId::permute_copy_out, {value, ir::dims(order)}, source);
}

}  // namespace berth::fuse
