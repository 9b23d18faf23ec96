// What Highway's headers ask its library for: which instruction sets this processor has, and which of them is used.
// Ours, for the library (1.0.3) measures the processor's clock whenever it is loaded: three milliseconds of every
// process. CMakeLists.txt gives its namespace another name in this room, so that an application may have the library
// too.
#include <hwy/highway.h>

#include <atomic>
#include <cstdlib>

#include "runtime/log.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

ChosenTarget chosen;
std::atomic<int64_t> instead{0};  // of what the processor has
std::atomic<int64_t> disabled{0};

// What the compiler was told to expect is there, and plain loops are.
constexpr int64_t kAlways = HWY_ENABLED_BASELINE | HWY_EMU128 | HWY_SCALAR;

#if HWY_ARCH_X86

// The built-in function asks for the operating system's part too.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// As much as the headers let the compiler use of each (HWY_TARGET_STR).
int64_t detect() {
  __builtin_cpu_init();
  const bool ssse3 = __builtin_cpu_supports("sse2") && __builtin_cpu_supports("ssse3");
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    has_f16c();
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return (ssse3 ? HWY_SSSE3 : 0) | (sse4 ? HWY_SSE4 : 0) | (avx2 ? HWY_AVX2 : 0) | (avx3 ? HWY_AVX3 : 0);
}

#else

int64_t detect() { return 0; }

#endif

}  // namespace

ChosenTarget& GetChosenTarget() { return chosen; }

int64_t SupportedTargets() {
  // Asking the processor takes a virtual machine tens of microseconds.
  static const int64_t found = detect() | kAlways;
  const int64_t given = instead.load();
  const int64_t targets = (given != 0 ? given : found) & ~disabled.load();
  return targets != 0 ? targets : int64_t{HWY_STATIC_TARGET};
}

void DisableTargets(int64_t targets) {
  disabled = targets;
  chosen.DeInit();
}

void SetSupportedTargetsForTest(int64_t targets) {
  instead = targets;
  chosen.DeInit();
}

// For the assertions of the headers.
void Abort(const char* file, int line, const char*, ...) {
  berth::log_message(berth::LogLevel::kError, "%s:%d: Highway's assertion failed", file, line);
  std::abort();
}

}  // namespace hwy
