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

/// From the first on, those of `gates`, all of one size, that lie one after another in one value. Where that value is
/// another one turned round they are steps of the other: an operator over all steps goes either way. No steps where the
/// first one's value does not consist of steps of its size. REQUIRES: there is a first one, and it has elements.
StepRange steps_in_order(const Context& context, const std::vector<ir::ValueId>& gates);

/// The steps of `range` as one value, each of the sizes `step`. `base` is what has replaced that of the range.
Expected<ir::ValueId> gates_of_steps(Context& context, ir::Builder& build, ir::ValueId base, const StepRange& range,
                                     const std::vector<ir::Dim>& step, const std::string& source);

}  // namespace berth::fuse
