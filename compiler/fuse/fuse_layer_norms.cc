#include "compiler/fuse/fuse_layer_norms.h"

#include "compiler/fuse/strided.h"
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

// What makes `value`, which `readers` arguments read, if it is one of these operators.
const Node* only_maker(const Context& context, ValueId value, OpId op, int readers = 1) {
  const Node* node = value.valid() && context.uses(value) == readers ? context.maker(value) : nullptr;
  return node != nullptr && node->is(op) ? node : nullptr;
}

// Whether `dims` is the last dimension of tensors of this rank, and nothing else.
bool is_last_dim(const Argument& dims, int64_t rank) {
  const auto* list = std::get_if<ir::DimList>(&dims);
  return list != nullptr && list->size() == 1 && (list->front() == Dim(-1) || list->front() == Dim(rank - 1));
}

// The argument of a mean of each row of [..., n], whether its result is [..., 1] or [...].
ValueId mean_of_rows(const Context& context, ValueId mean, int readers = 1) {
  const Node* node = only_maker(context, mean, OpId::mean_out, readers);
  if (node == nullptr) return {};
  const ValueId x = value_argument(*node, 0);
  return is_last_dim(node->args[arg::mean_out::dim], context.type(x).rank()) ? x : ValueId{};
}

// A sum with a number, which goes to `*number`: the other term.
ValueId less_number(const Context& context, ValueId sum, double* number) {
  const Node* node = sum.valid() && context.uses(sum) == 1 ? context.maker(sum) : nullptr;
  if (node == nullptr || (!node->is(OpId::add_out) && !node->is(OpId::add_Scalar_out))) return {};
  if (context.number(node->args[arg::add_out::alpha]) != 1.0) return {};
  const size_t at = node->is(OpId::add_out) && !context.number(node->args[1]) ? 0 : 1;
  const auto found = context.number(node->args[at]);
  const ValueId term = value_argument(*node, 1 - at);
  if (!found || !term.valid() || context.type(term).shape != context.type(sum).shape) return {};
  *number = *found;
  return term;
}

// What one view makes `value` of, or `value` itself.
ValueId under_view(const Context& context, ValueId value) {
  const Node* node = value.valid() && context.uses(value) == 1 ? context.maker(value) : nullptr;
  return node != nullptr && node->op->is_reshape() ? value_argument(*node, 0) : value;
}

// What `value` is sqrt(that + eps) of, or, where `inverse`, one divided by it.
ValueId variance_of(const Context& context, ValueId value, bool inverse, double* eps) {
  if (inverse) {
    if (const Node* root = only_maker(context, value, OpId::rsqrt_out)) {
      return less_number(context, value_argument(*root, 0), eps);
    }
    const Node* quotient = only_maker(context, value, OpId::reciprocal_out);
    if (quotient == nullptr) return {};
    value = value_argument(*quotient, 0);
  }
  const Node* root = only_maker(context, value, OpId::sqrt_out);
  return root == nullptr ? ValueId{} : less_number(context, value_argument(*root, 0), eps);
}

struct NormMatch {
  ValueId x;
  double eps = 0;
};

// Whether `variance` is that of the rows of x, of which `distance` is x - mean; both are read by nothing else.
bool is_variance(const Context& context, ValueId variance, ValueId distance, ValueId x) {
  variance = under_view(context, variance);
  const int64_t rank = context.type(x).rank();
  if (const Node* direct = only_maker(context, variance, OpId::var_correction_out)) {
    return context.uses(distance) == 1 && value_argument(*direct, 0) == x &&
           is_last_dim(direct->args[arg::var_correction_out::dim], rank) &&
           context.number(direct->args[arg::var_correction_out::correction]) == 0.0;
  }
  const ValueId squares = mean_of_rows(context, variance);
  if (!squares.valid()) return false;
  if (const Node* product = only_maker(context, squares, OpId::mul_out)) {
    return context.uses(distance) == 3 && value_argument(*product, 0) == distance &&
           value_argument(*product, 1) == distance;
  }
  const Node* power = only_maker(context, squares, OpId::pow_Tensor_Scalar_out);
  return power != nullptr && context.uses(distance) == 2 && value_argument(*power, 0) == distance &&
         context.number(power->args[arg::pow_Tensor_Scalar_out::exponent]) == 2.0;
}

// `distance` / sqrt(variance + eps), or times its inverse.
bool read_norm(const Context& context, ValueId distance, ValueId scale, bool inverse, NormMatch* match) {
  const Node* difference = distance.valid() ? context.maker(distance) : nullptr;
  if (difference == nullptr || !difference->is(OpId::sub_out) || !scale.valid()) return false;
  if (context.number(difference->args[arg::sub_out::alpha]) != 1.0) return false;
  const ValueId x = value_argument(*difference, 0);
  if (!x.valid() || !is_row_major(context, x) || context.type(x).dtype != DType::kF32) return false;
  const std::vector<Dim>& shape = context.type(x).shape;
  if (shape.empty() || !shape.back().is_constant() || context.type(distance).shape != shape) return false;
  // One number for each row: of another shape they would be of columns.
  std::vector<Dim> rows = shape;
  rows.back() = Dim(1);
  const ValueId mean = value_argument(*difference, 1);
  if (!mean.valid() || context.type(mean).shape != rows || context.type(scale).shape != rows) return false;
  if (mean_of_rows(context, under_view(context, mean)) != x) return false;
  const ValueId variance = variance_of(context, scale, inverse, &match->eps);
  if (!variance.valid() || context.type(variance).shape != rows) return false;
  match->x = x;
  return is_variance(context, variance, distance, x);
}

Expected<passes::Action> make_layer_norm(Context& context, ir::Builder& build, NodeId id, std::vector<Argument> args) {
  const std::string source = context.node(id).source;
  const std::string name = context.method().value(context.node(id).results[0]).name;
  context.remark(context.node(id), Reason::kFused, "a layer norm");
  BERTH_ASSIGN_OR_RETURN(const ValueId made, build.one(OpId::native_layer_norm_out, std::move(args), source, name));
  return context.replace(id, made);
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
    const Dim size = context.type(match.x).shape.back();
    return make_layer_norm(context, build, id, {match.x, ir::DimList{size}, ir::None{}, ir::None{}, match.eps});
  }
  return passes::Action::keep();
}

// A norm that makes `value`, which one node reads, and no other result of which is read.
const Node* layer_norm_of(const Context& context, ValueId value) {
  const Node* node = only_maker(context, value, OpId::native_layer_norm_out);
  if (node == nullptr || node->results[0] != value || context.type(value).dtype != DType::kF32) return nullptr;
  return context.uses(node->results[1]) == 0 && context.uses(node->results[2]) == 0 ? node : nullptr;
}

// A constant of one f32 a column, as [size]; invalid for others.
ValueId per_column(Context& context, ir::Builder& build, const Argument& argument, int64_t size) {
  const ir::Constant* constant = context.constant(argument);
  if (constant == nullptr || constant->type.dtype != DType::kF32 || !constant->type.is_contiguous()) return {};
  const std::vector<Dim>& shape = constant->type.shape;
  if (shape.empty() || shape.back() != Dim(size) || ir::max_numel(constant->type, {}) != size) return {};
  if (shape.size() == 1) return std::get<ValueId>(argument);
  return float_constant(build, {size}, floats_of(*constant), constant->name + "_columns");
}

// A factor or a number to add behind a norm of rows that has none yet.
Expected<passes::Action> take_in_columns(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const bool product = node.is(OpId::mul_out);
  if (!product && context.number(node.args[arg::add_out::alpha]) != 1.0) return passes::Action::keep();
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const Node* found = layer_norm_of(context, value_argument(node, k));
    if (found == nullptr || !ir::is_none(found->args[norm::bias])) continue;
    if (product && !ir::is_none(found->args[norm::weight])) continue;
    const auto& sizes = std::get<ir::DimList>(found->args[norm::normalized_shape]);
    if (sizes.size() != 1 || !sizes[0].is_constant()) continue;
    if (context.type(found->results[0]).shape != context.type(node.results[0]).shape) continue;
    std::vector<Argument> args = found->args;
    const ValueId numbers = per_column(context, build, node.args[1 - k], sizes[0].value);
    if (!numbers.valid()) continue;
    args[product ? size_t{norm::weight} : size_t{norm::bias}] = numbers;
    return make_layer_norm(context, build, id, std::move(args));
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
