// Copies between devices that a method makes, for reports.
#pragma once

#include <vector>

#include "compiler/emit/reports.h"
#include "compiler/ir/module.h"

namespace berth::emit {

/// What one run of the method copies, one entry for each two devices, in the order of their first copies. A scan copies
/// as often as it turns, with symbols at their upper ends; of the branches of an `if`, the one that copies more of a
/// direction counts; a `while` counts as one turn, and CopyReport::per_turn says what each further one adds.
std::vector<CopyReport> find_copies(const ir::Module& module, const ir::Method& method);

}  // namespace berth::emit
