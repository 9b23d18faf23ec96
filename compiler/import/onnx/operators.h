// The supported ONNX operators: a table for each family, a function for each operator.
//
// To add one: write `void import_x(NodeContext& n)` in the family's file, add its row to the table at the end of that
// file. A new family also gets a line in operators.cc.
#pragma once

#include "base/span.h"
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

struct OperatorRow {
  std::string_view name;
  size_t min_inputs;  // the first this many are there and not ""
  size_t max_inputs;
  void (*import)(NodeContext& n);
};

constexpr size_t kVariadic = size_t{1} << 20;

using OperatorTable = Span<const OperatorRow>;

// The families, each in its own file.
OperatorTable unary_operators();
OperatorTable vision_operators();
OperatorTable attention_operators();
OperatorTable binary_operators();
OperatorTable cast_operators();
OperatorTable constant_operators();
OperatorTable control_operators();
OperatorTable conv_operators();
OperatorTable einsum_operators();
OperatorTable element_operators();
OperatorTable group_norm_operators();
OperatorTable index_operators();
OperatorTable integer_operators();
OperatorTable loss_operators();
OperatorTable matmul_operators();
OperatorTable norm_operators();
OperatorTable pad_operators();
OperatorTable pool_operators();
OperatorTable quantize_operators();
OperatorTable recurrent_operators();
OperatorTable reduce_operators();
OperatorTable region_operators();
OperatorTable resize_operators();
OperatorTable sequence_operators();
OperatorTable set_operators();
OperatorTable shape_operators();
OperatorTable signal_operators();
OperatorTable softmax_operators();
OperatorTable streaming_operators();
OperatorTable text_operators();

// Standard operators that com.microsoft has under the same name.
void import_dequantize_linear(NodeContext& n);
void import_quantize_linear(NodeContext& n);
// What com.microsoft's variants of them begin with: the results of Conv and Gemm.
ValueId convolved(NodeContext& n);
ValueId gemm(NodeContext& n);
// Variants that com.microsoft adds.
void import_contrib_rotary_embedding(NodeContext& n);
void import_dynamic_quantize_lstm(NodeContext& n);

/// Those of com.microsoft: what ONNX Runtime's quantiser and optimiser write.
OperatorTable contrib_operators();
OperatorTable contrib_attention_operators();
OperatorTable contrib_quantized_operators();

/// Those of ai.onnx.preview, ai.onnx.ml and ai.onnx.preview.training.
OperatorTable preview_operators();
OperatorTable learning_operators();
OperatorTable training_operators();

/// The row of operator `name` of `domain`, or null.
const OperatorRow* find_row(std::string_view domain, std::string_view name);

/// Evaluates the node on known inputs alone (shape arithmetic). False if the operator does not support that, or its
/// inputs are unknown or its results undecidable; the node is then imported like any other.
bool evaluate_known(NodeContext& n);

}  // namespace berth::onnx
