// What the calls of delegates in one method call.
#pragma once

#include <vector>

#include "compiler/emit/reports.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

/// The calls of one method.
struct DelegateCalls {
  /// One a call, in the order of the method's nodes; one for all calls of a delegate that was compiled elsewhere.
  std::vector<format::DelegateDesc> delegates;
  std::vector<DelegateReport> reports;  // of each
  IdVector<ir::NodeId, int32_t> index;  // the delegate above that the node calls, or -1
  IdVector<ir::NodeId, int64_t> scratch_bytes;
};

}  // namespace berth::emit
