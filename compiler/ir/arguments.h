// Arguments by name: format/arguments.h, and names for what several operators have in common.
#pragma once

#include "format/arguments.h"

namespace berth::arg {
// clang-format off

/// Of the three copies between devices.
namespace device_copy { enum : size_t { self }; }
/// Of an operator by what its row says in the column of views: what its outputs may have the bytes of.
namespace view { enum : size_t { self }; }
namespace reorder { enum : size_t { self }; }
namespace concat { enum : size_t { tensors }; }
namespace part_of { enum : size_t { self }; }

// clang-format on
}  // namespace berth::arg
