// Padding a dimension with its own elements.
#pragma once

#include "compiler/import/lowering/lowering.h"

namespace berth::lowering {

enum class Ends { kReflect, kEdge, kWrap };

/// `x` with `begin` elements before and `end` after its own along `axis`, which repeat these; a negative number takes
/// elements away, which still repeat at the other end. Sizes and numbers may be open.
ValueId repeat_ends(Lowering& n, ValueId x, int axis, Dim begin, Dim end, Ends ends);

}  // namespace berth::lowering
