// arange: start, start + step, … before end.
#include <type_traits>

#include "kernels/portable/create_range.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T>
void write_range(const Range& range, Tensor& out) {
  T* to = out.data<T>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      // Unsigned, where wrapping is defined.
      to[i] = static_cast<T>(static_cast<uint64_t>(range.whole_start) +
                             static_cast<uint64_t>(range.whole_step) * static_cast<uint64_t>(i));
    } else if constexpr (std::is_same_v<T, double>) {
      to[i] = range.real_start + range.real_step * static_cast<double>(i);
    } else {
      to[i] = T(static_cast<float>(range.real_start + range.real_step * static_cast<double>(i)));
    }
  }
}

Error arange(KernelContext& context, const EValue& start, const EValue& end, const EValue& step, Tensor& out) {
  Range range;
  BERTH_RETURN_IF_ERROR(prepare_range(context, start, end, step, out, &range));
  const auto write = [&](auto tag) {
    write_range<typename decltype(tag)::type>(range, out);
    return Error::kOk;
  };
  return range.whole ? dispatch_integer(context, out.dtype(), write) : dispatch_floating(context, out.dtype(), write);
}

}  // namespace

Error arange_out(KernelContext& context, const arguments::arange_out& args) {
  return arange(context, EValue(int64_t{0}), args.end, EValue(int64_t{1}), args.out);
}

Error arange_start_out(KernelContext& context, const arguments::arange_start_out& args) {
  return arange(context, args.start, args.end, args.step, args.out);
}

}  // namespace berth::portable
