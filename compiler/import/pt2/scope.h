// Scope: the meanings of the names of a graph while it is imported.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/ir/argument.h"

namespace berth::pt2 {

/// A tensor (ValueId), a size (Dim), a number, a boolean, a string or None; or unknown, with the reason.
struct Operand {
  ir::Argument value;
  std::string unknown;  // when not empty, the value means nothing
};

using Scope = std::unordered_map<std::string, Operand>;

}  // namespace berth::pt2
