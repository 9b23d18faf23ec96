// Signature: a parsed kernel schema, and the check of a call's values against it.
//
//     "Tensor self, Scalar alpha=1, @ScalarType? dtype=None -> Tensor out"
//
// The language is that of format/operators.def, with three more kinds of output: `slot`, a number that the kernel
// replaces, with its tag, and `view`, a tensor whose data pointer the kernel sets; `row` is a view that may be written.
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
  kRow,
};

struct Parameter {
  ArgKind kind = ArgKind::kTensor;
  /// Whether None is accepted too.
  bool optional = false;
  /// Whether the kernel writes the elements of this tensor (or of the tensors in this list) …
  bool written = false;
  /// … and may resize it: it is an output, not an argument that is changed in place.
  bool output = false;
};

class Signature {
 public:
  /// More than any operator of ATen has; longer signatures do not parse.
  static constexpr size_t kMaxParameters = 32;

  /// Parses `text` into `*out`; false when it is not a signature of at most kMaxParameters parameters. Does not use the
  /// heap; takes about 100 ns.
  static bool parse(const char* text, Signature* out);

  /// The parameters of a call: the arguments of the out variant, then the outputs.
  Span<const Parameter> parameters() const { return {parameters_, size_}; }
  /// The number of arguments among the parameters; the outputs follow.
  size_t arguments() const { return arguments_; }
  /// Whether the result is a slot instead of an out tensor.
  bool returns_slot() const { return size_ > arguments_ && parameters_[size_ - 1].kind == ArgKind::kSlot; }

 private:
  bool add(const char* begin, const char* end, bool output);
  bool mark_written(const char* begin, const char* end);

  Parameter parameters_[kMaxParameters];
  // Each parameter's name in the parsed text; used only while parsing.
  const char* names_[kMaxParameters] = {};
  size_t size_ = 0;
  size_t arguments_ = 0;
};

/// Whether `value` is a valid argument for `parameter`: checks its tag, and the tags of a list's elements. An Int is
/// accepted for a float; the caller of the kernel converts it to a Double.
bool accepts(const Parameter& parameter, const EValue& value);

/// "Tensor", "int list", …, for messages.
const char* to_string(ArgKind kind);
const char* to_string(Tag tag);

}  // namespace berth
