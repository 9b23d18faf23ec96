// Where the steps of a recurrent layer lie: one after another in one value, forwards or backwards.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// A dense run of the elements of `base` from `offset` on.
struct Run {
  ir::ValueId base;
  int64_t offset = 0;
};

/// `value` as such a run; none where its elements have gaps.
std::optional<Run> dense_run(const Context& context, ir::ValueId value);

/// The value all of whose elements `node` joins, in order; invalid when it does something else.
ir::ValueId joined_value(const Context& context, const ir::Node& node);

/// Steps [first, first + steps) of the `all` that `base` holds, from the last to the first where `reverse`.
struct StepRange {
  ir::ValueId base;
  int64_t all = 0, first = 0, steps = 0;
  bool reverse = false;
};

/// The same steps of what `base` is, where that was turned round: an operator over all steps goes either way.
StepRange turned_back(const Context& context, const StepRange& range);

}  // namespace berth::fuse
