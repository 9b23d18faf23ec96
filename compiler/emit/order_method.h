// The order of a method's nodes: which one needs the fewest bytes (compiler/order).
#pragma once

#include <vector>

#include "compiler/emit/lifetimes.h"
#include "compiler/ir/module.h"
#include "compiler/order/order.h"
#include "compiler/plan/plan.h"

namespace berth::emit {

/// The nodes of `method`'s body as tasks, its storages as buffers. Reads and writes of state, copies between devices
/// and nodes with regions keep their order among each other. REQUIRES: `lifetimes` are the method's.
order::Problem order_problem(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes);

/// Whether each arena of `plan` is as high as it must be in every order of the nodes (order/every_order.h). False says
/// nothing. REQUIRES: as above; `plan` is of the lifetimes.
bool is_lowest_of_all_orders(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes,
                             const plan::Plan& plan);

/// Whether order_problem() says all that a plan may share, so that its bounds hold for plans: no part may lie in a
/// whole, and no node has branches or loops, whose values it counts as alive together.
bool is_order_exact(const ir::Method& method);

}  // namespace berth::emit
