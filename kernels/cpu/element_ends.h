// Which steps of an element-wise chain its ends do on their way: a quantised input that is first made a float by
// (x - zero) * scale, and a result that is at last made a byte by rounding and limits (element_bytes.h). Where numbers
// are made bytes on the way, one pass does these steps.
#pragma once

#include "kernels/cpu/element_bytes.h"
#include "kernels/cpu/element_chain.h"

namespace berth::cpu {

struct ChainEnds {
  static constexpr uint8_t kNone = 255;

  explicit ChainEnds(const Chain& chain);

  /// Of each input of whole numbers: what it stands for; inputs of other types are converted alone.
  Dequantising load[elementwise::kMaxInputs];
  /// Of each step: the input that is its result already, else kNone.
  uint8_t loaded[elementwise::kMaxSteps];
  /// Of each step: the store does it, or the pass of a step behind it.
  bool stored[elementwise::kMaxSteps] = {};
  /// The operand that the store reads; for floats the last step.
  size_t source = 0;
  /// Whether the store quantises; else what it reads is converted as it is.
  bool quantises = false;
  Quantising store;

  /// Steps that make bytes of numbers, with those before them: what they read, and how.
  struct Rounding {
    size_t step = 0, source = 0;
    Quantising by;
  };
  static constexpr size_t kMostRoundings = elementwise::kMaxSteps / 3;
  Rounding rounding[kMostRoundings];
  size_t roundings = 0;

  /// Null where step `s` is what it is.
  const Rounding* rounding_of(size_t s) const {
    for (size_t i = 0; i < roundings; ++i) {
      if (rounding[i].step == s) return &rounding[i];
    }
    return nullptr;
  }

  /// Whether step `s` is left to be computed.
  bool computes(size_t s) const { return loaded[s] == kNone && !stored[s]; }

 private:
  void find_load(const Chain& chain, size_t input);
  void find_store(const Chain& chain);
  void find_roundings(const Chain& chain);
  bool match_rounding(const Chain& chain, size_t s, Rounding* found);

  int uses_[elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps] = {};
};

}  // namespace berth::cpu
