// Scope: the meanings of the names of a graph while it is imported.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/import/lowering/complex.h"
#include "compiler/ir/argument.h"

namespace berth::pt2 {

/// A tensor (ValueId), a size (Dim), a number, a boolean, a string or None; or unknown, with the reason. Tensors of
/// complex numbers are unknown to all that do not ask for their parts.
struct Operand {
  ir::Argument value;
  std::string unknown;      // when not empty, the value means nothing
  lowering::Complex parts;  // of a complex tensor, both; otherwise neither

  bool is_complex() const { return parts.real.valid(); }
};

/// REQUIRES: both parts are valid.
inline Operand complex_operand(lowering::Complex parts) {
  return {ir::None(),
          "holds complex numbers; make them real ones first, with torch.view_as_real(), .real, .imag or .abs()", parts};
}

/// The tensor, or the real part of the complex one; null for what is not a tensor.
inline const ir::ValueId* shape_of(const Operand& operand) {
  return operand.is_complex() ? &operand.parts.real : std::get_if<ir::ValueId>(&operand.value);
}

using Scope = std::unordered_map<std::string, Operand>;

}  // namespace berth::pt2
