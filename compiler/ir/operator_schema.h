// The schema of an operator as text: "Tensor self, Scalar alpha=1 -> Tensor out" (format/operators.def has the
// language).
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/operators.h"

namespace berth::ir {

/// Fills in the parameters and outputs of `op`, which point into `schema`. REQUIRES: a schema of the table, or one
/// without a schema_problem().
void parse_schema(std::string_view schema, Operator& op);

/// What is wrong with `schema` for an operator of one's own; empty when nothing is. There it is functional: it has
/// one or several results `Tensor x`, or one `Tensor[] x`, none of which is an argument, and no `@`; parameters have
/// different names and are at most 32 with the results; a default fits its type, and a str has no comma or quote.
std::string schema_problem(std::string_view schema);

}  // namespace berth::ir
