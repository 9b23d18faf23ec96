// For tests: the same on every instruction set that this processor has and the room is compiled for. Not part of any
// library.
#pragma once

#include <hwy/highway.h>

namespace berth::cpu {

/// Calls f(name) once for each instruction set, while the kernels use that one.
template <typename F>
void for_each_simd_target(F&& f) {
  const int64_t available = hwy::SupportedTargets();
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t target = int64_t{1} << bit;
    if ((available & HWY_TARGETS & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace berth::cpu
