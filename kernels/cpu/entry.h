// Entries of the table: name, signature, unplaced output and picked argument come from the operator's row in
// format/operators.def.
#pragma once

#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "kernels/portable/arguments.h"

namespace berth::cpu {

namespace internal {

struct Row {
  const char* name;
  const char* schema;
  int unplaced;
  int picked;
};

#define PLACED -1
#define UNPLACED(k) k
#define WHOLE -1
#define PICKED(i) i
constexpr Row kRows[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, ...) \
  {out[0] == '\0' ? name : name "." out, schema, unplaced, reads},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED
#undef WHOLE
#undef PICKED

template <typename A>
constexpr std::string_view operator_of(Error (*)(KernelContext&, const A&)) {
  return A::kOperator;
}

}  // namespace internal

/// The entry of the operator whose arguments `call` takes (kernels/portable/arguments.h).
template <auto call, auto temp_bytes = nullptr>
constexpr KernelEntry entry() {
  for (const internal::Row& row : internal::kRows) {
    if (internal::operator_of(call) != row.name) continue;
    KernelEntry made;
    made.name = row.name;
    made.signature = row.schema;
    made.call = untyped<call>;
    if constexpr (!std::is_null_pointer_v<decltype(temp_bytes)>) made.temp_bytes = untyped<temp_bytes>;
    made.unplaced_output = row.unplaced;
    made.picked_argument = row.picked;
    return made;
  }
  BERTH_CHECK(false);
  return {};
}

/// The same for a kernel that is prepared when its method is loaded.
template <auto call, auto temp_bytes, auto prepare>
constexpr KernelEntry prepared_entry(ReleaseFunction release) {
  KernelEntry made = entry<call, temp_bytes>();
  made.prepare = untyped<prepare>;
  made.release = release;
  return made;
}

}  // namespace berth::cpu
