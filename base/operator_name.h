// Names of operators that an application or a plug-in brings: "my::gain", or "my::gain.Tensor" for one of several
// overloads.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// What is wrong with `name` for an operator of one's own; empty when nothing is. It has a name space, "::", a name
/// and, behind a dot, perhaps an overload, of letters, digits and underscores, at most 120 in all; the name space may
/// have dots, as ONNX's domains do. Name spaces of PyTorch, ONNX, ExecuTorch and Berth are not one's own.
std::string own_operator_problem(std::string_view name);

}  // namespace berth
