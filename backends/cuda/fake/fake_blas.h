// A cuBLASLt on the host, for the fake runtime (fake_runtime.h): it computes in double, in a stream, through the
// workspace, and is as strict about what it is given as the library's documentation. What the library leaves undefined
// ends the process with a sentence: a leading dimension below the rows, matrices that overlap where they must not,
// memory that is not the device's, an algorithm that was chosen for another problem.
#pragma once

#include <cstdint>

namespace berth::cuda::fake {

struct BlasCounts {
  int64_t questions = 0;  // for an algorithm
  int64_t products = 0;
};
/// Since the process began.
BlasCounts blas_counts();

}  // namespace berth::cuda::fake
