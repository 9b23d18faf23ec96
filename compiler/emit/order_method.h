// The order of a method's nodes: which one needs the fewest bytes (compiler/order).
#pragma once

#include <vector>

#include "compiler/emit/lifetimes.h"
#include "compiler/ir/module.h"
#include "compiler/order/order.h"

namespace berth::emit {

/// The nodes of `method`'s body as tasks, its storages as buffers. Reads and writes of state, copies between devices
/// and nodes with regions keep their order among each other. REQUIRES: `lifetimes` are the method's.
order::Problem order_problem(const ir::Method& method, const Lifetimes& lifetimes);

/// The nodes of the body in an order whose peak of live bytes, all devices together, is the least that was found; the
/// order that they have when none is better. What it saves of the arenas is seen when both are planned.
Expected<std::vector<ir::NodeId>> better_order(const ir::Method& method, const Lifetimes& lifetimes,
                                               const order::Options& options = {});

}  // namespace berth::emit
