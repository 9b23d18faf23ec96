#include "compiler/fuse/take_columns.h"

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

constexpr int64_t kMostCopied = 1 << 20;  // bytes

ValueId columns_of_constant(ir::Builder& build, const ir::Constant& constant, int64_t begin, int64_t count) {
  ir::TensorType type = constant.type;
  const std::string name = constant.name;  // constants move when one is added
  const size_t element = element_size(type.dtype);
  const size_t row = type.shape.back().value * element;
  const std::vector<uint8_t> all = constant.blob.to_vector();
  std::vector<uint8_t> taken;
  for (size_t at = begin * element; at < all.size(); at += row) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(at);
    taken.insert(taken.end(), first, first + static_cast<ptrdiff_t>(count * element));
  }
  type.shape.back() = Dim(count);
  return build.constant(type, ir::Blob::owned(std::move(taken)), name);
}

// Columns of a matrix product, or of a view of its rows.
struct Columns {
  const Node* product = nullptr;
  ValueId matrix, bias;
  size_t matrix_at = 0;  // among the product's arguments
  int64_t begin = 0, count = 0;
};

Columns columns_of(const Context& context, const Node& node) {
  if (!node.is(OpId::slice_copy_Tensor_out)) return {};
  const ValueId from = value_argument(node, arg::slice_copy_Tensor_out::self);
  if (!from.valid() || context.uses(from) != 1 || !is_row_major(context, from)) return {};
  const std::vector<Dim>& all = context.type(from).shape;
  const std::vector<Dim>& taken = context.type(node.results[0]).shape;
  const auto dim = context.number(node.args[arg::slice_copy_Tensor_out::dim]);
  const double last = static_cast<double>(all.size()) - 1;
  if (!dim || (*dim != -1 && *dim != last) || !all.back().is_constant() || !taken.back().is_constant()) return {};
  const auto begin = ir::is_none(node.args[arg::slice_copy_Tensor_out::start])
                         ? std::optional<double>(0)
                         : context.number(node.args[arg::slice_copy_Tensor_out::start]);
  if (!begin || context.number(node.args[arg::slice_copy_Tensor_out::step]) != 1.0) return {};
  Columns columns;
  columns.begin = static_cast<int64_t>(*begin) + (*begin < 0 ? all.back().value : 0);
  columns.count = taken.back().value;
  if (columns.begin < 0 || columns.count < 1 || columns.begin + columns.count > all.back().value) return {};
  const ValueId made = through_views(context, from);
  const Node* product = context.maker(made);
  if (product == nullptr || context.uses(made) != 1 || context.type(made).shape.back() != all.back()) return {};
  const bool sum = product->is(OpId::addmm_out);
  if (!sum && !product->is(OpId::mm_out)) return {};
  columns.matrix_at = sum ? size_t{arg::addmm_out::mat2} : size_t{arg::mm_out::mat2};
  columns.matrix = value_argument(*product, columns.matrix_at);
  if (known_constant(context, columns.matrix) == nullptr) return {};
  if (sum) {
    columns.bias = value_argument(*product, arg::addmm_out::self);
    if (known_constant(context, columns.bias) == nullptr ||
        context.type(columns.bias).shape != std::vector<Dim>{all.back()}) {
      return {};
    }
  }
  const int64_t copied = context.type(columns.matrix).shape[0].value * columns.count * sizeof(float);
  if (context.uses(columns.matrix) > 1 && copied > kMostCopied) return {};
  columns.product = columns.count < all.back().value ? product : nullptr;
  return columns;
}

Expected<passes::Action> take_part(Context& context, ir::Builder& build, NodeId id) {
  const Columns columns = columns_of(context, context.node(id));
  if (columns.product == nullptr) return passes::Action::keep();
  const OpId op = columns.product->op->id;
  std::vector<Argument> args = columns.product->args;
  const std::string source = columns.product->source;
  const std::vector<Dim> shape = context.type(context.node(id).results[0]).shape;
  const auto cut = [&](ValueId constant) {
    return columns_of_constant(build, *known_constant(context, constant), columns.begin, columns.count);
  };
  args[columns.matrix_at] = cut(columns.matrix);
  if (columns.bias.valid()) args[arg::addmm_out::self] = cut(columns.bias);
  BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(op, std::move(args), source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, product, shape, source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> take_columns(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(take_part); });
}

}  // namespace berth::fuse
