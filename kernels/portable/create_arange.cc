// arange: start, start + step, … before end. With an integer output, fractions of start and step are cut off, though
// the number of elements is that of the numbers as they were given.
#include <cmath>
#include <type_traits>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

struct Range {
  EValue start;
  EValue end;
  EValue step;
};

// The number of elements, rounded up. -1 when there is no such number.
int64_t rounded_up(double elements) {
  if (!(elements >= 0) || elements > INT32_MAX) return -1;
  return static_cast<int64_t>(std::ceil(elements));
}

// Whether `x` is a whole number once its fraction is cut off: finite, and not beyond 64 bits.
bool to_integer(const EValue& x, int64_t* out) {
  if (x.is_double() && !(std::fabs(x.real()) < 9223372036854775808.0)) return false;
  *out = x.scalar_to<int64_t>();
  return true;
}

// (end - start) / step rounded up, for integers that a double cannot hold.
int64_t count_of_integers(int64_t start, int64_t end, int64_t step) {
  if (step == 0) return -1;
  if (start == end) return 0;
  if ((end > start) != (step > 0)) return -1;
  // Unsigned differences cannot overflow.
  const uint64_t distance = end > start ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                        : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  const uint64_t count = (distance - 1) / stride + 1;
  return count > INT32_MAX ? -1 : static_cast<int64_t>(count);
}

int64_t count_of(const Range& range) {
  if (range.start.is_int() && range.end.is_int() && range.step.is_int()) {
    return count_of_integers(range.start.integer(), range.end.integer(), range.step.integer());
  }
  const double start = range.start.scalar_to<double>();
  const double end = range.end.scalar_to<double>();
  const double step = range.step.scalar_to<double>();
  if (!std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step) || step == 0) return -1;
  return rounded_up((end - start) / step);
}

template <typename T>
bool write_range(const Range& range, Tensor& out) {
  T* to = out.data<T>();
  if constexpr (std::is_integral_v<T>) {
    int64_t start = 0;
    int64_t step = 0;
    if (!to_integer(range.start, &start) || !to_integer(range.step, &step)) return false;
    for (int64_t i = 0; i < out.numel(); ++i) {
      // Unsigned, where wrapping is defined.
      to[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(step) * static_cast<uint64_t>(i));
    }
  } else {
    const double start = range.start.scalar_to<double>();
    const double step = range.step.scalar_to<double>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      const double x = start + step * static_cast<double>(i);
      if constexpr (std::is_same_v<T, double>) {
        to[i] = x;
      } else {
        to[i] = T(static_cast<float>(x));
      }
    }
  }
  return true;
}

Error arange(KernelContext& context, const Range& range, Tensor& out) {
  Sizes sizes;
  if (!push_size(&sizes, count_of(range))) {
    return context.fail(Error::kInvalidArgument,
                        "arange: step must be a finite number other than 0 that leads from start to end");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  const auto write = [&](auto tag) {
    if (write_range<typename decltype(tag)::type>(range, out)) return Error::kOk;
    return context.fail(Error::kInvalidArgument, "arange: start or step does not fit 64 bits");
  };
  return is_floating(out.dtype()) ? dispatch_floating(context, out.dtype(), write)
                                  : dispatch_integer(context, out.dtype(), write);
}

}  // namespace

Error arange_out(KernelContext& context, Span<EValue* const> args) {
  return arange(context, {EValue(int64_t{0}), *args[0], EValue(int64_t{1})}, args[1]->tensor());
}

Error arange_start_out(KernelContext& context, Span<EValue* const> args) {
  return arange(context, {*args[0], *args[1], *args[2]}, args[3]->tensor());
}

}  // namespace berth::portable
