// When the bytes of each planned value of a finished method are wanted.
//
//     step 0        the caller sets the inputs
//     step 1 + k    instruction k
//     step 1 + n    the caller reads the outputs
//
// A backward sweep over the instructions, repeated until jumps add nothing, gives the steps in which each value is
// still to be read. State (read before it is written and no input, or with a name or an initial value) is marked. What
// a MoveCall or et_view renames is wanted as long as any of its names. Arguments of delegates are wanted from their
// first to their last mention.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/memory/replan/method_graph.h"

namespace berth::replan {

/// Steps [lower, upper); none as long as lower is above upper.
struct LiveRange {
  int64_t lower = INT64_MAX;
  int64_t upper = 0;
  bool state = false;

  void add(int64_t step) {
    lower = std::min(lower, step);
    upper = std::max(upper, step + 1);
  }
  void add(const LiveRange& other) {
    lower = std::min(lower, other.lower);
    upper = std::max(upper, other.upper);
  }
};

/// What state of one method takes of an arena that all methods may share.
struct Reserved {
  uint32_t memory_id = 1;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// One a planned item. `elsewhere`: the state of the other methods; what lies there is state too. OutOfResources for a
/// method whose sweep would take far more time or memory than its size justifies.
Expected<std::vector<LiveRange>> live_ranges(MethodGraph* method, const std::vector<Reserved>& elsewhere);

/// The state of a method: what other methods that share its arenas must leave alone.
Expected<std::vector<Reserved>> reserved_state(const format::ProgramView& program, size_t method);

}  // namespace berth::replan
