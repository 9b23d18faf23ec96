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
      {attention_operators(), unary_operators(),   binary_operators(),    cast_operators(),    constant_operators(),
       control_operators(),   conv_operators(),    einsum_operators(),    element_operators(), group_norm_operators(),
       recurrent_operators(), resize_operators(),  index_operators(),     integer_operators(), loss_operators(),
       matmul_operators(),    norm_operators(),    pad_operators(),       pool_operators(),    quantize_operators(),
       reduce_operators(),    region_operators(),  sequence_operators(),  set_operators(),     shape_operators(),
       signal_operators(),    softmax_operators(), streaming_operators(), text_operators(),    vision_operators()});
  static const std::unordered_map<std::string_view, RowMap> others = {
      {"com.microsoft", collect({contrib_operators(), contrib_attention_operators(), contrib_quantized_operators()})},
      {"ai.onnx.ml", collect({learning_operators()})},
      {"ai.onnx.preview", collect({preview_operators()})},
      {"ai.onnx.preview.training", collect({training_operators()})},
  };
  const auto other = others.find(domain);
  if (!is_standard(domain) && other == others.end()) return nullptr;
  const RowMap& rows = is_standard(domain) ? standard : other->second;
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace berth::onnx
