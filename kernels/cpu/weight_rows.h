// berth::weight_rows: rows of a table out of a packed weight. Dense ones go to the portable kernel, which defines it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error weight_rows_out(KernelContext& context, const arguments::weight_rows_out& args);
/// InvalidProgram for a packing that is not known, or not the weight's.
Error weight_rows_prepare(PrepareContext& context, const arguments::weight_rows_out& args, void** state);
void weight_rows_release(void* state);

}  // namespace berth::cpu
