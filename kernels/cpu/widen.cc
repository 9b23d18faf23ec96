#include "kernels/cpu/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/widen.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/portable/convert.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

struct BFloats {
  using Tag = hn::Rebind<uint16_t, FloatTag>;
  using Bits = hn::RebindToUnsigned<FloatTag>;

  static FloatVector load(const uint16_t* x) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(Bits(), hn::LoadU(Tag(), x))));
  }
  static void store(FloatVector x, uint16_t* y) {
    const auto bits = hn::BitCast(Bits(), x);
    const auto high = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(high, hn::Set(Bits(), 1));
    const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(Bits(), 0x7FFF))));
    const auto number = hn::RebindMask(Bits(), hn::Eq(x, x));
    const auto rounded = hn::IfThenElse(number, nearest, hn::Or(high, hn::Set(Bits(), 0x40)));
    hn::StoreU(hn::DemoteTo(Tag(), hn::BitCast(hn::RebindToSigned<FloatTag>(), rounded)), Tag(), y);
  }
};

struct Halves {
  using Tag = hn::Rebind<hwy::float16_t, FloatTag>;

  static FloatVector load(const uint16_t* x) {
    return hn::PromoteTo(FloatTag(), hn::LoadU(Tag(), reinterpret_cast<const hwy::float16_t*>(x)));
  }
  static void store(FloatVector x, uint16_t* y) {
    hn::StoreU(hn::DemoteTo(Tag(), x), Tag(), reinterpret_cast<hwy::float16_t*>(y));
  }
};

// These return how many elements they have done, in whole registers.
template <typename Numbers>
int64_t widen_registers(const void* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(Numbers::load(static_cast<const uint16_t*>(x) + i), FloatTag(), y + i);
  }
  return i;
}

template <typename Numbers>
int64_t narrow_registers(const float* x, void* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Numbers::store(hn::LoadU(FloatTag(), x + i), static_cast<uint16_t*>(y) + i);
  }
  return i;
}

void widen_some(DType type, const void* x, float* y, int64_t n) {
  int64_t done = 0;
  if (type == DType::kBF16) done = widen_registers<BFloats>(x, y, n);
  if constexpr (kConvertsHalves) {
    if (type == DType::kF16) done = widen_registers<Halves>(x, y, n);
  }
  portable::convert_elements(type, static_cast<const uint16_t*>(x) + done, DType::kF32, y + done, n - done);
}

void narrow_some(DType type, const float* x, void* y, int64_t n) {
  int64_t done = 0;
  if (type == DType::kBF16) done = narrow_registers<BFloats>(x, y, n);
  if constexpr (kConvertsHalves) {
    if (type == DType::kF16) done = narrow_registers<Halves>(x, y, n);
  }
  portable::convert_elements(DType::kF32, x + done, type, static_cast<uint16_t*>(y) + done, n - done);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(widen_some);
HWY_EXPORT(narrow_some);

void widen(DType type, const void* x, float* y, int64_t n) { HWY_DYNAMIC_DISPATCH(widen_some)(type, x, y, n); }
void narrow(DType type, const float* x, void* y, int64_t n) { HWY_DYNAMIC_DISPATCH(narrow_some)(type, x, y, n); }

}  // namespace berth::cpu
#endif
