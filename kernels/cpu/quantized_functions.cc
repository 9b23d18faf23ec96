// Which tiles of quantised products this processor runs.
#include <atomic>

#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/quantized_tile.h"

#ifdef BERTH_HIGHWAY
#include <hwy/highway.h>
#endif
#if BERTH_QUANTIZED_AVX2
#include <cpuid.h>
#endif

namespace berth::cpu {
namespace {

#if BERTH_QUANTIZED_AVX2

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

// The compiler does not know its name: bit 4 of eax, leaf 7, part 1.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}

#endif
#if BERTH_QUANTIZED_AVX512

bool has_avx512() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

#endif

}  // namespace

int all_quantized_functions(const QuantizedFunctions* (&functions)[kMostQuantizedFunctions]) {
  int count = 0;
  functions[count++] = &kQuantizedPlain;
#if BERTH_QUANTIZED_AVX2
  __builtin_cpu_init();
  if (has_avx2()) functions[count++] = &kQuantizedAvx2;
  if (has_avx_vnni()) functions[count++] = &kQuantizedAvxVnni;
#endif
#if BERTH_QUANTIZED_AVX512
  __builtin_cpu_init();
  if (has_avx512()) functions[count++] = &kQuantizedAvx512;
  const bool vnni = has_avx512() && __builtin_cpu_supports("avx512vnni");
  if (vnni) functions[count++] = &kQuantizedVnni;
  if (vnni && has_byte_matrices()) functions[count++] = &kQuantizedAmx;
#endif
  return count;
}

namespace {

const QuantizedFunctions& best_functions() {
  const QuantizedFunctions* all[kMostQuantizedFunctions];
  return *all[all_quantized_functions(all) - 1];
}

std::atomic<const QuantizedFunctions*> chosen{nullptr};

}  // namespace

const QuantizedFunctions& quantized_functions() {
  if (const QuantizedFunctions* functions = chosen.load(std::memory_order_relaxed)) return *functions;
#if defined(BERTH_HIGHWAY) && defined(__x86_64__)
  // Where there is one alone, the room is limited to it (simd_limit.h).
  const int64_t targets = hwy::SupportedTargets();
#if BERTH_QUANTIZED_AVX512
  if (targets == HWY_AVX3) return kQuantizedAvx512;
#endif
#if BERTH_QUANTIZED_AVX2
  if (targets == HWY_AVX2) return kQuantizedAvx2;
#endif
  if ((targets & (HWY_AVX3 | HWY_AVX2)) == 0) return kQuantizedPlain;
#endif
  static const QuantizedFunctions& best = best_functions();
  return best;
}

void set_quantized_functions(const QuantizedFunctions* functions) { chosen = functions; }

}  // namespace berth::cpu
