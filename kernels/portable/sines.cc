// Compiled with -ffp-contract=off, so that all instruction sets have the same bits.
#include "kernels/portable/sines.h"

#include "kernels/portable/multiversion.h"
#include "kernels/portable/trigonometry.h"

namespace berth::portable::math {
namespace {

template <int kQuarters>
BERTH_INLINE void run(const float* in, int64_t n, float* out) {
  constexpr int64_t kPart = 64;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t count = n - begin < kPart ? n - begin : kPart;
    float angle[kPart];
    int far = 0;
    for (int64_t i = 0; i < count; ++i) angle[i] = in[begin + i];
#pragma omp simd reduction(| : far)
    for (int64_t i = 0; i < count; ++i) far |= __builtin_fabsf(angle[i]) <= kFarAngle ? 0 : 1;
    BERTH_SIMD
    for (int64_t i = 0; i < count; ++i) out[begin + i] = near_sine<kQuarters>(angle[i]);
    if (far == 0) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (!(__builtin_fabsf(angle[i]) <= kFarAngle)) out[begin + i] = sine<kQuarters>(angle[i]);
    }
  }
}

}  // namespace

BERTH_MULTIVERSION void sines(const float* in, int64_t n, float* out) { run<0>(in, n, out); }
BERTH_MULTIVERSION void cosines(const float* in, int64_t n, float* out) { run<1>(in, n, out); }

}  // namespace berth::portable::math
