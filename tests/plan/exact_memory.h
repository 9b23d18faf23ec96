// Are the numbers that a program gives for its memory exact? Each method of a program file is loaded and run in memory
// of exactly as many bytes as Program::memory_needed and MethodMeta say, between bytes that must stay as they were; of
// the method memory and of each arena, all is used, to the end; and with one byte less, of the method memory, of the
// temp memory and of each arena in turn, it must be refused with the number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/span.h"
#include "runtime/backend.h"
#include "runtime/program.h"

namespace berth::plan_test {

struct ExactMemory {
  /// Empty: the numbers are exact. Else which is not, and how.
  std::string problem;
  /// Of each method.
  std::vector<MemoryNeeded> needed;
};

/// For programs of the host, with kernels of kernels/portable, and `backends` for their delegates, whose memory is part
/// of all three. Inputs are zeros, sizes at their upper ends. `pool` may be null.
ExactMemory check_exact_memory(Span<const uint8_t> file, Span<Backend* const> backends = {},
                               ThreadPool* pool = nullptr);

}  // namespace berth::plan_test
