#include "compiler/import/onnx/operators.h"

#include <unordered_map>

#include "compiler/import/onnx/missing.h"

namespace berth::onnx {
namespace {

using RowMap = std::unordered_map<std::string_view, const OperatorRow*>;

RowMap collect(std::initializer_list<OperatorTable> tables) {
  RowMap rows;
  for (OperatorTable table : tables) {
    for (const OperatorRow& row : table) BERTH_CHECK(rows.emplace(row.name, &row).second);
  }
  return rows;
}

}  // namespace

const OperatorRow* find_row(std::string_view domain, std::string_view name) {
  static const RowMap standard = collect(
      {attention_operators(), unary_operators(),  binary_operators(),  cast_operators(),     constant_operators(),
       control_operators(),   conv_operators(),   einsum_operators(),  element_operators(),  group_norm_operators(),
       recurrent_operators(), resize_operators(), index_operators(),   integer_operators(),  matmul_operators(),
       norm_operators(),      pad_operators(),    pool_operators(),    quantize_operators(), reduce_operators(),
       shape_operators(),     signal_operators(), softmax_operators(), vision_operators()});
  static const RowMap contrib = collect({contrib_operators(), contrib_quantized_operators()});
  if (!is_standard(domain) && domain != "com.microsoft") return nullptr;
  const RowMap& rows = is_standard(domain) ? standard : contrib;
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace berth::onnx
