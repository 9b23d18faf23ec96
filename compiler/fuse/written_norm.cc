#include "compiler/fuse/written_norm.h"

#include "compiler/fuse/strided.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

namespace {

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

// What `value` is one divided by.
ValueId under_one(const Context& context, ValueId value) {
  if (const Node* node = only_maker(context, value, OpId::reciprocal_out)) return value_argument(*node, 0);
  const Node* node = only_maker(context, value, OpId::div_out);
  return node != nullptr && context.number(node->args[0]) == 1.0 ? value_argument(*node, 1) : ValueId{};
}

bool moves(const Node* node, const std::vector<int64_t>& dims) {
  return node != nullptr && node->is(OpId::permute_copy_out) &&
         node->args[arg::permute_copy_out::dims] == Argument(ir::dims(dims));
}

}  // namespace

const Node* only_maker(const Context& context, ValueId value, OpId op, int readers) {
  const Node* node = value.valid() && context.uses(value) == readers ? context.maker(value) : nullptr;
  return node != nullptr && node->is(op) ? node : nullptr;
}

ValueId under_view(const Context& context, ValueId value) {
  const Node* node = value.valid() && context.uses(value) == 1 ? context.maker(value) : nullptr;
  return node != nullptr && node->op->is_reshape() ? value_argument(*node, 0) : value;
}

int64_t only_dim(const Argument& dims, int64_t rank) {
  const auto* list = std::get_if<ir::DimList>(&dims);
  if (list == nullptr || list->size() != 1 || !list->front().is_constant()) return -1;
  const int64_t dim = list->front().value;
  return dim < 0 ? dim + rank : dim;
}

ValueId argument_of_mean(const Context& context, ValueId mean, int64_t dim) {
  const Node* node = only_maker(context, mean, OpId::mean_out);
  if (node == nullptr) return {};
  const ValueId x = value_argument(*node, 0);
  return only_dim(node->args[arg::mean_out::dim], context.type(x).rank()) == dim ? x : ValueId{};
}

bool is_square(const Context& context, ValueId squares, ValueId value, int* readers) {
  if (const Node* product = only_maker(context, squares, OpId::mul_out)) {
    *readers = 2;
    return value_argument(*product, 0) == value && value_argument(*product, 1) == value;
  }
  const Node* power = only_maker(context, squares, OpId::pow_Tensor_Scalar_out);
  *readers = 1;
  return power != nullptr && value_argument(*power, 0) == value &&
         context.number(power->args[arg::pow_Tensor_Scalar_out::exponent]) == 2.0;
}

ValueId under_root(const Context& context, ValueId value, bool inverse, double* eps) {
  if (inverse) {
    if (const Node* root = only_maker(context, value, OpId::rsqrt_out)) {
      return less_number(context, value_argument(*root, 0), eps);
    }
    value = under_one(context, value);
  }
  const Node* root = only_maker(context, value, OpId::sqrt_out);
  return root == nullptr ? ValueId{} : less_number(context, value_argument(*root, 0), eps);
}

int64_t dim_of_norm(const Context& context, ValueId x, const std::vector<Dim>& statistics) {
  if (!x.valid() || !is_row_major(context, x) || context.type(x).dtype != DType::kF32) return -1;
  const std::vector<Dim>& shape = context.type(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  for (const int64_t dim : {rank - 1, rank == 4 ? int64_t{1} : int64_t{-1}}) {
    if (dim < 0 || !shape[dim].is_constant()) continue;
    std::vector<Dim> one = shape;
    one[dim] = Dim(1);
    if (one == statistics) return dim;
  }
  return -1;
}

Expected<ValueId> rows_of_norm(Context& context, ir::Builder& build, ValueId x, int64_t dim,
                               const std::string& source) {
  if (dim + 1 == context.type(x).rank()) return x;
  return build.one(OpId::permute_copy_out, {x, ir::dims({0, 2, 3, 1})}, source);
}

Expected<passes::Action> replace_by_norm(Context& context, ir::Builder& build, ir::NodeId id, OpId op,
                                         std::vector<Argument> args, bool of_images, const char* what) {
  const std::string source = context.node(id).source;
  const std::string name = context.method().value(context.node(id).results[0]).name;
  context.remark(context.node(id), Reason::kFused, what);
  BERTH_ASSIGN_OR_RETURN(ValueId made, build.one(op, std::move(args), source, name));
  if (of_images) {
    BERTH_ASSIGN_OR_RETURN(made, build.one(OpId::permute_copy_out, {made, ir::dims({0, 3, 1, 2})}, source));
  }
  return context.replace(id, made);
}

MadeNorm made_norm(const Context& context, ValueId value, OpId op) {
  if (!value.valid() || context.uses(value) != 1 || context.type(value).dtype != DType::kF32) return {};
  const Node* node = context.maker(value);
  const bool image = moves(node, {0, 3, 1, 2});
  if (image) {
    // What replace_by_norm() has made has no readers yet that the context knows of.
    const ValueId rows = value_argument(*node, 0);
    node = context.uses(rows) <= 1 ? context.maker(rows) : nullptr;
  }
  if (node == nullptr || !node->is(op) || (!image && node->results[0] != value)) return {};
  for (size_t i = 1; i < node->results.size(); ++i) {
    if (context.uses(node->results[i]) != 0) return {};
  }
  return {node, image};
}

ValueId along_dim(Context& context, ir::Builder& build, const Argument& argument, const std::vector<Dim>& shape,
                  int64_t dim) {
  const ir::Constant* constant = context.constant(argument);
  if (constant == nullptr || constant->type.dtype != DType::kF32 || !constant->type.is_contiguous()) return {};
  const std::vector<Dim>& own = constant->type.shape;
  if (own.size() > shape.size() || shape.size() - own.size() > static_cast<size_t>(dim)) return {};
  const size_t before = shape.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] != (d + before == static_cast<size_t>(dim) ? shape[dim] : Dim(1))) return {};
  }
  if (own.size() == 1) return std::get<ValueId>(argument);
  return float_constant(build, {shape[dim].value}, floats_of(*constant), constant->name + "_along");
}

}  // namespace berth::fuse
