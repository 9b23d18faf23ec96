#include "compiler/memory/nested_payload.h"

#include "base/backend_facts.h"
#include "format/nested.h"
#include "format/verify.h"

namespace berth::memory {

std::optional<NestedPayload> nested_payload(const ir::Delegate& delegate) {
  if (!delegate.payload.has_value() || !runs_nested_programs(delegate.backend.c_str())) return std::nullopt;
  NestedPayload nested;
  const auto file = format::open_nested(delegate.payload->bytes(), nullptr, &nested.version);
  if (!file.ok() || format::ProgramView::open(*file, &nested.program, nullptr) != Error::kOk ||
      format::verify_program(nested.program, nullptr) != Error::kOk || nested.program.method_count() != 1) {
    return std::nullopt;
  }
  return nested;
}

}  // namespace berth::memory
