// call(): one operator of the IR applied to host memory through its portable kernel.
#pragma once

#include <functional>
#include <vector>

#include "base/failure.h"
#include "compiler/eval/array.h"
#include "compiler/ir/module.h"

namespace berth::eval {

/// The numbers that symbols stand for in one run of a method.
class Binding {
 public:
  explicit Binding(const ir::Symbols& symbols) : symbols_(symbols), numbers_(symbols.size()), known_(symbols.size()) {}

  /// The number that `dim` is; false while it depends on a symbol that is not known.
  bool find(ir::Dim dim, int64_t* out) const;
  /// Makes `dim` known as `size` if it is an input symbol or equal to it. False when it is known as another number.
  bool bind(ir::Dim dim, int64_t size);
  const ir::Symbols& symbols() const { return symbols_; }

 private:
  const ir::Symbols& symbols_;
  IdVector<ir::SymbolId, int64_t> numbers_;
  IdVector<ir::SymbolId, bool> known_;
};

/// A value as a kernel reads it. Views must stay valid during the call.
using Operand = std::variant<View, int64_t, double, bool>;

/// Applies `node`, an operator with a kernel, to operands that `operand_of` gives for the values it mentions. Results
/// take at most `max_bytes` together, the kernel's temporary memory included. Failures name the operator.
Expected<std::vector<Array>> call(const ir::Method& method, const ir::Node& node, Binding& binding,
                                  const std::function<Operand(ir::ValueId)>& operand_of, int64_t max_bytes);

}  // namespace berth::eval
