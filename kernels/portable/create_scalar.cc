#include "kernels/portable/create_scalar.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/narrow.h"
#include "kernels/portable/dispatch.h"

namespace berth::portable {
namespace {

template <typename T>
bool integer_from(const EValue& scalar, T* out) {
  using Limits = std::numeric_limits<T>;
  if (scalar.is_double()) {
    // 2^digits is exact in a double where the largest integer itself is not.
    const double bound = std::ldexp(1.0, Limits::digits);
    const double x = std::trunc(scalar.to_double());
    if (scalar.to_double() < (Limits::is_signed ? -bound : 0) || !(x < bound)) return false;
    *out = static_cast<T>(x);
    return true;
  }
  const int64_t x = scalar.scalar_to<int64_t>();
  *out = static_cast<T>(x);
  if (x >= 0) return static_cast<uint64_t>(x) <= static_cast<uint64_t>(Limits::max());
  const uint64_t magnitude = ~static_cast<uint64_t>(x) + 1;
  return magnitude <= static_cast<uint64_t>(Limits::max()) + (Limits::is_signed ? 1 : 0);
}

bool floating_from(const EValue& scalar, double largest, double* out) {
  const double x = scalar.scalar_to<double>();
  *out = x;
  return !(std::fabs(x) > largest) || std::isinf(x);
}

template <typename T>
bool element_from(const EValue& scalar, T* out) {
  if constexpr (std::is_integral_v<T>) {
    return integer_from(scalar, out);
  } else if constexpr (std::is_same_v<T, Bool>) {
    *out = Bool(scalar.is_double() ? scalar.to_double() != 0 : scalar.scalar_to<int64_t>() != 0);
    return true;
  } else {
    const double largest = std::is_same_v<T, Half>       ? 65504.0
                           : std::is_same_v<T, BFloat16> ? 3.3895313892515355e38
                           : std::is_same_v<T, float>    ? static_cast<double>(std::numeric_limits<float>::max())
                                                         : std::numeric_limits<double>::max();
    double x = 0;
    if (!floating_from(scalar, largest, &x)) return false;
    if constexpr (std::is_same_v<T, double>) {
      *out = x;
    } else {
      *out = T(static_cast<float>(x));
    }
    return true;
  }
}

bool narrow_from(const EValue& scalar, DType dtype, uint8_t* out) {
  if (is_narrow_float(dtype)) {
    double x = 0;
    if (!floating_from(scalar, static_cast<double>(largest_narrow(dtype)), &x)) return false;
    const auto number = static_cast<float>(x);
    encode_narrow(dtype, &number, out, 1);
    return true;
  }
  int64_t whole = 0;
  int64_t kept = 0;
  if (!integer_from(scalar, &whole)) return false;
  encode_narrow(dtype, &whole, out, 1);
  decode_narrow(dtype, out, &kept, 1);
  return kept == whole;
}

DType real_part(DType dtype) {
  switch (dtype) {
    case DType::kComplex32: return DType::kF16;
    case DType::kComplex64: return DType::kF32;
    case DType::kComplex128: return DType::kF64;
    default: return dtype;
  }
}

}  // namespace

Error read_element(KernelContext& context, const EValue& scalar, DType dtype, Element* out) {
  constexpr const char* kDoesNotFit = "a number does not fit the dtype of the output";
  if (!scalar.is_scalar()) return context.fail(Error::kInvalidType, "a number was expected");
  if (is_narrow(dtype)) {
    *out = Element();
    uint8_t code = 0;
    if (!narrow_from(scalar, dtype, &code)) return context.fail(Error::kInvalidArgument, kDoesNotFit);
    std::memcpy(out->bytes, &code, sizeof code);
    return Error::kOk;
  }
  return dispatch_real(context, real_part(dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T x;
    if (!element_from(scalar, &x)) return context.fail(Error::kInvalidArgument, kDoesNotFit);
    *out = Element();
    std::memcpy(out->bytes, &x, sizeof x);
    return Error::kOk;
  });
}

Error full(KernelContext& context, IntList size, const EValue& scalar, Tensor& out, Fill fill) {
  Sizes sizes;
  Element value;
  BERTH_RETURN_IF_ERROR(read_sizes(context, size, &sizes));
  BERTH_RETURN_IF_ERROR(read_element(context, scalar, out.dtype(), &value));
  return fill(context, value, sizes, out);
}

Error full_like(KernelContext& context, const Tensor& self, const EValue& scalar, Tensor& out, Fill fill) {
  Element value;
  BERTH_RETURN_IF_ERROR(read_element(context, scalar, out.dtype(), &value));
  return fill(context, value, sizes_of(self), out);
}

Error scalar_tensor(KernelContext& context, const EValue& scalar, Tensor& out, Fill fill) {
  Element value;
  BERTH_RETURN_IF_ERROR(read_element(context, scalar, out.dtype(), &value));
  return fill(context, value, Sizes(), out);
}

Error fill_scalar(KernelContext& context, const Tensor& self, const EValue& scalar, Tensor& out, Fill fill) {
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, self, out));
  return full_like(context, self, scalar, out, fill);
}

Error check_fill(KernelContext& context, const Tensor& self, const Tensor& value, const Tensor& out) {
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, self, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, value));
  if (value.rank() == 0) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "fill: value must be a tensor of rank 0");
}

}  // namespace berth::portable
