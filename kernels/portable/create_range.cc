#include "kernels/portable/create_range.h"

#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"

namespace berth::portable {
namespace {

// Whether `x` is a whole number once its fraction is cut off: finite, and not beyond 64 bits.
bool to_integer(const EValue& x, int64_t* out) {
  if (x.is_double() && !(std::fabs(x.to_double()) < 9223372036854775808.0)) return false;
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

// The number of elements, rounded up. -1 when there is no such number.
int64_t count_of(const EValue& start, const EValue& end, const EValue& step) {
  if (start.is_int() && end.is_int() && step.is_int()) {
    return count_of_integers(start.to_int(), end.to_int(), step.to_int());
  }
  const double first = start.scalar_to<double>();
  const double last = end.scalar_to<double>();
  const double by = step.scalar_to<double>();
  if (!std::isfinite(first) || !std::isfinite(last) || !std::isfinite(by) || by == 0) return -1;
  const double elements = (last - first) / by;
  if (!(elements >= 0) || elements > INT32_MAX) return -1;
  return static_cast<int64_t>(std::ceil(elements));
}

}  // namespace

Error prepare_range(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out,
                    Range* range) {
  Sizes sizes;
  if (!push_size(&sizes, count_of(start, end, step))) {
    return context.fail(Error::kInvalidArgument,
                        "arange: step must be a finite number other than 0 that leads from start to end");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  range->whole = is_integer(out.dtype());
  if (!range->whole && !is_floating(out.dtype())) return unsupported_dtype(context);
  if (range->whole && (!to_integer(start, &range->whole_start) || !to_integer(step, &range->whole_step))) {
    return context.fail(Error::kInvalidArgument, "arange: start or step does not fit 64 bits");
  }
  range->real_start = start.scalar_to<double>();
  range->real_step = step.scalar_to<double>();
  return Error::kOk;
}

}  // namespace berth::portable
