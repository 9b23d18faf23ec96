// SymbolTable: torch.export's symbolic sizes as the IR's.
//
// Symbols have names such as s77 and ranges; sizes are sympy's srepr texts over them: "Mul(Integer(2), Symbol('s77',
// positive=True, integer=True))". A symbol that is a size of an input by itself is one of the IR's inputs; one that
// occurs only as a * s + c is computed back from that size.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/lowering/extents.h"
#include "compiler/import/lowering/named_sizes.h"
#include "compiler/import/options.h"
#include "compiler/import/pt2/schema.h"
#include "compiler/ir/dim.h"

namespace berth::pt2 {

using ir::Dim;

/// An input whose sizes are to be bound.
struct SizedInput {
  std::string name;
  const TensorMeta* meta = nullptr;
};

class SymbolTable {
 public:
  /// Borrows `symbols`.
  SymbolTable(ir::Symbols& symbols, std::map<std::string, Range> ranges)
      : symbols_(symbols), ranges_(std::move(ranges)) {}

  /// Makes the IR's symbols from the sizes of `inputs` and of what the user says in `options` ("1..8x3x224x224" by
  /// input name; for an input that is a number, the number). Fails with the input as place when a size has no upper
  /// bound, when the options contradict the model or name no input.
  Status bind_inputs(const std::vector<SizedInput>& inputs, const std::map<std::string, Size>& numbers,
                     const ImportOptions& options);

  /// The value of `size`. NotSupported for a symbol that is not an input's size, or for functions that sizes of tensors
  /// do not have; InvalidProgram for text that is not an expression.
  Expected<Dim> value(const Size& size);

  /// The IR's symbol for `size`, a number that only the data tell: when it is nothing but a symbol that has no value
  /// yet, and the file says that it lies from 0 to a number below 2^31. NotSupported otherwise.
  Expected<Dim> bounded(const Size& size);

  /// Gives the symbol of `size`, when it is nothing but one that has no value yet, the value `dim`.
  void learn(const Size& size, Dim dim);

  ir::Symbols& symbols() { return symbols_; }

 private:
  Status read_options(const std::vector<SizedInput>& inputs, const std::map<std::string, Size>& numbers,
                      const ImportOptions& options);
  Status check_input(const SizedInput& input) const;
  Status bind_plain(const std::vector<SizedInput>& inputs, const ImportOptions& options);
  Status declare(const SizedInput& input, size_t axis, lowering::NamedSizes& sizes);
  Failure ask_for_bounds(const std::vector<SizedInput>& inputs, const lowering::NamedSizes& sizes) const;
  const lowering::Extent* given(const SizedInput& input, size_t axis) const;
  Status bind_affine(const SizedInput& input, size_t axis, const lowering::Extent* given);
  Expected<lowering::Extent> range_of(const SizedInput& input, size_t axis, const std::string& symbol,
                                      const lowering::Extent* given) const;

  ir::Symbols& symbols_;
  std::map<std::string, Range> ranges_;
  std::map<std::string, std::vector<lowering::Extent>, std::less<>> given_;  // by input
  std::map<std::string, lowering::Extent> said_;                             // by symbol, of --input-shape
  std::map<std::string, Dim, std::less<>> values_;                           // by symbol
  std::map<std::string, Dim, std::less<>> expressions_;  // sizes of inputs that are expressions, by their text
};

/// "s77" for "Symbol('s77', …)", empty for any other expression.
std::string plain_symbol(const std::string& expression);
/// Every symbol that `expression` mentions, in order, each once.
std::vector<std::string> symbols_in(const std::string& expression);

}  // namespace berth::pt2
