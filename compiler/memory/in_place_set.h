// Which operators may compute a result into the bytes of an input, and of which: what the operator table says
// (format/operators.def), or fewer, as the caller chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/ir/operators.h"

namespace berth::memory {

class InPlaceSet {
 public:
  /// All that the operator table has.
  InPlaceSet();

  /// What `entries` name and nothing else; no entry, no operator. An entry is an operator by its functional name with
  /// all arguments that its row has, "aten::add.Tensor", or with some of them, "aten::add.Tensor=self" or
  /// "aten::add.Tensor=self+other".
  ///
  /// InvalidArgument for an operator that does not exist, for an argument that it does not have, and for one that its
  /// row does not let it overwrite: kernels and the plan check go by the row, so a choice can only be narrower.
  static Expected<InPlaceSet> only(const std::vector<std::string>& entries);

  bool allows(const ir::Operator& op, size_t argument) const {
    return argument < 32 && (arguments_[static_cast<size_t>(op.id)] >> argument & 1u) != 0;
  }
  bool allows_any(const ir::Operator& op) const { return arguments_[static_cast<size_t>(op.id)] != 0; }

 private:
  std::vector<uint32_t> arguments_;  // by OpId; bit i: argument i
};

}  // namespace berth::memory
