#include "kernels/cpu/matrix_products.h"

#include <atomic>

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace berth::cpu {
namespace {

struct Matrices {
  bool bf16 = false, bytes = false;
};

#if defined(__linux__) && defined(__x86_64__)

// ARCH_REQ_XCOMP_PERM of Linux 5.16 (Documentation/x86/xstate.rst), for the feature "tile data".
constexpr long kRequestPermission = 0x1023;
constexpr long kTileData = 18;

Matrices find_matrices() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return {};
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24, kBytes = 1u << 25;
  if ((d & kTiles) == 0) return {};
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return {};
  return {(d & kBf16) != 0, (d & kBytes) != 0};
}

#else

Matrices find_matrices() { return {}; }

#endif

const Matrices& matrices() {
  static const Matrices kFound = find_matrices();
  return kFound;
}

std::atomic<bool> matrices_forbidden{false};

}  // namespace

bool has_bf16_matrices() { return !matrices_forbidden && matrices().bf16; }
bool has_byte_matrices() { return !matrices_forbidden && matrices().bytes; }
void forbid_matrices(bool forbidden) { matrices_forbidden = forbidden; }

}  // namespace berth::cpu
