// The value of a sympy expression in srepr text.
#pragma once

#include <functional>
#include <string>

#include "base/failure.h"
#include "compiler/ir/dim.h"

namespace berth::pt2 {

/// What a symbol stands for; null when it has no value.
using SymbolValue = std::function<const ir::Dim*(const std::string& name)>;

/// Evaluates `text`: Symbol, Integer, Rational, Float, Add, Mul, Pow, FloorDiv, CleanDiv, Mod, PythonMod, Max, Min,
/// IntTrueDiv and the roundings of torch.utils._sympy and sympy. Fractions may occur inside; the whole is an integer.
/// InvalidProgram for other text, NotSupported for other functions and symbols without a value.
Expected<ir::Dim> evaluate_expression(const std::string& text, ir::Symbols& symbols, const SymbolValue& value_of);

}  // namespace berth::pt2
