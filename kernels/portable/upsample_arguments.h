// The arguments that the two kinds of upsampling share, checked and in numbers.
#pragma once

#include "kernels/portable/pool_arguments.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// Planes as in a pooling; of the axes, only `in` and `out` count.
struct Upsampling : Pooling {
  /// The factors given; 0 when the output's size was given instead.
  double factor[2] = {0, 0};
};

/// Reads `output_size` (int[]?) or `scale_factors` (float[]?); exactly one must be there. Does not look at the sizes of
/// `out`.
Error read_upsampling(KernelContext& context, const Tensor& input, const std::optional<IntList>& output_size,
                      const std::optional<Span<const double>>& scale_factors, Tensor& out, Upsampling* upsampling);

}  // namespace berth::portable
