#include "compiler/fuse/element_chain.h"

#include <algorithm>
#include <cmath>

namespace berth::fuse {

ChainOperand ElementChain::input(ir::ValueId value) {
  const auto found = std::find(inputs.begin(), inputs.end(), value);
  const size_t at = found - inputs.begin();
  if (found == inputs.end()) inputs.push_back(value);
  return {ChainOperand::Kind::kInput, at};
}

ChainOperand ElementChain::constant(double number) {
  // -0 is another number than 0: one divides to -inf.
  const auto same = [&](double other) { return other == number && std::signbit(other) == std::signbit(number); };
  const auto found = std::find_if(constants.begin(), constants.end(), same);
  const size_t at = found - constants.begin();
  if (found == constants.end()) constants.push_back(number);
  return {ChainOperand::Kind::kConstant, at};
}

ChainOperand ElementChain::step(elementwise::Op op, ChainOperand a, ChainOperand b, ChainOperand c) {
  const ChainStep wanted = {op, {a, b, c}};
  const size_t at = std::find(steps.begin(), steps.end(), wanted) - steps.begin();
  if (at == steps.size()) steps.push_back(wanted);
  return {ChainOperand::Kind::kStep, at};
}

bool ElementChain::fits() const {
  return !inputs.empty() && inputs.size() <= elementwise::kMaxInputs &&
         constants.size() <= elementwise::kMaxConstants && steps.size() <= elementwise::kMaxSteps;
}

int64_t ElementChain::number_of(ChainOperand operand) const {
  const size_t first = operand.kind == ChainOperand::Kind::kInput      ? 0
                       : operand.kind == ChainOperand::Kind::kConstant ? inputs.size()
                                                                       : inputs.size() + constants.size();
  return static_cast<int64_t>(first + operand.index);
}

ir::DimList ElementChain::code() const {
  ir::DimList code;
  for (const ChainStep& step : steps) {
    code.push_back(ir::Dim(static_cast<int64_t>(step.op)));
    for (int k = 0; k < 3; ++k) {
      const bool used = k < elementwise::operands(step.op);
      code.push_back(ir::Dim(used ? number_of(step.operands[k]) : 0));
    }
  }
  return code;
}

}  // namespace berth::fuse
