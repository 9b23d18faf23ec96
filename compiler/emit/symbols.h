// Sizes that are known only when a program runs: which symbols its instructions need as numbers, and the instructions
// that compute them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/emit/code.h"
#include "compiler/ir/module.h"
#include "compiler/memory/model.h"

namespace berth::emit {

/// Each needed symbol is computed once, as soon as that is possible: an input symbol by `aten::sym_size` of the first
/// tensor that has it as a dimension (method inputs come first), the others by `executorch_prim` operators.
class SymbolSlots {
 public:
  /// Finds what is needed: by arguments that kernels get, by views that set sizes, by outputs. All three must outlive
  /// this.
  SymbolSlots(const ir::Module& module, const ir::Method& method, const memory::Aliases& aliases);

  /// Appends the instructions of all needed symbols that can be computed by now. `value_of` gives the file's index of
  /// each value of the method, -1 for those to come.
  void compute_ready(const IdVector<ir::ValueId, int32_t>& value_of, Code* code);

  /// The sizes that `executorch_prim::et_view` gets for the result of `view`. -1 stands for the one size that is not a
  /// number where it follows from the others: the elements are as many as those of the view's input, as expressions.
  /// Two symbols that should agree are both said, so that the view fails when they do not.
  ir::DimList view_sizes(const ir::Method& method, const ir::Node& view) const;

  /// The index of the Int that holds `dim`; InvalidArgument, without a place, when it is not computed yet.
  Expected<int32_t> integer(ir::Dim dim, Code* code) const;

 private:
  struct Source {
    ir::ValueId value;  // invalid: no tensor has this dimension
    int32_t dimension = 0;
  };

  void need(const ir::Argument& argument);
  void need_in(const ir::Method& method, const ir::Graph& graph, const memory::Aliases& aliases);
  void offer(const ir::Method& method, ir::ValueId value);
  bool is_ready(ir::Dim dim) const { return dim.is_constant() || slots_[dim.symbol] >= 0; }
  int32_t slot(ir::Dim dim, Code* code) const;
  int32_t compute(const ir::Symbol& symbol, Code* code) const;

  const ir::Symbols& symbols_;
  IdVector<ir::SymbolId, bool> needed_;
  IdVector<ir::SymbolId, Source> sources_;
  IdVector<ir::SymbolId, int32_t> slots_;  // the value that holds it, or -1
  bool complete_ = false;                  // all needed ones are computed
};

}  // namespace berth::emit
