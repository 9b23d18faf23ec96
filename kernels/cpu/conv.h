// berth::conv and berth::linear: by oneDNN or by kernels of our own, whichever was the faster for a call of that much
// work (conv.cc says where the line is), with everything that can be ready before the first run made ready at load.
//
// Weights: a constant one is used where the program file has it when it is packed as the engine wants it; otherwise it
// is repacked once, at load, with a line in the log when it came packed some other way. Whatever an engine does not
// take (a weight that is computed, sizes that change, transposed convolutions, three axes) goes to the portable kernel.
//
// Threads: our own kernels run on the Method's pool. oneDNN runs on OpenMP: the thread that executes the Method calls
// it, with a team as large as the pool. On OmpThreadPool (backends/cpu) it is one team for both; with another pool
// there are two, which do not run at the same time but may be awake at the same time.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error conv_out(KernelContext& context, Span<EValue* const> args);
size_t conv_temp_bytes(Span<EValue* const> args, int threads);
Error conv_prepare(PrepareContext& context, Span<EValue* const> args, void** state);

Error linear_out(KernelContext& context, Span<EValue* const> args);
size_t linear_temp_bytes(Span<EValue* const> args, int threads);
Error linear_prepare(PrepareContext& context, Span<EValue* const> args, void** state);

/// Of both.
void conv_release(void* state);

/// What made a state ready, for tests and benchmarks: "onednn", "tiles", "portable".
const char* conv_engine(const void* state);
/// Whether the weight is read where the program has it. REQUIRES: an engine was made ready.
bool conv_uses_weight_in_place(const void* state);

}  // namespace berth::cpu
