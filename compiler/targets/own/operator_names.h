// The names of the operators of format/operators.def, for targets that have lists of them.
#pragma once

#include <string>

namespace berth::targets::own {

/// The operators by their identifiers, in the order of the table.
enum class Row : int {
#define OP(identifier, ...) identifier,
#include "format/operators.def"
#undef OP
};

struct OperatorName {
  const char* name;
  const char* overload;
};
#define OP(identifier, name, overload, ...) {name, overload},
inline constexpr OperatorName kOperatorNames[] = {
#include "format/operators.def"
};
#undef OP

/// "aten::add.Tensor".
inline std::string operator_name(Row row) {
  const OperatorName& name = kOperatorNames[static_cast<int>(row)];
  return name.name + std::string(name.overload[0] == '\0' ? "" : ".") + name.overload;
}

}  // namespace berth::targets::own
