// What the shape rules of fused operators ask of arguments that several of them have.
#pragma once

#include <string>

#include "compiler/ir/shape_args.h"

namespace berth::ir {

/// The text at argument `i`. REQUIRES: it is one.
const std::string& text_of(const ShapeArgs& args, size_t i);

/// That it is the name of an activation.
Status expect_activation(const ShapeArgs& args, size_t i);

Status expect_f32(const ShapeArgs& args, const TensorType& type);

/// That argument `i` is None, or of f32 and this shape.
Status expect_residual(const ShapeArgs& args, size_t i, const Shape& shape);

/// The sizes of the dense weight: the first list in brackets of a packing's text.
Expected<Shape> packed_shape(const ShapeArgs& args, const std::string& packing);

}  // namespace berth::ir
