#include "format/plan_check/operator_access.h"

#include <cstring>

namespace berth::format {
namespace {

struct Row {
  const char* name;
  const char* overload;
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
  {name, out, schema, in_place, role},
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

/// Kernels that change an input beside their results.
struct Changing {
  const char* name;
  const char* overload;
  uint32_t changed;
};
constexpr Changing kChanging[] = {
    {"aten::_native_batch_norm_legit", "out", arguments(3, 4)},
    {"aten::native_batch_norm", "out", arguments(3, 4)},
    {"llama::update_cache", "out", arguments(1)},
    {"llama::update_cache_with_indices", "out", arguments(1)},
    {"llama::sdpa_with_kv_cache", "out", arguments(3, 4)},
};

/// Arguments of `schema` before "->", without those that the out variant does not have.
int16_t count_inputs(const char* schema) {
  const char* end = std::strstr(schema, "->");
  int count = 0;
  bool in_argument = false;
  for (const char* c = schema; c < end; ++c) {
    if (*c == ',') in_argument = false;
    if (*c == ',' || *c == ' ' || in_argument) continue;
    in_argument = true;
    if (*c != '@') ++count;
  }
  return static_cast<int16_t>(count);
}

bool equal(const flatbuffers::String* a, const char* b) { return std::strcmp(text(a), b) == 0; }

bool starts_with(const flatbuffers::String* a, const char* b) { return std::strncmp(text(a), b, std::strlen(b)) == 0; }

}  // namespace

OperatorAccess operator_access(const fb::Operator& op) {
  OperatorAccess access;
  for (const Row& row : kRows) {
    if (!equal(op.name(), row.name) || !equal(op.overload(), row.overload)) continue;
    access.known = true;
    access.in_place = row.in_place;
    access.inputs = count_inputs(row.schema);
    access.replaces_self = row.overwrites;
    break;
  }
  for (const Changing& row : kChanging) {
    if (equal(op.name(), row.name) && equal(op.overload(), row.overload)) access.changed = row.changed;
  }
  if (equal(op.name(), "executorch_prim::et_view")) access.kind = OperatorAccess::Kind::kView;
  if (equal(op.name(), "executorch_prim::et_copy_index")) access.kind = OperatorAccess::Kind::kCopyIndex;
  // The scalar operators write no tensor.
  if (starts_with(op.name(), "executorch_prim::") || starts_with(op.name(), "aten::sym_") ||
      equal(op.name(), "aten::_local_scalar_dense")) {
    access.known = true;
  }
  return access;
}

}  // namespace berth::format
