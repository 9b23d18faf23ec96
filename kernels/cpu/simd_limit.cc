#include "kernels/cpu/simd_limit.h"

#include <hwy/highway.h>

#include <cstring>

namespace berth::cpu {

bool limit_simd(const char* isa) {
  const bool avx2 = std::strcmp(isa, "avx2") == 0;
  if (!avx2 && std::strcmp(isa, "avx512") != 0) return false;
  const int64_t target = avx2 ? HWY_AVX2 : HWY_AVX3;
  if ((hwy::SupportedTargets() & HWY_TARGETS & target) == 0) return false;
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return true;
}

}  // namespace berth::cpu
