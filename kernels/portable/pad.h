// Padding: an output whose rows are rows of the input with something before and after them.
#pragma once

#include "kernels/portable/layout_arguments.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// How many elements come before and after the input's in each dimension; a negative number cuts as many off.
struct Padding {
  int64_t before[kMaxRank] = {};
  int64_t after[kMaxRank] = {};
};

/// What stands outside the input.
enum class PadMode : uint8_t {
  kConstant,   // one value
  kReflect,    // 3 2 1 | 0 1 2 3 | 2 1 0
  kReplicate,  // 0 0 0 | 0 1 2 3 | 3 3 3
};

/// Reads pairs from the last dimension inward out: [before last, after last, before the one in front of it, …].
/// InvalidArgument for an odd number, more pairs than dimensions, or numbers of more than 31 bits.
Error read_padding(KernelContext& context, const Tensor& self, IntList list, Padding* out);

/// The same for a padding of the last `spatial` dimensions of a tensor that has channels before them, and perhaps a
/// batch: reflection_pad2d, for one.
Error read_spatial_padding(KernelContext& context, const Tensor& self, IntList list, int spatial, Padding* out);

/// The sizes of `self` padded. InvalidArgument as of pad().
Error padded_sizes(KernelContext& context, const Tensor& self, const Padding& padding, PadMode mode, Sizes* sizes);

/// Pads `self` into `out`, which gets its sizes. `value` is an element of their dtype, read in mode kConstant.
/// InvalidArgument when a dimension would get a negative size, a reflection would need an element beyond the input
/// (before or after >= size), or a replication would repeat an element of an empty dimension.
Error pad(KernelContext& context, const Tensor& self, const Padding& padding, PadMode mode, const char* value,
          Tensor& out);

}  // namespace berth::portable
