// berth::inverted_residual by rows: each thread takes some rows of the result at a time, computes the rows of what is
// expanded that their windows see into memory of its own, which stays in a cache near it, has the windows read them
// there, and projects what they give. Rows that the next windows see too are kept. What two threads see is computed by
// both. The engines are those of berth::conv, and so are the results, bit for bit.
//
// Where sizes are open, engines and memory are made for the largest, and strips are cut anew for a call of other sizes
// than the last. The portable kernel does what these engines do not: weights that are computed, other layouts than
// channels-last.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error inverted_residual_out(KernelContext& context, const arguments::inverted_residual_out& args);
size_t inverted_residual_temp_bytes(const arguments::inverted_residual_out& args, int threads);
Error inverted_residual_prepare(PrepareContext& context, const arguments::inverted_residual_out& args, void** state);
void inverted_residual_release(void* state);

/// Whether a prepared state works by rows, for tests.
bool inverted_residual_by_rows(const void* state);

}  // namespace berth::cpu
