// The stacks that berth.meta has of a method: offsets that follow the sizes (stacks.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "format/program_view.h"

namespace berth::format::plan_check {

/// Calls `visit(stack)` for the first stack of each arena, as long as it returns Ok. REQUIRES: the stacks are sorted by
/// arena.
template <typename Visit>
Error for_each_stack(const fb::MethodMeta* meta, Visit&& visit) {
  uint32_t previous = 0;
  for (uint32_t s = 0; meta != nullptr && s < length(meta->stacks()); ++s) {
    const fb::Stack& stack = *meta->stacks()->Get(s);
    if (stack.memory_id() == previous) continue;
    previous = stack.memory_id();
    const Error error = visit(stack);
    if (error != Error::kOk) return error;
  }
  return Error::kOk;
}

/// The blocks of all stacks that count.
inline size_t count_blocks(const fb::MethodMeta* meta) {
  size_t blocks = 0;
  for_each_stack(meta, [&](const fb::Stack& stack) {
    blocks += length(stack.value_ends());
    return Error::kOk;
  });
  return blocks;
}

}  // namespace berth::format::plan_check
