// The instructions of a method in order, from the first or from the last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "format/program_view.h"

namespace berth::format::plan_check {

/// Calls `visit(instruction, its number in the method, the number of its chain's
/// first)` for every instruction; stops at the first error.
template <typename Visit>
Error for_each_instruction(const fb::ExecutionPlan& plan, Visit&& visit) {
  int32_t start = 0;
  for (uint32_t c = 0; c < plan.chains()->size(); ++c) {
    const auto& list = *plan.chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < list.size(); ++i) {
      const Error error = visit(*list.Get(i), start + static_cast<int32_t>(i), start);
      if (error != Error::kOk) return error;
    }
    start += static_cast<int32_t>(list.size());
  }
  return Error::kOk;
}

/// The same from the last; `instructions`: how many there are.
template <typename Visit>
Error for_each_instruction_backwards(const fb::ExecutionPlan& plan, size_t instructions, Visit&& visit) {
  int32_t end = static_cast<int32_t>(instructions);
  for (uint32_t c = plan.chains()->size(); c-- > 0;) {
    const auto& list = *plan.chains()->Get(c)->instructions();
    const int32_t start = end - static_cast<int32_t>(list.size());
    for (uint32_t i = list.size(); i-- > 0;) {
      const Error error = visit(*list.Get(i), start + static_cast<int32_t>(i), start);
      if (error != Error::kOk) return error;
    }
    end = start;
  }
  return Error::kOk;
}

}  // namespace berth::format::plan_check
