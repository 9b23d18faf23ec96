// The nested program of a delegate that was compiled before.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/module.h"
#include "format/program_view.h"

namespace berth::memory {

struct NestedPayload {
  uint32_t version = 0;         // of format/nested.h
  format::ProgramView program;  // verified, with one method; of the delegate's bytes
};

/// Nothing for a delegate whose region is compiled here, for one of another backend, and for a payload that is not a
/// nested program, which is not for the planner to say.
std::optional<NestedPayload> nested_payload(const ir::Delegate& delegate);

}  // namespace berth::memory
