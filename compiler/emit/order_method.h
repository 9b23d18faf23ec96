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

}  // namespace berth::emit
