// State that is computed where it lies: no copy at the end of a run, and no bytes for the new value.
#pragma once

#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

/// What changes when state is computed in place.
struct StateInPlace {
  IdVector<ir::ValueId, ValueHome> homes;  // with those in the state's buffers
  std::vector<StateUpdate> updates;
  std::vector<WriteBack> write_backs;  // those that remain
};

/// For each write-back whose value a node of the body makes: when nothing reads the old contents after that node, and
/// the node itself only as its kernel allows (in_place.h) or its delegate does (delegate_state.h), the value is put
/// into the state's buffer, which takes all its names along, and a StateUpdate takes the place of the write-back. The
/// value's own buffer is left without a value.
///
/// REQUIRES: every read is in `last_reads`, that of outputs and write-backs included.
StateInPlace compute_state_in_place(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                    const Liveness& live);

/// Takes buffers away that hold no value, no state, no copy and no scratch; the others are renumbered.
void drop_unused_buffers(Liveness* live);

}  // namespace berth::memory
