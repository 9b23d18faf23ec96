#include "runtime/signature.h"

#include <cstring>

namespace berth {
namespace {

struct KindName {
  const char* name;
  ArgKind kind;
};

constexpr KindName kKindNames[] = {
    {"Tensor", ArgKind::kTensor},
    {"Tensor[]", ArgKind::kTensorList},
    {"Tensor?[]", ArgKind::kOptionalTensorList},
    {"Scalar", ArgKind::kScalar},
    {"int", ArgKind::kInt},
    {"int[]", ArgKind::kIntList},
    {"float", ArgKind::kFloat},
    {"float[]", ArgKind::kFloatList},
    {"bool", ArgKind::kBool},
    {"bool[]", ArgKind::kBoolList},
    {"str", ArgKind::kText},
    {"ScalarType", ArgKind::kInt},
    {"MemoryFormat", ArgKind::kInt},
    {"Layout", ArgKind::kInt},
    {"slot", ArgKind::kSlot},
    {"view", ArgKind::kView},
    {"row", ArgKind::kRow},
};

bool find_kind(const char* begin, const char* end, ArgKind* out) {
  const size_t length = end - begin;
  for (const KindName& entry : kKindNames) {
    if (std::strlen(entry.name) == length && std::memcmp(entry.name, begin, length) == 0) {
      *out = entry.kind;
      return true;
    }
  }
  return false;
}

bool name_character(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

const char* name_end(const char* begin) {
  while (name_character(*begin)) ++begin;
  return begin;
}

// The end of one parameter: a comma, the arrow or the end of the text, outside of brackets.
const char* parameter_end(const char* text) {
  int depth = 0;
  for (; *text != '\0'; ++text) {
    if (*text == '[' || *text == '(') ++depth;
    if (*text == ']' || *text == ')') --depth;
    if (depth == 0 && (*text == ',' || (text[0] == '-' && text[1] == '>'))) break;
  }
  return text;
}

bool accepts_items(Span<EValue* const> items, Tag tag, bool none) {
  for (const EValue* item : items) {
    if (item->tag() != tag && !(none && item->is_none())) return false;
  }
  return true;
}

}  // namespace

bool Signature::mark_written(const char* begin, const char* end) {
  const size_t length = end - begin;
  for (size_t i = 0; i < size_; ++i) {
    if (std::strncmp(names_[i], begin, length) == 0 && !name_character(names_[i][length])) {
      parameters_[i].written = true;
      return true;
    }
  }
  return false;
}

bool Signature::add(const char* begin, const char* end, bool output) {
  while (begin < end && *begin == ' ') ++begin;
  while (begin < end && end[-1] == ' ') --end;
  if (begin == end) return true;
  if (*begin == '@') return true;
  constexpr char kWritten[] = "Tensor(";
  constexpr size_t kWrittenLength = sizeof(kWritten) - 1;
  if (output && std::strncmp(begin, kWritten, kWrittenLength) == 0) {
    return mark_written(begin + kWrittenLength, name_end(begin + kWrittenLength));
  }
  const char* space = static_cast<const char*>(std::memchr(begin, ' ', end - begin));
  if (space == nullptr || size_ == kMaxParameters) return false;
  Parameter& parameter = parameters_[size_];
  parameter = Parameter();
  const char* kind_end = space;
  parameter.optional = kind_end[-1] == '?';
  if (parameter.optional) --kind_end;
  if (!find_kind(begin, kind_end, &parameter.kind)) return false;
  parameter.output = output;
  parameter.written = output && parameter.kind != ArgKind::kSlot;
  names_[size_++] = space + 1;
  return true;
}

bool Signature::parse(const char* text, Signature* out) {
  out->size_ = 0;
  out->arguments_ = 0;
  bool output = false;
  for (;;) {
    const char* end = parameter_end(text);
    if (!out->add(text, end, output)) return false;
    if (!output) out->arguments_ = out->size_;
    if (*end == '\0') return output;
    if (*end == ',') {
      text = end + 1;
    } else {
      if (output) return false;
      output = true;
      text = end + 2;
    }
  }
}

bool accepts(const Parameter& parameter, const EValue& value) {
  if (value.is_none()) return parameter.optional || parameter.kind == ArgKind::kSlot;
  switch (parameter.kind) {
    case ArgKind::kTensor:
    case ArgKind::kView:
    case ArgKind::kRow: return value.is_tensor();
    case ArgKind::kTensorList:
      return value.tag() == Tag::kTensorList && accepts_items(value.items(), Tag::kTensor, false);
    case ArgKind::kOptionalTensorList:
      return value.tag() == Tag::kTensorList && accepts_items(value.items(), Tag::kTensor, true);
    case ArgKind::kScalar:
    case ArgKind::kSlot: return value.is_scalar();
    case ArgKind::kInt: return value.is_int();
    case ArgKind::kIntList: return value.tag() == Tag::kIntList && accepts_items(value.items(), Tag::kInt, false);
    case ArgKind::kFloat: return value.is_double() || value.is_int();
    case ArgKind::kFloatList: return value.tag() == Tag::kDoubleList;
    case ArgKind::kBool: return value.is_bool();
    case ArgKind::kBoolList: return value.tag() == Tag::kBoolList;
    case ArgKind::kText: return value.tag() == Tag::kString;
  }
  return false;
}

const char* to_string(ArgKind kind) {
  switch (kind) {
    case ArgKind::kTensor: return "a tensor";
    case ArgKind::kTensorList: return "a list of tensors";
    case ArgKind::kOptionalTensorList: return "a list of tensors or none";
    case ArgKind::kScalar: return "a number";
    case ArgKind::kInt: return "an integer";
    case ArgKind::kIntList: return "a list of integers";
    case ArgKind::kFloat: return "a floating-point number";
    case ArgKind::kFloatList: return "a list of floating-point numbers";
    case ArgKind::kBool: return "a boolean";
    case ArgKind::kBoolList: return "a list of booleans";
    case ArgKind::kText: return "a string";
    case ArgKind::kSlot: return "a slot for a number";
    case ArgKind::kView:
    case ArgKind::kRow: return "a tensor";
  }
  return "nothing known";
}

const char* to_string(Tag tag) {
  switch (tag) {
    case Tag::kNone: return "none";
    case Tag::kTensor: return "a tensor";
    case Tag::kString: return "a string";
    case Tag::kDouble: return "a floating-point number";
    case Tag::kInt: return "an integer";
    case Tag::kBool: return "a boolean";
    case Tag::kBoolList: return "a list of booleans";
    case Tag::kDoubleList: return "a list of floating-point numbers";
    case Tag::kIntList: return "a list of integers";
    case Tag::kTensorList: return "a list of tensors";
  }
  return "nothing known";
}

}  // namespace berth
