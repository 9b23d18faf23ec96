// Which nodes of a method the host begins only after copies to its memory have arrived, as a Method runs them
// (runtime/arrivals.h): those that read what was copied, also through views, which take no time.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/memory/scheduling/timing.h"

namespace berth::memory {

/// Sets TaskTime::arrival of copies to the host that do not wait for it, and TaskTime::awaits of what reads them.
/// REQUIRES: times[i] is that of node i of the method's body.
void await_copies(const ir::Method& method, std::vector<scheduling::TaskTime>* times);

}  // namespace berth::memory
