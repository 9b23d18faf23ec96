#include "compiler/fuse/key_limits.h"

#include <algorithm>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr int kDeepestMask = 8;

// The dimension that is `back` from the last; 1 where there is none.
Dim size_at(const ir::TensorType& type, size_t back) {
  return back < type.shape.size() ? type.shape[type.shape.size() - 1 - back] : Dim(1);
}

bool is_one_before(const ir::TensorType& type, size_t back) {
  for (size_t d = back; d < type.shape.size(); ++d) {
    if (size_at(type, d) != Dim(1)) return false;
  }
  return true;
}

// A constant [.., 1, keys] of 0, 1, …
bool is_keys(const Context& context, const Argument& argument, Dim keys) {
  const ir::Constant* constant = context.constant(argument);
  if (constant == nullptr || constant->type.dtype != DType::kI64 || !constant->type.is_contiguous()) return false;
  if (size_at(constant->type, 0) != keys || !keys.is_constant() || !is_one_before(constant->type, 1)) return false;
  std::vector<int64_t> numbers(keys.value);
  const size_t bytes = numbers.size() * sizeof(int64_t);
  if (constant->blob.size() != bytes) return false;
  constant->blob.read(0, {reinterpret_cast<uint8_t*>(numbers.data()), bytes});
  for (size_t j = 0; j < numbers.size(); ++j) {
    if (numbers[j] != static_cast<int64_t>(j)) return false;
  }
  return true;
}

// A value [.., queries, 1] of i64.
bool is_of_queries(const Context& context, const Argument& argument, Dim queries) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  if (value == nullptr || context.method().value(*value).tensor() == nullptr) return false;
  const ir::TensorType& type = context.type(*value);
  return type.dtype == DType::kI64 && type.is_contiguous() && size_at(type, 0) == Dim(1) &&
         size_at(type, 1) == queries && is_one_before(type, 2);
}

// A constant [rows, keys] of bool, true up to the diagonal.
bool is_triangle(const Context& context, const Argument& argument, Dim keys) {
  const ir::Constant* constant = context.constant(argument);
  if (constant == nullptr || constant->type.dtype != DType::kBool || !constant->type.is_contiguous()) return false;
  if (constant->type.rank() != 2 || constant->type.shape[1] != keys || !constant->type.is_static()) return false;
  const int64_t columns = keys.value;
  std::vector<uint8_t> row(columns);
  if (constant->blob.size() != constant->type.shape[0].value * row.size()) return false;
  for (int64_t i = 0; i < constant->type.shape[0].value; ++i) {
    constant->blob.read(i * row.size(), row);
    for (int64_t j = 0; j < columns; ++j) {
      if ((row[j] != 0) != (j <= i)) return false;
    }
  }
  return columns > 0;
}

class LimitReader {
 public:
  LimitReader(const Context& context, Dim queries, Dim keys, KeyLimits* limits)
      : context_(context), queries_(queries), keys_(keys), limits_(*limits) {}

  bool read(const Argument& argument, int depth) {
    if (context_.number(argument) == 1.0) return true;
    const ValueId* value = std::get_if<ValueId>(&argument);
    const Node* node = value == nullptr || depth > kDeepestMask ? nullptr : context_.maker(*value);
    if (node == nullptr) return false;
    if (node->op->is_reshape()) {
      // Neither keys nor queries may be regrouped.
      const ValueId from = value_argument(*node, 0);
      const bool same = size_at(context_.type(from), 0) == size_at(context_.type(*value), 0) &&
                        size_at(context_.type(from), 1) == size_at(context_.type(*value), 1);
      return same && read(Argument(from), depth + 1);
    }
    if (node->is(OpId::expand_copy_out)) return read(node->args[arg::expand_copy_out::self], depth + 1);
    if (node->is(OpId::bitwise_and_Tensor_out) || node->is(OpId::logical_and_out)) {
      return read(node->args[0], depth + 1) && read(node->args[1], depth + 1);
    }
    if (node->is(OpId::le_Tensor_out)) return compare(*node, 0, &limits_.last);
    if (node->is(OpId::ge_Tensor_out)) return compare(*node, 1, &limits_.last);
    if (node->is(OpId::gt_Tensor_out)) return compare(*node, 0, &limits_.before);
    if (node->is(OpId::lt_Tensor_out)) return compare(*node, 1, &limits_.before);
    return node->is(OpId::index_Tensor_out) && pick(*node);
  }

 private:
  static bool take(ValueId value, ValueId* limit) {
    if (limit->valid() && *limit != value) return false;
    *limit = value;
    return true;
  }

  // `keys` is the argument with the numbers of the keys.
  bool compare(const Node& node, size_t keys, ValueId* limit) {
    return is_keys(context_, node.args[keys], keys_) && is_of_queries(context_, node.args[1 - keys], queries_) &&
           take(value_argument(node, 1 - keys), limit);
  }

  // Rows of a triangle.
  bool pick(const Node& node) {
    const auto* indices = std::get_if<ir::ValueList>(&node.args[arg::index_Tensor_out::indices]);
    if (indices == nullptr || indices->size() != 1 || !is_triangle(context_, node.args[0], keys_)) return false;
    const ir::TensorType& type = context_.type(indices->front());
    return type.dtype == DType::kI64 && type.shape == std::vector<Dim>{queries_} &&
           take(indices->front(), &limits_.last);
  }

  const Context& context_;
  const Dim queries_;
  const Dim keys_;
  KeyLimits& limits_;
};

}  // namespace

bool read_key_limits(const Context& context, ValueId mask, Dim queries, Dim keys, KeyLimits* limits) {
  KeyLimits found;
  if (!LimitReader(context, queries, keys, &found).read(Argument(mask), 0)) return false;
  *limits = found;
  return true;
}

}  // namespace berth::fuse
