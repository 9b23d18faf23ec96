// The arguments of berth::inverted_residual, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/fused_activation.h"

namespace berth::portable {

/// Its sizes: of the input [batch, in_channels, in], of what is expanded [batch, channels, in], of the windows' result
/// [batch, channels, out], and of what is projected [batch, out_channels, out].
struct InvertedResidual {
  struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  };

  int64_t batch = 1;
  int64_t in_channels = 1, channels = 1, out_channels = 1;
  bool expands = false, projects = false;
  Axis axis[2];
  Activation expand, depthwise, project;

  /// Rows [*begin, *end) of the windows' input are all that rows [first, first + count) of their result see; perhaps
  /// none. Both are within the input.
  void rows_seen(int64_t first, int64_t count, int64_t* begin, int64_t* end) const;
};

/// The sizes of the weights as they are without their packing; of none where there is none.
struct InvertedResidualWeights {
  Span<const int32_t> expand, depthwise, project;
};

/// Checks dtypes and sizes of all arguments but the weights' dtypes, and gives `out` its sizes.
Error read_inverted_residual(KernelContext& context, const arguments::inverted_residual_out& args,
                             const InvertedResidualWeights& weights, InvertedResidual* result);
/// Checks that all of them are in memory.
Error check_inverted_residual_memory(KernelContext& context, const arguments::inverted_residual_out& args);

}  // namespace berth::portable
