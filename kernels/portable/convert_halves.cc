#include "kernels/portable/convert_halves.h"

#include "kernels/portable/instruction_sets.h"

#if defined(__x86_64__) && !defined(BERTH_PLAIN) && BERTH_WITH_AVX2
#include <cpuid.h>
#include <immintrin.h>
#define BERTH_HALVES __attribute__((target("avx2,f16c")))
#endif

namespace berth::portable {

#ifdef BERTH_HALVES

namespace {

constexpr int64_t kLanes = 8;

// No compiler that we know answers for F16C itself. AVX2 says that the operating system keeps the registers.
bool find_halves() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_halves() {
  static const bool kFound = find_halves();
  return kFound;
}

BERTH_HALVES int64_t widen_registers(const Half* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  return i;
}

BERTH_HALVES int64_t narrow_registers(const float* x, Half* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i rounded = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), rounded);
  }
  return i;
}

}  // namespace

int64_t widen_halves(const Half* x, float* y, int64_t n) {
  return n >= kLanes && has_halves() ? widen_registers(x, y, n) : 0;
}

int64_t narrow_halves(const float* x, Half* y, int64_t n) {
  return n >= kLanes && has_halves() ? narrow_registers(x, y, n) : 0;
}

#else

int64_t widen_halves(const Half*, float*, int64_t) { return 0; }
int64_t narrow_halves(const float*, Half*, int64_t) { return 0; }

#endif

}  // namespace berth::portable
