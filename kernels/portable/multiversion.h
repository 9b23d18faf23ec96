// Function multiversioning: one plain function, compiled for several levels of x86-64, the best chosen at load time.
//
//   BERTH_MULTIVERSION void scale(const float* x, float* y, int64_t n) { … plain loop … }
//
// Everything that the function should take along must be inlined into it (BERTH_INLINE); what it calls stays at the
// level of the build. Some levels may be left out (BERTH_INSTRUCTION_SETS). The macro is empty in a plain build
// (BERTH_PLAIN), on other processors, with compilers and C libraries that do not resolve such functions at load time,
// and under sanitizers, whose runtimes start later than that.
//
// Results may differ in the last bits between levels: a multiplication and an addition may be fused.
#pragma once

#include "kernels/portable/instruction_sets.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    defined(__OPTIMIZE__) && !defined(BERTH_PLAIN) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if BERTH_WITH_AVX512 && BERTH_WITH_AVX2
#define BERTH_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif BERTH_WITH_AVX512
#define BERTH_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "default")))
#elif BERTH_WITH_AVX2
#define BERTH_MULTIVERSION __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define BERTH_MULTIVERSION
#endif
#else
#define BERTH_MULTIVERSION
#endif

/// For helpers and lambdas of a multiversioned function: compiled again inside each version.
#define BERTH_INLINE __attribute__((always_inline)) inline

/// Before a loop whose iterations touch no memory of one another, also when an output is the very same memory as an
/// input: lets the compiler vectorise it. Needs -fopenmp-simd; no OpenMP runtime.
#define BERTH_SIMD _Pragma("omp simd")
