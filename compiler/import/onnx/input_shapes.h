// The types of a model's inputs, from the file and from the options.
#pragma once

#include "compiler/import/lowering/extents.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model.h"

namespace berth::onnx {

using lowering::Extent;

/// The tensor types of `inputs`, one each. A symbolic dimension (dim_param) that gets a number from one input has it in
/// all; one with a range becomes a symbol of that name. Fails when an input is not a tensor, when a dimension stays
/// unknown (saying what to pass), when the options contradict the model or each other, or name no input.
Expected<std::vector<ir::TensorType>> input_types(ir::Symbols& symbols, const std::vector<const ValueInfo*>& inputs,
                                                  const ImportOptions& options);

}  // namespace berth::onnx
