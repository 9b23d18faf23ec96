// A chain of element-wise operators while it is put together: inputs, constants and steps, as berth::elementwise has
// them (format/elementwise_code.h).
#pragma once

#include <array>
#include <vector>

#include "compiler/ir/module.h"
#include "format/elementwise_code.h"

namespace berth::fuse {

/// What a step reads: an input, a constant or a step before, by its place among those of its kind.
struct ChainOperand {
  enum class Kind : uint8_t { kInput, kConstant, kStep } kind = Kind::kInput;
  size_t index = 0;

  bool operator==(const ChainOperand& other) const { return kind == other.kind && index == other.index; }
};

struct ChainStep {
  elementwise::Op op;
  std::array<ChainOperand, 3> operands;

  bool operator==(const ChainStep& other) const { return op == other.op && operands == other.operands; }
};

struct ElementChain {
  /// The operand that stands for it. What is there already is not added again.
  ChainOperand input(ir::ValueId value);
  ChainOperand constant(double number);
  ChainOperand step(elementwise::Op op, ChainOperand a, ChainOperand b = {}, ChainOperand c = {});

  /// Whether it is within the operator's limits.
  bool fits() const;
  /// The operator's code: four numbers a step.
  ir::DimList code() const;

  std::vector<ir::ValueId> inputs;
  std::vector<double> constants;
  std::vector<ChainStep> steps;
  size_t nodes = 0;                     // that were read
  std::vector<ir::ValueId> read_often;  // bytes that other chains read as well

 private:
  int64_t number_of(ChainOperand operand) const;
};

}  // namespace berth::fuse
