// The order of a method's nodes: which one needs the fewest bytes (compiler/order).
#pragma once

#include <vector>

#include "compiler/emit/lifetimes.h"
#include "compiler/ir/module.h"
#include "compiler/order/order.h"

namespace berth::emit {

/// The nodes of `method`'s body as tasks, its storages as buffers. Reads and writes of state, copies between devices
/// and nodes with regions keep their order among each other. REQUIRES: `lifetimes` are the method's.
order::Problem order_problem(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes);

/// Bytes of all arenas together that every order needs: for one node its arguments and results, at the beginning the
/// inputs, at the end the outputs; without what may be shared among them in any order, not in that of `lifetimes`
/// alone. REQUIRES: as above.
int64_t needed_by_any_order(const ir::Method& method, const Lifetimes& lifetimes);

/// Whether order_problem() says all that a plan may share, so that its bounds hold for plans: no part may lie in a
/// whole, and no node has branches or loops, whose values it counts as alive together.
bool is_order_exact(const ir::Method& method);

}  // namespace berth::emit
