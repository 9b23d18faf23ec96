#include "compiler/fuse/sum_before_product.h"

#include <algorithm>

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Of fewer rows a sum is not worth an operator more.
constexpr int64_t kLeastRows = 4;

// A tensor [sums, rows, columns] whose rows are summed. Its sizes are known.
struct Summed {
  ValueId value;
  int64_t sums = 1, rows = 1, columns = 1;
  bool is_mean = false;
};

// The rows of a product, and one weight for each where there are some.
struct WeighedProduct {
  ValueId rows;     // [sums * rows, depth]
  ValueId matrix;   // [depth, columns]
  Argument bias;    // [columns], or None
  ValueId weights;  // [..., 1] of as many elements as there are rows; invalid where there are none
};

// Sums over dimensions side by side, right before the last.
std::optional<Summed> summed(const Context& context, const Node& node) {
  static_assert(size_t{arg::sum_IntList_out::dim} == size_t{arg::mean_out::dim} &&
                size_t{arg::sum_IntList_out::dtype} == size_t{arg::mean_out::dtype});
  if (!node.is(OpId::sum_IntList_out) && !node.is(OpId::mean_out)) return std::nullopt;
  const DimList* const dims = std::get_if<DimList>(&node.args[arg::mean_out::dim]);
  Summed found;
  found.value = value_argument(node, arg::mean_out::self);
  if (dims == nullptr || dims->empty() || !found.value.valid() || !is_row_major_f32(context, found.value) ||
      !is_row_major_f32(context, node.results[0]) || context.uses(found.value) != 1) {
    return std::nullopt;
  }
  const ir::TensorType& type = context.type(found.value);
  if (type.rank() == 0) return std::nullopt;
  std::vector<bool> is_summed(type.shape.size());
  for (const Dim dim : *dims) is_summed[dim.value < 0 ? dim.value + type.rank() : dim.value] = true;
  const int last = type.rank() - 1;
  int first = last;
  while (first > 0 && is_summed[first - 1]) --first;
  const bool apart = std::find(is_summed.begin(), is_summed.begin() + first, true) != is_summed.begin() + first;
  if (apart || is_summed[last]) return std::nullopt;
  for (int d = 0; d <= last; ++d) {
    if (!type.shape[d].is_constant()) return std::nullopt;
    (d == last ? found.columns : d >= first ? found.rows : found.sums) *= type.shape[d].value;
  }
  found.is_mean = node.is(OpId::mean_out);
  return found.rows >= kLeastRows ? std::optional<Summed>(found) : std::nullopt;
}

// The product that gives `value` alone, perhaps through views.
std::optional<WeighedProduct> product_of(const Context& context, ValueId value, const Summed& of) {
  const ValueId base = through_views(context, value);
  const Node* const node = context.maker(base);
  if (node == nullptr || context.uses(base) != 1 || context.uses(value) != 1) return std::nullopt;
  WeighedProduct product;
  size_t left = 0;
  if (node->is(OpId::addmm_out)) {
    const bool plain = context.number(node->args[arg::addmm_out::alpha]) == 1.0 &&
                       context.number(node->args[arg::addmm_out::beta]) == 1.0;
    product.bias = node->args[arg::addmm_out::self];
    const ValueId bias = value_argument(*node, arg::addmm_out::self);
    if (!plain || !bias.valid() || context.type(bias).shape != std::vector<Dim>{Dim(of.columns)}) return std::nullopt;
    left = arg::addmm_out::mat1;
  } else if (!node->is(OpId::mm_out)) {
    return std::nullopt;
  }
  product.rows = value_argument(*node, left);
  product.matrix = value_argument(*node, left + 1);
  const std::vector<Dim> shape = {Dim(of.sums * of.rows), Dim(of.columns)};
  if (context.type(base).shape != shape || !is_row_major_f32(context, product.rows)) return std::nullopt;
  return product;
}

std::optional<WeighedProduct> weighed_product_of(const Context& context, const Summed& of) {
  const Node* const node = context.maker(of.value);
  if (node == nullptr || !node->is(OpId::mul_out) || of.is_mean) return product_of(context, of.value, of);
  for (size_t k = 0; k < 2; ++k) {
    const ValueId value = value_argument(*node, k), weights = value_argument(*node, 1 - k);
    if (!value.valid() || !weights.valid() || !is_row_major_f32(context, weights)) continue;
    std::vector<Dim> shape = context.type(of.value).shape;
    if (context.type(value).shape != shape) continue;
    shape.back() = Dim(1);
    if (context.type(weights).shape != shape) continue;
    auto product = product_of(context, value, of);
    if (!product) continue;
    product->weights = weights;
    return product;
  }
  return std::nullopt;
}

class SumMover {
 public:
  SumMover(Context& context, ir::Builder& build) : context_(context), build_(build) {}

  Expected<passes::Action> visit(NodeId id) {
    const Node node = context_.node(id);
    const auto of = summed(context_, node);
    const auto product = of ? weighed_product_of(context_, *of) : std::nullopt;
    if (!product) return passes::Action::keep();
    context_.remark(context_.node(id), Reason::kFused, "the product of a sum");
    const Dim depth = context_.type(product->rows).shape[1];
    BERTH_ASSIGN_OR_RETURN(ValueId sum, shaped(product->rows, {Dim(of->sums), Dim(of->rows), depth}));
    Argument bias = product->bias;
    if (product->weights.valid()) {
      BERTH_ASSIGN_OR_RETURN(sum, weighed_sum(*of, *product, sum, &bias));
    } else {
      const std::vector<Argument> args = {sum, DimList{Dim(1)}, false, ir::None()};
      BERTH_ASSIGN_OR_RETURN(sum, build_.one(node.op->id, args, node.source));
      if (!of->is_mean && !ir::is_none(bias)) {
        BERTH_ASSIGN_OR_RETURN(bias, build_.one(OpId::mul_Scalar_out, {bias, static_cast<double>(of->rows)}, ""));
      }
    }
    BERTH_ASSIGN_OR_RETURN(ValueId made, build_.one(OpId::mm_out, {sum, product->matrix}, node.source));
    if (!ir::is_none(bias)) {
      BERTH_ASSIGN_OR_RETURN(made, build_.one(OpId::add_out, {made, bias, Dim(1)}, node.source));
    }
    BERTH_ASSIGN_OR_RETURN(made, shaped(made, context_.type(node.results[0]).shape));
    return context_.replace(id, made);
  }

 private:
  Expected<ValueId> shaped(ValueId value, const std::vector<Dim>& shape) {
    return with_shape(context_, build_, value, shape, "");
  }

  // [sums, depth] of `rows`, and the bias once for each weight.
  Expected<ValueId> weighed_sum(const Summed& of, const WeighedProduct& product, ValueId rows, Argument* bias) {
    const Dim depth = context_.type(rows).shape[2];
    BERTH_ASSIGN_OR_RETURN(const ValueId weights, shaped(product.weights, {Dim(of.sums), Dim(1), Dim(of.rows)}));
    BERTH_ASSIGN_OR_RETURN(const ValueId sums, build_.one(OpId::bmm_out, {weights, rows}, ""));
    if (!ir::is_none(*bias)) {
      BERTH_ASSIGN_OR_RETURN(const ValueId lines, shaped(product.weights, {Dim(of.sums), Dim(of.rows)}));
      const std::vector<Argument> args = {lines, DimList{Dim(1)}, true, ir::None()};
      BERTH_ASSIGN_OR_RETURN(const ValueId total, build_.one(OpId::sum_IntList_out, args, ""));
      BERTH_ASSIGN_OR_RETURN(*bias, build_.one(OpId::mul_out, {total, *bias}, ""));
    }
    return shaped(sums, {Dim(of.sums), depth});
  }

  Context& context_;
  ir::Builder& build_;
};

}  // namespace

Expected<passes::Changed> sum_before_product(ir::Module& module, const Targets& targets,
                                             const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] {
    return Visit([](Context& context, ir::Builder& build, NodeId id) { return SumMover(context, build).visit(id); });
  });
}

}  // namespace berth::fuse
