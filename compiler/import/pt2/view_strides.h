// Whether operators that give a view or a copy, as the memory has it, gave a view where the model was exported.
#pragma once

#include "compiler/import/pt2/schema.h"

namespace berth::pt2 {

/// Whether `meta` lies in row-major order, so that contiguous() gives the tensor itself. Sizes that change are those of
/// the example that the model was exported with; where the file does not say them, the tensor is taken to lie so.
bool lies_in_order(const TensorMeta& meta);

/// Whether a tensor can be seen as one of other sizes without a copy: reshape() gives a view then. As PyTorch's
/// computeStride decides it: each run of dimensions that lie without gaps is cut into dimensions of the result by
/// itself. Sizes that change as above.
bool reshapes_in_place(const TensorMeta& from, const TensorMeta& to);

}  // namespace berth::pt2
