// Shape rules: infer_<rule> for each rule named in format/operators.def. Each follows PyTorch's semantics and says what
// it expected and found when the arguments do not fit. Device of results: that of the first tensor argument.
#pragma once

#include "compiler/ir/operators.h"

namespace berth::ir {

#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, ...) \
  Expected<std::vector<Type>> infer_##rule(const ShapeQuery& query);
#include "format/operators.def"
#undef OP

}  // namespace berth::ir
