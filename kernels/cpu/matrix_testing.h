// For tests: whether this thread has registers of matrices in use, which the operating system saves and restores then.
// Not part of any library.
#pragma once

namespace berth::cpu {

#ifdef __x86_64__

/// REQUIRES: has_bf16_matrices() or has_byte_matrices().
[[gnu::target("xsave")]] inline bool matrices_are_in_use() {
  constexpr unsigned long long kTileData = 1ull << 18;
  return (__builtin_ia32_xgetbv(1) & kTileData) != 0;
}

#endif

}  // namespace berth::cpu
