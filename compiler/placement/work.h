// How much work a node is, roughly, and where to cut a list of nodes into parts of about equal work.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::placement {

/// Multiplications and additions, plus bytes read and written, with every symbol at its upper end. Control flow is the
/// sum of its regions. Saturates.
int64_t work_of(const ir::Module& module, const ir::Method& method, const ir::Node& node);

/// Cuts a list into `parts` contiguous ones; gives the index of each part's first item, the first being 0. `work[i]` is
/// what item i weighs; `crossing[i]` the bytes that pass from the items before i to those from i on. Each cut lies
/// where the fewest bytes cross among the places whose share of the work is within a tenth of a part of its due, or,
/// when there is none, at the nearest place. REQUIRES: parts > 0, both are as long, nothing is negative.
std::vector<size_t> cut(const std::vector<int64_t>& work, const std::vector<int64_t>& crossing, size_t parts);

}  // namespace berth::placement
