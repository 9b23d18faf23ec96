// add, sub, rsub, mul, true division, maximum, minimum, atan2.
#include "kernels/portable/arithmetic.h"

#include <cmath>

#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Integers wrap around.
BERTH_INLINE float sum(float x, float y) { return x + y; }
BERTH_INLINE double sum(double x, double y) { return x + y; }
BERTH_INLINE uint64_t sum(uint64_t x, uint64_t y) { return x + y; }
BERTH_INLINE int64_t sum(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
BERTH_INLINE float difference(float x, float y) { return x - y; }
BERTH_INLINE double difference(double x, double y) { return x - y; }
BERTH_INLINE uint64_t difference(uint64_t x, uint64_t y) { return x - y; }
BERTH_INLINE int64_t difference(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
BERTH_INLINE float product(float x, float y) { return x * y; }
BERTH_INLINE double product(double x, double y) { return x * y; }
BERTH_INLINE uint64_t product(uint64_t x, uint64_t y) { return x * y; }
BERTH_INLINE int64_t product(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <typename T>
struct Add : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return sum(x, y); }
};
template <typename T>
struct Sub : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return difference(x, y); }
};
// x + alpha * y
template <typename T>
struct AddScaled {
  explicit AddScaled(const Scalars& s) : alpha(static_cast<T>(s.real[0])) {}
  BERTH_INLINE T operator()(T x, T y) const { return sum(x, product(alpha, y)); }
  T alpha;
};
template <>
AddScaled<int64_t>::AddScaled(const Scalars& s) : alpha(s.whole[0]) {}
template <>
AddScaled<uint64_t>::AddScaled(const Scalars& s) : alpha(static_cast<uint64_t>(s.whole[0])) {}

template <typename T>
struct Mul : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return product(x, y); }
};
template <typename T>
struct Div : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return x / y; }
};
// A NaN on either side is the result.
template <typename T>
struct Maximum : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return x >= y || x != x ? x : y; }
};
template <typename T>
struct Minimum : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x, T y) const { return x <= y || x != x ? x : y; }
};
template <typename T>
struct Atan2 : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T y, T x) const { return std::atan2(y, x); }
};

// self + sign * alpha * other, in the other order where `reversed`.
template <typename Args>
Error add_scalar(KernelContext& context, const Args& args, int sign, bool reversed) {
  const Tensor& self = args.self;
  const DType common = promote_scalar(self.dtype(), args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, args.alpha, sign, common, &scalars));
  return run_binary_scalar(context, self, args.other, args.out, common, binary_loops<AddScaled>(), reversed, scalars);
}

template <typename Args>
Error sub_scalar(KernelContext& context, const Args& args, bool reversed) {
  const bool any_bool = args.self.dtype() == DType::kBool || args.other.is_bool();
  BERTH_RETURN_IF_ERROR(refuse_bool(context, any_bool));
  return add_scalar(context, args, -1, reversed);
}

}  // namespace

Error add_out(KernelContext& context, const arguments::add_out& args) {
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  Tensor& out = args.out;
  if (is_complex(a.dtype())) return complex_add(context, a, b, args.alpha.scalar_to<double>(), out);
  const DType common = promoted(a, b);
  Scalars scalars;
  if (const Error error = read_alpha(context, args.alpha, 1, common, &scalars); error != Error::kOk) return error;
  if (is_one(args.alpha)) return run_binary(context, a, b, out, common, binary_loops<Add>());
  return run_binary(context, a, b, out, common, binary_loops<AddScaled>(), scalars);
}

Error add_Scalar_out(KernelContext& context, const arguments::add_Scalar_out& args) {
  return add_scalar(context, args, 1, false);
}

Error sub_out(KernelContext& context, const arguments::sub_out& args) {
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  Tensor& out = args.out;
  if (is_complex(a.dtype())) return complex_add(context, a, b, -args.alpha.scalar_to<double>(), out);
  const DType common = promoted(a, b);
  Scalars scalars;
  Error error = refuse_bool(context, a.dtype() == DType::kBool || b.dtype() == DType::kBool);
  if (error == Error::kOk) error = read_alpha(context, args.alpha, -1, common, &scalars);
  if (error != Error::kOk) return error;
  if (is_one(args.alpha)) return run_binary(context, a, b, out, common, binary_loops<Sub>());
  return run_binary(context, a, b, out, common, binary_loops<AddScaled>(), scalars);
}

Error sub_Scalar_out(KernelContext& context, const arguments::sub_Scalar_out& args) {
  return sub_scalar(context, args, false);
}
Error rsub_Scalar_out(KernelContext& context, const arguments::rsub_Scalar_out& args) {
  return sub_scalar(context, args, true);
}

Error mul_out(KernelContext& context, const arguments::mul_out& args) {
  if (is_complex(args.self.dtype())) return complex_mul(context, args.self, args.other, args.out);
  return run_binary(context, args.self, args.other, args.out, promoted(args.self, args.other), binary_loops<Mul>());
}

Error mul_Scalar_out(KernelContext& context, const arguments::mul_Scalar_out& args) {
  const Tensor& self = args.self;
  return run_binary_scalar(context, self, args.other, args.out, promote_scalar(self.dtype(), args.other),
                           binary_loops<Mul>());
}

Error divide(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  if (is_complex(self.dtype())) return complex_div(context, self, other, out);
  return run_binary(context, self, other, out, promote_to_floating(promoted(self, other)), binary_float_loops<Div>());
}

Error divide_by_scalar(KernelContext& context, const Tensor& self, const EValue& other, Tensor& out) {
  return run_binary_scalar(context, self, other, out, promote_to_floating(promote_scalar(self.dtype(), other)),
                           binary_float_loops<Div>());
}

Error div_out(KernelContext& context, const arguments::div_out& args) {
  return divide(context, args.self, args.other, args.out);
}

Error div_Scalar_out(KernelContext& context, const arguments::div_Scalar_out& args) {
  return divide_by_scalar(context, args.self, args.other, args.out);
}

Error maximum_out(KernelContext& context, const arguments::maximum_out& args) {
  return run_binary(context, args.self, args.other, args.out, promoted(args.self, args.other), binary_loops<Maximum>());
}

Error minimum_out(KernelContext& context, const arguments::minimum_out& args) {
  return run_binary(context, args.self, args.other, args.out, promoted(args.self, args.other), binary_loops<Minimum>());
}

Error atan2_out(KernelContext& context, const arguments::atan2_out& args) {
  return run_binary(context, args.self, args.other, args.out, promote_to_floating(promoted(args.self, args.other)),
                    binary_float_loops<Atan2>());
}

}  // namespace berth::portable
