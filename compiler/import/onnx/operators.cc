#include "compiler/import/onnx/operators.h"

#include <unordered_map>

namespace berth::onnx {
namespace {

std::unordered_map<std::string_view, const OperatorRow*> collect() {
  std::unordered_map<std::string_view, const OperatorRow*> rows;
  for (OperatorTable table :
       {unary_operators(), binary_operators(), cast_operators(), constant_operators(), conv_operators(),
        einsum_operators(), element_operators(), group_norm_operators(), recurrent_operators(), resize_operators(),
        index_operators(), matmul_operators(), norm_operators(), pad_operators(), pool_operators(),
        quantize_operators(), reduce_operators(), shape_operators(), softmax_operators()}) {
    for (const OperatorRow& row : table) BERTH_CHECK(rows.emplace(row.name, &row).second);
  }
  return rows;
}

}  // namespace

const OperatorRow* find_row(std::string_view name) {
  static const auto rows = collect();
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace berth::onnx
