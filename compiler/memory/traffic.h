// Traffic: how many bytes a run moves in each buffer.
#pragma once

#include "compiler/memory/model.h"

namespace berth::memory {

/// What nodes read and write in each buffer, the caller's inputs and outputs and copies between buffers included;
/// scratch counts twice its size. With every symbol at its upper bound; the body of a scan counts for each iteration,
/// that of a `while` once, and each branch of an `if` as if it ran. No number is over 2^52 divided by the number of
/// buffers.
IdVector<BufferId, int64_t> find_traffic(const ir::Module& module, const ir::Method& method, const MemoryModel& model);

}  // namespace berth::memory
