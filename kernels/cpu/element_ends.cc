#include "kernels/cpu/element_ends.h"

#include <cmath>

namespace berth::cpu {
namespace {

using elementwise::Op;

bool is_whole(float x) { return x == std::nearbyint(x); }

bool is_whole_number(DType dtype) { return is_byte(dtype) || dtype == DType::kI32; }

// The constant that `operand` is, or null.
const float* constant_of(const Chain& chain, size_t operand) {
  const bool is_constant = operand >= chain.inputs && operand < chain.inputs + chain.constants;
  return is_constant ? &chain.constant[operand - chain.inputs] : nullptr;
}

// The one step that reads `operand`. REQUIRES: there is one.
size_t reader_of(const Chain& chain, size_t operand) {
  for (size_t s = 0; s < chain.steps; ++s) {
    for (int k = 0; k < elementwise::operands(chain.step[s].op); ++k) {
      if (chain.step[s].operand[k] == operand) return s;
    }
  }
  return chain.steps;
}

// A step of two operands of which one is a constant: the other, which is the first where the order counts.
struct WithNumber {
  size_t operand = 0;
  const float* number = nullptr;
};

WithNumber with_number(const Chain& chain, const ChainStep& step) {
  const float* second = constant_of(chain, step.operand[1]);
  if (second != nullptr) return {step.operand[0], second};
  const bool commutes = step.op == Op::kAdd || step.op == Op::kMul;
  return {step.operand[1], commutes ? constant_of(chain, step.operand[0]) : nullptr};
}

}  // namespace

ChainEnds::ChainEnds(const Chain& chain) {
  for (size_t s = 0; s < chain.steps; ++s) {
    loaded[s] = kNone;
    for (int k = 0; k < elementwise::operands(chain.step[s].op); ++k) ++uses_[chain.step[s].operand[k]];
  }
  source = chain.inputs + chain.constants + chain.steps - 1;
  find_store(chain);
  find_roundings(chain);
  for (size_t k = 0; k < chain.inputs; ++k) {
    if (is_whole_number(chain.input[k]->dtype()) && chain.table[k] == nullptr) find_load(chain, k);
  }
}

// The last step is left to be computed: it writes the result.
void ChainEnds::find_load(const Chain& chain, size_t input) {
  const size_t first = chain.inputs + chain.constants;
  size_t operand = input;
  for (const Op wanted : {Op::kSub, Op::kMul}) {
    if (uses_[operand] != 1) return;
    const size_t s = reader_of(chain, operand);
    const ChainStep& step = chain.step[s];
    if (stored[s] || first + s == source) return;
    const WithNumber found = with_number(chain, step);
    if (step.op != wanted || found.number == nullptr || found.operand != operand) continue;
    (wanted == Op::kSub ? load[input].zero : load[input].scale) = *found.number;
    loaded[s] = static_cast<uint8_t>(input);
    operand = first + s;
  }
}

// Backwards from step `s`: to a byte, perhaps a number for NaN, limits, perhaps a zero point, rounding, a factor. Where
// that is what there is, all of it but `s` is `stored`.
bool ChainEnds::match_rounding(const Chain& chain, size_t s, Rounding* found) {
  const size_t first = chain.inputs + chain.constants;
  const DType type = elementwise::result_type(chain.step[s].op);
  const float low = type == DType::kU8 ? 0 : -128;
  const float high = type == DType::kU8 ? 255 : 127;
  bool taken[elementwise::kMaxSteps] = {};
  size_t operand = chain.step[s].operand[0];
  Quantising by;

  const auto step_of = [&](Op op) -> const ChainStep* {
    if (operand < first || uses_[operand] != 1 || chain.step[operand - first].op != op) return nullptr;
    return &chain.step[operand - first];
  };
  const auto take = [&](size_t next) {
    taken[operand - first] = true;
    operand = next;
  };
  if (const ChainStep* step = step_of(Op::kNanTo)) {
    const float* number = constant_of(chain, step->operand[1]);
    if (number == nullptr || !(*number >= low && *number <= high) || !is_whole(*number)) return false;
    by.nan = *number;
    take(step->operand[0]);
  }
  const ChainStep* limits = step_of(Op::kClamp);
  if (limits == nullptr) return false;
  const float* least = constant_of(chain, limits->operand[1]);
  const float* most = constant_of(chain, limits->operand[2]);
  if (least == nullptr || most == nullptr || !(*least >= low && *least <= *most && *most <= high)) return false;
  if (!is_whole(*least) || !is_whole(*most)) return false;
  by.low = *least;
  by.high = *most;
  take(limits->operand[0]);
  if (const ChainStep* step = step_of(Op::kAdd)) {
    const WithNumber sum = with_number(chain, *step);
    if (sum.number == nullptr || !is_whole(*sum.number) || std::fabs(*sum.number) > kMostZero) return false;
    by.zero = *sum.number;
    take(sum.operand);
  }
  const ChainStep* rounding = step_of(Op::kRound);
  if (rounding == nullptr) return false;
  take(rounding->operand[0]);
  by.divides = step_of(Op::kDiv) != nullptr;
  const ChainStep* scaling = by.divides ? step_of(Op::kDiv) : step_of(Op::kMul);
  const WithNumber scaled = scaling != nullptr ? with_number(chain, *scaling) : WithNumber();
  if (scaled.number != nullptr) {
    by.factor = *scaled.number;
    take(scaled.operand);
  } else {
    by.divides = false;
  }
  for (size_t i = 0; i < s; ++i) stored[i] = stored[i] || taken[i];
  *found = {s, operand, by};
  return true;
}

void ChainEnds::find_store(const Chain& chain) {
  const size_t last = chain.steps - 1;
  const DType type = elementwise::result_type(chain.step[last].op);
  if (type == DType::kF32) return;
  Rounding found;
  quantises = is_byte(type) && match_rounding(chain, last, &found);
  stored[last] = true;
  source = quantises ? found.source : chain.step[last].operand[0];
  store = found.by;
}

void ChainEnds::find_roundings(const Chain& chain) {
  for (size_t s = 0; s + 1 < chain.steps && roundings < kMostRoundings; ++s) {
    if (stored[s] || !is_byte(elementwise::result_type(chain.step[s].op))) continue;
    if (match_rounding(chain, s, &rounding[roundings])) ++roundings;
  }
}

}  // namespace berth::cpu
