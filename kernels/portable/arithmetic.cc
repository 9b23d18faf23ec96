// add, sub, rsub, mul, true division, maximum, minimum, atan2.
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
BERTH_INLINE int64_t sum(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
BERTH_INLINE float difference(float x, float y) { return x - y; }
BERTH_INLINE double difference(double x, double y) { return x - y; }
BERTH_INLINE int64_t difference(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
BERTH_INLINE float product(float x, float y) { return x * y; }
BERTH_INLINE double product(double x, double y) { return x * y; }
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
Error add_scalar(KernelContext& context, Span<EValue* const> args, int sign, bool reversed) {
  const Tensor& self = args[0]->tensor();
  const DType common = promote_scalar(self.dtype(), *args[1]);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, *args[2], sign, common, &scalars));
  return run_binary_scalar(context, self, *args[1], args[3]->tensor(), common, binary_loops<AddScaled>(), reversed,
                           scalars);
}

Error sub_scalar(KernelContext& context, Span<EValue* const> args, bool reversed) {
  const bool any_bool = args[0]->tensor().dtype() == DType::kBool || args[1]->is_bool();
  BERTH_RETURN_IF_ERROR(refuse_bool(context, any_bool));
  return add_scalar(context, args, -1, reversed);
}

}  // namespace

Error add_out(KernelContext& context, Span<EValue* const> args) {
  if (is_complex(args[0]->tensor().dtype())) return complex_add(context, args, 1);
  const Tensor& a = args[0]->tensor();
  const Tensor& b = args[1]->tensor();
  Tensor& out = args[3]->tensor();
  const DType common = promoted(args);
  Scalars scalars;
  if (const Error error = read_alpha(context, *args[2], 1, common, &scalars); error != Error::kOk) return error;
  if (is_one(*args[2])) return run_binary(context, a, b, out, common, binary_loops<Add>());
  return run_binary(context, a, b, out, common, binary_loops<AddScaled>(), scalars);
}

Error add_Scalar_out(KernelContext& context, Span<EValue* const> args) { return add_scalar(context, args, 1, false); }

Error sub_out(KernelContext& context, Span<EValue* const> args) {
  if (is_complex(args[0]->tensor().dtype())) return complex_add(context, args, -1);
  const Tensor& a = args[0]->tensor();
  const Tensor& b = args[1]->tensor();
  Tensor& out = args[3]->tensor();
  const DType common = promoted(args);
  Scalars scalars;
  Error error = refuse_bool(context, a.dtype() == DType::kBool || b.dtype() == DType::kBool);
  if (error == Error::kOk) error = read_alpha(context, *args[2], -1, common, &scalars);
  if (error != Error::kOk) return error;
  if (is_one(*args[2])) return run_binary(context, a, b, out, common, binary_loops<Sub>());
  return run_binary(context, a, b, out, common, binary_loops<AddScaled>(), scalars);
}

Error sub_Scalar_out(KernelContext& context, Span<EValue* const> args) { return sub_scalar(context, args, false); }
Error rsub_Scalar_out(KernelContext& context, Span<EValue* const> args) { return sub_scalar(context, args, true); }

Error mul_out(KernelContext& context, Span<EValue* const> args) {
  if (is_complex(args[0]->tensor().dtype())) return complex_mul(context, args);
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), promoted(args),
                    binary_loops<Mul>());
}

Error mul_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_binary_scalar(context, self, *args[1], args[2]->tensor(), promote_scalar(self.dtype(), *args[1]),
                           binary_loops<Mul>());
}

Error div_out(KernelContext& context, Span<EValue* const> args) {
  if (is_complex(args[0]->tensor().dtype())) return complex_div(context, args);
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(),
                    promote_to_floating(promoted(args)), binary_float_loops<Div>());
}

Error div_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_binary_scalar(context, self, *args[1], args[2]->tensor(),
                           promote_to_floating(promote_scalar(self.dtype(), *args[1])), binary_float_loops<Div>());
}

Error maximum_out(KernelContext& context, Span<EValue* const> args) {
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), promoted(args),
                    binary_loops<Maximum>());
}

Error minimum_out(KernelContext& context, Span<EValue* const> args) {
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), promoted(args),
                    binary_loops<Minimum>());
}

Error atan2_out(KernelContext& context, Span<EValue* const> args) {
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(),
                    promote_to_floating(promoted(args)), binary_float_loops<Atan2>());
}

}  // namespace berth::portable
