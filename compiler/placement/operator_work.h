// How much an operator has to do, for placement by cost.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/placement/device_costs.h"

namespace berth::placement {

/// How often a `while` is taken to turn.
constexpr double kWhileTurns = 16;

/// Its work, with every symbol at its upper end; of what moves no bytes, such as a view, none. REQUIRES: the node has
/// no regions.
Work work_at(const ir::Module& module, const ir::Method& method, const ir::Node& node);

/// The bytes of a value, with every symbol at its upper end; of a number, 8.
double bytes_of(const ir::Module& module, const ir::Method& method, ir::ValueId value);

/// The argument of which a call reads no more than the rows or elements that its indices name, such as a table of
/// embeddings; -1 for none.
int picked_argument(ir::OpId id);

/// Whether it computes each element of its result from elements at the same place, so that targets with fused operators
/// compute it where its argument is made.
bool is_elementwise(const ir::Node& node);

/// How often the regions of a node run when it runs once: of a scan as often as it is long, with its symbol at the
/// upper end.
double turns_of(const ir::Module& module, const ir::Node& node);

}  // namespace berth::placement
