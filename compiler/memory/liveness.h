// Liveness: which values share bytes whatever the plan, and from when to when each buffer is in use: one walk over the
// method in the order in which it runs.
#pragma once

#include "compiler/memory/model.h"

namespace berth::memory {

/// What make_model() is made of. Failures as there.
Expected<Liveness> find_liveness(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                 const IdVector<ir::NodeId, int64_t>& scratch_bytes);

}  // namespace berth::memory
