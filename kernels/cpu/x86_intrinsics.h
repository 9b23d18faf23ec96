// Intrinsics of x86-64 by their names, and loops over registers written out, for sources of one instruction set. Empty
// on other processors.
#pragma once

#ifdef __x86_64__
#if defined(__GNUC__) && !defined(__clang__)
// The headers of g++ 12 make undefined registers of variables that are not set.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

// For loops of at most eight turns.
#if defined(__clang__)
#define BERTH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL _Pragma("GCC unroll 8")
#endif

#define BERTH_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]]
#define BERTH_VNNI_INLINE BERTH_VNNI [[gnu::always_inline]] inline
#define BERTH_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define BERTH_AVX2_INLINE BERTH_AVX2 [[gnu::always_inline]] inline
#endif
