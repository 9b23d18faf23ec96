// The types of a model's inputs: what the file says, joined with what the user says.
#pragma once

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model.h"

namespace berth::onnx {

/// A dimension as `--input-shape` writes it: lower == upper for a number.
struct Extent {
  int64_t lower = 0;
  int64_t upper = 0;
};

/// "1..8x3x224x224" as extents; the empty text is a scalar's shape. False when it is written otherwise.
bool parse_extents(std::string_view text, std::vector<Extent>* out);

/// The tensor types of `inputs`, one each. A symbolic dimension (dim_param) that gets a number from one input has it in
/// all; one with a range becomes a symbol of that name. Fails when an input is no tensor, when a dimension stays
/// unknown (saying what to pass), when the options contradict the model or each other, or name no input.
Expected<std::vector<ir::TensorType>> input_types(ir::Symbols& symbols, const std::vector<const ValueInfo*>& inputs,
                                                  const ImportOptions& options);

}  // namespace berth::onnx
