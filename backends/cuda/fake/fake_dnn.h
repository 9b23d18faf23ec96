// A cuDNN on the host, for the fake runtime (fake_runtime.h): it computes convolutions in double, in a stream, through
// the workspace where it is told an algorithm that needs one, and is as strict about what it is given as the library's
// documentation. What the library leaves undefined, or answers with an error that no caller should need, ends the
// process with a sentence: sizes that do not fit each other, a descriptor that was not set, memory that is not the
// device's or less aligned than its kernels load, a workspace that is too small, a handle without a stream.
//
// Of the algorithms that it names first, one is not exact and one adds in an order that changes: their results are off
// by a thousandth, as are those of f32 on tensor cores. One needs more memory than any workspace.
#pragma once

#include <cstdint>

namespace berth::cuda::fake {

struct DnnCounts {
  int64_t questions = 0;  // for an algorithm
  int64_t convolutions = 0;
};
/// Since the process began.
DnnCounts dnn_counts();

/// Whether convolutions fail from now on, after they were asked about.
void fail_convolutions(bool fail);

}  // namespace berth::cuda::fake
