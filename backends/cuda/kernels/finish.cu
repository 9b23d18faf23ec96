#include "backends/cuda/kernels/finish.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"

namespace berth::cuda {
namespace {

// kWidth neighbours, read and written at once.
template <int kWidth>
struct alignas(sizeof(float) * kWidth) Pack {
  float lane[kWidth];
};

// REQUIRES: neighbours have one channel, or neighbouring ones (a plane of 1).
template <int kWidth>
struct FinishBody {
  Finish finish;

  BERTH_HD void operator()(int64_t i) const {
    using Lanes = Pack<kWidth>;
    Lanes x = reinterpret_cast<const Lanes*>(finish.out)[i];
    if (finish.bias != nullptr) {
      const int64_t channel = divide(divide(i * kWidth, finish.plane).quotient, finish.channels).rest;
      const int64_t step = finish.plane == 1 ? 1 : 0;
      for (int k = 0; k < kWidth; ++k) x.lane[k] += finish.bias[channel + k * step];
    }
    if (finish.residual != nullptr) {
      const Lanes added = reinterpret_cast<const Lanes*>(finish.residual)[i];
      for (int k = 0; k < kWidth; ++k) x.lane[k] += added.lane[k];
    }
    for (int k = 0; k < kWidth; ++k) x.lane[k] = activated(finish.activation, x.lane[k]);
    reinterpret_cast<Lanes*>(finish.out)[i] = x;
  }
};

bool fits_four(const Finish& finish, int64_t count) {
  const auto aligned = [](const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; };
  const int64_t row = finish.bias == nullptr ? count : finish.plane == 1 ? finish.channels : finish.plane;
  return count % 4 == 0 && row % 4 == 0 && aligned(finish.out) && aligned(finish.residual);
}

}  // namespace

Error run_finish(KernelContext& context, const Finish& finish, int64_t count) {
  if (finish.empty()) return Error::kOk;
  if (fits_four(finish, count)) return for_each(context, count / 4, FinishBody<4>{finish});
  return for_each(context, count, FinishBody<1>{finish});
}

}  // namespace berth::cuda
