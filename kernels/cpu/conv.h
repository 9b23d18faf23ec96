// berth::conv and berth::linear, with Berth's own kernels or oneDNN, whichever is expected to be faster
// (conv_choice.cc), and prepared as far as possible at load.
//
// Weights: a constant weight is used in place if it has the packing that the engine needs; otherwise it is packed again
// once, at load, which is logged if it was packed differently. Cases that no engine supports (a computed weight, three
// spatial dimensions) use the portable kernel.
//
// Sizes that change from call to call (Tensor::dynamism): the engine is one of ours and is made for the largest; a call
// of other sizes than the last has it cut the work anew, which takes a microsecond and nothing from the heap. Only
// sizes that no engine runs (an input without elements, a first convolution narrower than its tiles) take memory from
// the heap, for the portable kernel.
//
// Threads: Berth's kernels run on the Method's pool. oneDNN runs on OpenMP: the thread that executes the Method calls
// it, with a team as large as the pool. With OmpThreadPool (backends/cpu) both use one team; with another pool there
// are two, which never work but may busy-wait at the same time.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error conv_out(KernelContext& context, const arguments::fused_conv_out& args);
size_t conv_temp_bytes(const arguments::fused_conv_out& args, int threads);
Error conv_prepare(PrepareContext& context, const arguments::fused_conv_out& args, void** state);

Error linear_out(KernelContext& context, const arguments::fused_linear_out& args);
size_t linear_temp_bytes(const arguments::fused_linear_out& args, int threads);
Error linear_prepare(PrepareContext& context, const arguments::fused_linear_out& args, void** state);

/// Of both.
void conv_release(void* state);

/// The engine of a prepared state, for tests and benchmarks: "onednn", "tiles", "portable".
const char* conv_engine(const void* state);
/// Whether the weight is used in place. REQUIRES: an engine was prepared.
bool conv_uses_weight_in_place(const void* state);

}  // namespace berth::cpu
