// Signature: a kernel's schema text, taken apart, and the rule by which a call's values are held to it.
//
//     "Tensor self, Scalar alpha=1, @ScalarType? dtype=None -> Tensor out"
//
// The language is that of format/operators.def, and two kinds of output beside its own: `slot`, a place for a number
// whose value and tag the kernel replaces, and `view`, a tensor whose data pointer the kernel moves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/value.h"

namespace berth {

enum class ArgKind : uint8_t {
  kTensor,
  kTensorList,
  kOptionalTensorList,
  kScalar,  // Int, Double or Bool
  kInt,     // also ScalarType, MemoryFormat, Layout
  kIntList,
  kFloat,
  kFloatList,
  kBool,
  kBoolList,
  kText,
  kSlot,
  kView,
};

struct Parameter {
  ArgKind kind = ArgKind::kTensor;
  /// None is accepted too.
  bool optional = false;
  /// The kernel writes the elements of this tensor (or of the tensors of this list) …
  bool written = false;
  /// … and may resize it: it is an output, not an argument that is changed where it lies.
  bool output = false;
};

class Signature {
 public:
  /// No operator of ATen comes near; a longer signature does not parse.
  static constexpr size_t kMaxParameters = 32;

  /// Whether `text` is a signature of at most kMaxParameters parameters; then `*out` is it. No heap; about 100 ns.
  static bool parse(const char* text, Signature* out);

  /// What a kernel is called with: the arguments of the out variant, then the outputs.
  Span<const Parameter> parameters() const { return {parameters_, size_}; }
  /// How many of them are arguments; the outputs follow.
  size_t arguments() const { return arguments_; }
  /// Whether a result is a slot instead of an out tensor.
  bool returns_slot() const { return size_ > arguments_ && parameters_[size_ - 1].kind == ArgKind::kSlot; }

 private:
  bool add(const char* begin, const char* end, bool output);
  bool mark_written(const char* begin, const char* end);

  Parameter parameters_[kMaxParameters];
  // Where each parameter's name stands in the text that was parsed; used while parsing only.
  const char* names_[kMaxParameters] = {};
  size_t size_ = 0;
  size_t arguments_ = 0;
};

/// Whether `value` may stand where `parameter` is: its tag, and the tags of a list's elements. An Int is accepted for a
/// float; who calls the kernel turns it into a Double.
bool accepts(const Parameter& parameter, const EValue& value);

/// "Tensor", "int list", …, for messages.
const char* to_string(ArgKind kind);
const char* to_string(Tag tag);

}  // namespace berth
