// Python's arithmetic on numbers that are known only at run time, as operators on zero-dimensional tensors: integers
// are i64, real numbers f64, booleans bool. The names are those of `operator` and of torch's `sym_…` functions, which
// torch.export and ExecuTorch (executorch_prim) share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::lowering {

/// Converts the operands to f64 if `real` is set or one of them is f64, applies `op`, and converts the result to
/// `gives`.
struct NumberOperator {
  enum class Last { kOperand, kFactorOne, kRoundedDown };

  std::string_view name;
  size_t operands;
  std::optional<ir::OpId> op;  // none: the operand itself
  std::optional<DType> gives;  // none: what `op` gives
  bool real = false;
  Last last = Last::kOperand;

  bool takes_real(const std::vector<DType>& types) const;
  /// The operands of `op`. REQUIRES: `operands` values.
  std::vector<ir::Argument> arguments(const std::vector<ir::ValueId>& values) const;
};

/// Null when there is none of that name and number of operands. "mod" has the sign of the divisor, as in Python;
/// "fmod" that of the dividend, as in C.
const NumberOperator* find_number_operator(std::string_view name, size_t operands);

}  // namespace berth::lowering
