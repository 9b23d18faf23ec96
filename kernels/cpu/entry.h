// Entries of the table by name: signature and unplaced output come from the operator's row in format/operators.def, and
// a name without a row does not compile.
#pragma once

#include <string_view>

#include "base/check.h"
#include "runtime/kernel.h"

namespace berth::cpu {

namespace internal {

struct Row {
  const char* name;
  const char* bare_name;  // the same when there is an overload
  const char* schema;
  int unplaced;
};

#define PLACED -1
#define UNPLACED(k) k
constexpr Row kRows[] = {
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced) \
  {name "." out, out[0] == '\0' ? name : name "." out, schema, unplaced},
#include "format/operators.def"
#undef OP
};
#undef PLACED
#undef UNPLACED

}  // namespace internal

/// The entry of the operator `name`, "aten::add.out". For constants: an unknown name is an error of the compiler.
constexpr KernelEntry entry(std::string_view name, KernelFunction call, TempBytesFunction temp_bytes = nullptr) {
  for (const internal::Row& row : internal::kRows) {
    if (name != row.bare_name) continue;
    KernelEntry made;
    made.name = row.bare_name;
    made.signature = row.schema;
    made.call = call;
    made.temp_bytes = temp_bytes;
    made.unplaced_output = row.unplaced;
    return made;
  }
  BERTH_CHECK(false);
  return {};
}

}  // namespace berth::cpu
