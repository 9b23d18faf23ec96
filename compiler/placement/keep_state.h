// keep_state: delegates that keep state (base/delegate_specs.h) get it as the last input of their calls.
//
//   %y = berth::delegate([%x]) @d0      →   %s: u8[64]@npu:0 = berth::state_read() @d0.state
//                                           %y = berth::delegate([%x, %s]) @d0
//
// The delegate writes where it reads. Nothing else mentions that state, but calls of the same delegate and calls in
// methods that share it; so it is planned, checked and kept by `replan` and a second compilation like any other.
#pragma once

#include <cstddef>

#include "compiler/passes/pass.h"
#include "compiler/placement/graph_walk.h"

namespace berth::placement {

/// For delegates with a payload whose calls have no such input yet, as in programs of other compilers. Calls of one
/// delegate share its state. InvalidArgument when what the specs say of state is wrong, or when the named data of its
/// first contents are not there or of another size.
Expected<passes::Changed> keep_state(ir::Module& module, const passes::Options& pass_options);

/// Gives the call graph.nodes[*place] of `method` the state `id` as its last input, read before it. `place` moves with
/// the call.
void give_state(Module& module, Method& method, Graph& graph, size_t* place, ir::StateId id);

/// Adds a state of bytes on `device`, whose name begins with `wish`; without `initial` it is zero at first.
ir::StateId add_kept_state(Module& module, const std::string& wish, int64_t bytes, Device device,
                           std::optional<ir::Blob> initial);

}  // namespace berth::placement
