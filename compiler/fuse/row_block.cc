#include "compiler/fuse/row_block.h"

#include <algorithm>

namespace berth::fuse {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

Rows rows_of(const ir::TensorType& type) {
  if (type.rank() < 2 || !type.is_static() || !type.is_contiguous()) return {};
  const size_t at = type.rank() - 2;
  for (size_t d = 0; d < at; ++d) {
    if (type.shape[d] != Dim(1)) return {};
  }
  return {type.shape[at].value, type.shape[at + 1].value * static_cast<int64_t>(element_size(type.dtype))};
}

bool is_row_product(const Node& node) {
  return node.is(OpId::fused_linear_out) || node.is(OpId::fused_narrow_linear_out);
}

ValueId input_of_product(const Node& product) {
  static_assert(size_t{arg::fused_linear_out::input} == size_t{arg::fused_narrow_linear_out::input});
  return value_argument(product, arg::fused_linear_out::input);
}

ValueId residual_of_product(const Node& product) {
  return value_argument(product, product.is(OpId::fused_linear_out) ? size_t{arg::fused_linear_out::residual}
                                                                    : size_t{arg::fused_narrow_linear_out::residual});
}

RowBlock::RowBlock(const Context& context, NodeId last, Products products)
    : context_(context), last_(last), products_(products) {
  const Node& node = context.node(last);
  if (node.results.size() != 1) return;
  count_ = rows_of(context.type(node.results[0])).count;
  if (count_ == 0 || !may_be_cut(node)) return;
  take(last);
  for (bool more = true; more;) {
    more = false;
    for (const auto& [value, reads] : std::map<ValueId, int>(reads_)) {
      const Node* maker = context.maker(value);
      if (maker == nullptr || reads != context.uses(value) || taken(value)) continue;
      if (maker->results.size() != 1 || !may_be_cut(*maker)) continue;
      take(context.method().value(value).node);
      more = true;
    }
  }
}

void RowBlock::take(NodeId id) {
  const Node& node = context_.node(id);
  nodes_.insert(nodes_.begin(), id);
  if (is_row_product(node) && id != last_) wide_ += rows_of(context_.type(node.results[0])).bytes;
  for (const Argument& argument : node.args) {
    ir::for_each_value(argument, [&](ValueId value) { ++reads_[value]; });
  }
}

bool RowBlock::taken(ValueId value) const {
  return std::find(nodes_.begin(), nodes_.end(), context_.method().value(value).node) != nodes_.end();
}

bool RowBlock::is_cut(ValueId value) const {
  return context_.method().value(value).tensor() != nullptr && rows_of(context_.type(value)).count == count_;
}

bool RowBlock::is_constant(ValueId value) const {
  return context_.method().value(value).kind == ir::ValueKind::kConstant;
}

// Not of constants, whose rows would be sliced in every run.
bool RowBlock::reads_rows(const Node& product) const {
  const ValueId input = input_of_product(product);
  const ValueId residual = residual_of_product(product);
  return is_cut(input) && !is_constant(input) && (!residual.valid() || (is_cut(residual) && !is_constant(residual)));
}

// Scales and zero points may be one for each row, and have any dimensions.
static bool has_scales_of_rows(const Node& node) {
  return node.is(OpId::quantize_per_channel_out) || node.is(OpId::quantize_per_token_out);
}

bool RowBlock::may_be_cut(const Node& node) const {
  if (context_.method().value(node.results[0]).tensor() == nullptr) return false;
  const Rows out = rows_of(context_.type(node.results[0]));
  if (out.count != count_) return false;
  if (is_row_product(node)) {
    const bool wanted = products_ == Products::kAll || nodes_.empty();
    return reads_rows(node) && (wanted || rows_of(context_.type(input_of_product(node))).bytes < out.bytes);
  }
  if (node.is(OpId::view_copy_out)) {
    const ValueId from = value_argument(node, arg::view_copy_out::self);
    return is_cut(from) && !is_constant(from) && rows_of(context_.type(from)).bytes == out.bytes;
  }
  if (node.is(OpId::mean_out)) return is_mean_of_rows(node);
  const bool by_element = node.op->in_place == ir::InPlaceClass::kElement &&
                          node.op->role == ir::OperatorRole::kPlain && node.op->own == nullptr &&
                          !node.op->has_effects && !has_scales_of_rows(node);
  return (by_element || node.is(OpId::fused_elementwise_out) || node.is(OpId::to_dim_order_copy_out)) &&
         stretches(node);
}

bool RowBlock::is_mean_of_rows(const Node& node) const {
  const ValueId from = value_argument(node, arg::mean_out::self);
  const auto* dims = std::get_if<ir::DimList>(&node.args[arg::mean_out::dim]);
  const auto last = static_cast<int64_t>(context_.type(from).rank()) - 1;
  return is_cut(from) && !is_constant(from) && dims != nullptr && dims->size() == 1 &&
         (dims->front() == Dim(-1) || dims->front() == Dim(last)) && std::get<bool>(node.args[arg::mean_out::keepdim]);
}

// Whether each tensor has the result's rows, or is the same for all of them.
bool RowBlock::stretches(const Node& node) const {
  const std::vector<Dim>& shape = context_.type(node.results[0]).shape;
  bool all = true;
  for (const Argument& argument : node.args) {
    ir::for_each_value(argument, [&](ValueId value) {
      if (context_.method().value(value).tensor() == nullptr) return;
      const std::vector<Dim>& own = context_.type(value).shape;
      all = all && own.size() <= shape.size();
      for (size_t i = 1; all && i <= own.size(); ++i) {
        const Dim size = own[own.size() - i];
        all = size == Dim(1) || size == shape[shape.size() - i];
      }
      const bool has_rows = own.size() >= 2 && own[own.size() - 2] != Dim(1);
      all = all && (!has_rows || (is_cut(value) && !is_constant(value)));
    });
  }
  return all;
}

Expected<ValueId> RowBlock::append(Context& context, ir::Builder& build, int64_t begin, int64_t end) const {
  std::map<ValueId, ValueId> parts;
  ValueId last;
  for (const NodeId id : nodes_) {
    const Node node = context.node(id);
    const auto part_of = [&](ValueId value) -> Expected<ValueId> {
      // A weight may have as many rows.
      const bool weight = is_row_product(node) && value != input_of_product(node) && value != residual_of_product(node);
      if (weight || !is_cut(value)) return value;
      if (const auto part = parts.find(value); part != parts.end()) return part->second;
      const Dim dim(static_cast<int64_t>(context.type(value).rank()) - 2);
      BERTH_ASSIGN_OR_RETURN(const ValueId part, build.one(OpId::slice_copy_Tensor_out,
                                                           {value, dim, Dim(begin), Dim(end), Dim(1)}, node.source));
      return parts[value] = part;
    };
    std::vector<Argument> args = node.args;
    for (Argument& argument : args) {
      if (auto* list = std::get_if<ir::ValueList>(&argument)) {
        for (ValueId& value : *list) {
          if (!value.valid()) continue;
          BERTH_ASSIGN_OR_RETURN(value, part_of(value));
        }
      } else if (const auto* value = std::get_if<ValueId>(&argument); value != nullptr && value->valid()) {
        BERTH_ASSIGN_OR_RETURN(argument, part_of(*value));
      }
    }
    if (node.is(OpId::view_copy_out)) {
      auto& size = std::get<ir::DimList>(args[arg::view_copy_out::size]);
      size[size.size() - 2] = Dim(end - begin);
    }
    BERTH_ASSIGN_OR_RETURN(last, build.one(node.op->id, std::move(args), node.source));
    parts[node.results[0]] = last;
  }
  return last;
}

}  // namespace berth::fuse
