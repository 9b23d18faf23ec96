#include "format/plan_check/operator_access.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace berth::format {
namespace {

struct Row {
  const char* name;
  const char* overload;
  const char* kernel;
  const char* schema;
  uint32_t in_place;
  bool overwrites;
};

template <typename... I>
constexpr uint32_t arguments(I... indices) {
  return ((1u << indices) | ... | 0u);
}

#define NEVER 0u
#define ELEMENT(...) arguments(__VA_ARGS__)
#define ROW(...) arguments(__VA_ARGS__)
#define SELF(...) arguments(__VA_ARGS__)
#define PLAIN false
#define RANDOM false
#define FUSED false
#define HOST_TO_DEVICE false
#define DEVICE_TO_HOST false
#define DEVICE_TO_DEVICE false
#define DEQUANTIZES false
#define OVERWRITES true
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, sizes, \
           role) \
  {name, out, out[0] == '\0' ? name : name "." out, schema, in_place, role},
constexpr Row kRows[] = {
#include "format/operators.def"
};
#undef OP
#undef OVERWRITES
#undef DEQUANTIZES
#undef DEVICE_TO_DEVICE
#undef DEVICE_TO_HOST
#undef HOST_TO_DEVICE
#undef FUSED
#undef RANDOM
#undef PLAIN
#undef SELF
#undef ROW
#undef ELEMENT
#undef NEVER

/// Kernels that change an input beside their results, of operators that the table does not have.
struct Changing {
  const char* name;
  const char* overload;
  uint32_t changed;
};
constexpr Changing kChanging[] = {
    {"aten::native_batch_norm", "out", arguments(3, 4)},
    {"llama::update_cache", "out", arguments(1)},
    {"llama::update_cache_with_indices", "out", arguments(1)},
    {"llama::sdpa_with_kv_cache", "out", arguments(3, 4)},
};

/// Calls `visit(argument, index)` for the arguments of `schema` before "->", without those that the out variant does
/// not have.
template <typename Visit>
void for_each_input(std::string_view schema, const Visit& visit) {
  std::string_view rest = schema.substr(0, schema.find("->"));
  int index = 0;
  while (!rest.empty()) {
    const std::string_view argument = rest.substr(0, rest.find(", "));
    if (argument[0] != '@') visit(argument, index++);
    rest.remove_prefix(std::min(argument.size() + 2, rest.size()));
  }
}

int16_t count_inputs(std::string_view schema) {
  int count = 0;
  for_each_input(schema, [&](std::string_view, int) { ++count; });
  return static_cast<int16_t>(count);
}

/// "momentum" of "float momentum=0.1".
std::string_view name_of(std::string_view argument) {
  const std::string_view name = argument.substr(argument.find(' ') + 1);
  return name.substr(0, name.find_first_of("= "));
}

/// The inputs that `schema` lists behind a result, as in "-> Tensor out, Tensor(running_mean)".
uint32_t changed_inputs(std::string_view schema) {
  constexpr std::string_view kChanged = ", Tensor(";
  uint32_t changed = 0;
  for (size_t at = schema.find(kChanged); at != std::string_view::npos; at = schema.find(kChanged, at + 1)) {
    const std::string_view output = schema.substr(at + kChanged.size());
    for_each_input(schema, [&](std::string_view argument, int index) {
      if (name_of(argument) == output.substr(0, output.find(')'))) changed |= 1u << index;
    });
  }
  return changed;
}

constexpr char kRow[] = "berth::row";

bool equal(const flatbuffers::String* a, const char* b) { return std::strcmp(text(a), b) == 0; }

bool starts_with(const flatbuffers::String* a, const char* b) { return std::strncmp(text(a), b, std::strlen(b)) == 0; }

}  // namespace

bool names_bytes(const char* name) {
  return std::strcmp(name, "executorch_prim::et_view") == 0 || std::strcmp(name, kRow) == 0;
}

bool overwrites_first(const char* kernel) {
  for (const Row& row : kRows) {
    if (row.overwrites && std::strcmp(kernel, row.kernel) == 0) return true;
  }
  return std::strcmp(kernel, "executorch_prim::et_copy_index.tensor") == 0 ||
         std::strcmp(kernel, "berth::row.write") == 0;
}

OperatorAccess operator_access(const fb::Operator& op) {
  OperatorAccess access;
  for (const Row& row : kRows) {
    if (!equal(op.name(), row.name) || !equal(op.overload(), row.overload)) continue;
    access.known = true;
    access.in_place = row.in_place;
    access.inputs = count_inputs(row.schema);
    access.changed = changed_inputs(row.schema);
    access.replaces_self = row.overwrites;
    break;
  }
  for (const Changing& row : kChanging) {
    if (equal(op.name(), row.name) && equal(op.overload(), row.overload)) access.changed = row.changed;
  }
  if (names_bytes(text(op.name()))) {
    access.known = true;
    access.kind = equal(op.name(), kRow) && equal(op.overload(), "write") ? OperatorAccess::Kind::kRow
                                                                          : OperatorAccess::Kind::kView;
  }
  if (equal(op.name(), "executorch_prim::et_copy_index")) access.kind = OperatorAccess::Kind::kCopyIndex;
  // The scalar operators write no tensor.
  if (starts_with(op.name(), "executorch_prim::") || starts_with(op.name(), "aten::sym_") ||
      equal(op.name(), "aten::_local_scalar_dense")) {
    access.known = true;
  }
  return access;
}

}  // namespace berth::format
