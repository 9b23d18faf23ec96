// What berth.meta says about a method (format/meta.fbs).
#pragma once

#include "compiler/emit/emitted_method.h"
#include "compiler/memory/plan_schedule.h"
#include "format/write/meta_desc.h"

namespace berth::emit {

/// Names of values and of the nodes that make them, symbols and the dimensions that are symbols, views and their bases,
/// and for each arena alignment, lower bound and proof. Without `names` those of values and nodes are left out.
format::MethodMetaDesc method_meta(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                   const EmittedMethod& emitted, bool names = true);

}  // namespace berth::emit
