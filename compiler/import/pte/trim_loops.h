// Takes from loops what they need not carry. A program's slots are used again and again, so what is written in a loop
// to bytes that held something before looks as if it went around.
#pragma once

#include "compiler/ir/module.h"

namespace berth::pte {

/// Removes from each `while` and `scan` of the method, inner ones first, the carried values that its regions do not
/// read and whose results nothing reads.
void trim_loops(ir::Method* method);

}  // namespace berth::pte
