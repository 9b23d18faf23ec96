#include "kernels/cpu/quantized_quotient.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace berth::cpu {

#ifdef __x86_64__
namespace {

// Quotients and their sums are far from the ends of f32.
constexpr float kLeastScale = 0x1p-60f, kMostScale = 0x1p60f;
// Both kinds of quotients are within a unit in the last place of the true one, and so agree where that is farther from
// a half than this many floats.
constexpr int32_t kNear = 4;
constexpr int32_t kHalves = 256;

[[gnu::target("avx2,fma")]] QuantizedQuotient try_quotient(float scale) {
  QuantizedQuotient q;
  q.inverse = 1 / scale;
  q.rest = __builtin_fmaf(-q.inverse, scale, 1) * q.inverse;
  int32_t different = 0;
  for (int32_t step = -kNear; step <= kNear; ++step) {
    for (int32_t i = 0; i < kHalves; ++i) {
      const float about = (static_cast<float>(i) + 0.5f) * scale;
      int32_t bits;
      std::memcpy(&bits, &about, sizeof(bits));
      bits += step;
      float t;
      std::memcpy(&t, &bits, sizeof(t));
      const float sum = __builtin_fmaf(t, q.inverse, t * q.rest);
      different += std::nearbyint(sum) != std::nearbyint(t / scale) ? 1 : 0;
    }
  }
  q.exact = different == 0;
  return q;
}

}  // namespace

QuantizedQuotient quotient_by(float scale) {
  __builtin_cpu_init();
  const bool usual = scale >= kLeastScale && scale <= kMostScale;
  return usual && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? try_quotient(scale)
                                                                                  : QuantizedQuotient();
}

#else

QuantizedQuotient quotient_by(float) { return {}; }

#endif

}  // namespace berth::cpu
