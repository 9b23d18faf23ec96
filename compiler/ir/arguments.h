// Arguments by name: format/arguments.h, and names for what several operators have in common.
#pragma once

#include "format/arguments.h"

namespace berth::arg {
// clang-format off

/// Of the three copies between devices.
namespace device_copy { enum : size_t { self }; }
/// Of a permutation and of a copy into another dimension order.
namespace reorder { enum : size_t { self = permute_copy_out::self }; }
static_assert(size_t{reorder::self} == clone_dim_order_out::self);
/// Of slices, selections and splits.
namespace part_of { enum : size_t { self = slice_copy_Tensor_out::self }; }
static_assert(size_t{part_of::self} == select_copy_int_out::self && size_t{part_of::self} == split_copy_Tensor_out::self &&
              size_t{part_of::self} == split_with_sizes_copy_out::self);
/// Of an operator whose row says RESHAPE: the tensor that the result is a view of.
namespace view { enum : size_t { self }; }

// clang-format on
}  // namespace berth::arg
