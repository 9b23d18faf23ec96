// Which operators may compute a result into the bytes of an input, and of which: what the operator table says
// (format/operators.def), or fewer, as the caller chooses; and of operators of one's own what their makers say, or what
// the caller says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/enum_array.h"
#include "base/failure.h"
#include "compiler/ir/own_operators.h"

namespace berth::memory {

class InPlaceSet {
 public:
  /// All that the operator table has.
  InPlaceSet();

  /// What `entries` name and nothing else; no entry, no operator. An entry is an operator by its functional name with
  /// all arguments that its row has, "aten::add.Tensor", or with some of them, "aten::add.Tensor=self" or
  /// "aten::add.Tensor=self+other". Where each entry begins with a '+', they come beside what the table has.
  ///
  /// Of an operator of one's own, one of `own` (which may be null), an entry may name any argument that is a tensor:
  /// the choice is wider than what its maker says. The plan is proved for it like any other, the file says which
  /// arguments the kernel must allow, and a runtime whose kernel does not refuses the file.
  ///
  /// InvalidArgument for an operator that does not exist, for an argument that it does not have, and for one that its
  /// row does not let it overwrite: kernels and the plan check go by the row, so a choice can only be narrower.
  static Expected<InPlaceSet> only(const std::vector<std::string>& entries, const ir::OperatorSet* own = nullptr);

  bool allows(const ir::Operator& op, size_t argument) const {
    return argument < 32 && (chosen(op) >> argument & 1u) != 0;
  }
  bool allows_any(const ir::Operator& op) const { return chosen(op) != 0; }
  /// Whether any choice could let `op` overwrite `argument`, and this one if it is wider than the operator's row.
  bool may_allow(const ir::Operator& op, size_t argument) const {
    return argument < 32 && (possible(op) >> argument & 1u) != 0;
  }
  bool may_allow_any(const ir::Operator& op) const { return possible(op) != 0; }

 private:
  using Arguments = EnumArray<ir::OpId, uint32_t, ir::OpId::kCount>;

  static Failure refused(const std::string& entry, const std::string& message);
  Status add(const std::string& entry, const ir::OperatorSet* own);
  Status add_own(const std::string& entry, const ir::Operator& op, const std::vector<std::string>& arguments);

  uint32_t chosen(const ir::Operator& op) const;
  uint32_t possible(const ir::Operator& op) const;

  Arguments arguments_;                          // of the table's; bit i: argument i
  std::map<const ir::Operator*, uint32_t> own_;  // of one's own, where the caller chose
  bool others_keep_theirs_ = true;               // those of one's own that are not in own_
};

}  // namespace berth::memory
