// nonzero: the coordinates of the elements that are not zero, a row each, in row-major order.
#include <type_traits>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T>
bool is_nonzero(T x) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool>) {
    return static_cast<bool>(x);
  } else {
    return x != T(0);  // NaN is not zero
  }
}

template <typename T>
int64_t count_nonzero(const Tensor& self) {
  int64_t count = 0;
  for (int64_t i = 0; i < self.numel(); ++i) count += is_nonzero(self.data<T>()[i]) ? 1 : 0;
  return count;
}

// Writes at most `rows` rows: no more than were counted, whatever happens to self meanwhile.
template <typename T>
void write_coordinates(const Tensor& self, Tensor& out, int64_t rows) {
  int64_t* to = out.data<int64_t>();
  for (int64_t i = 0, row = 0; i < self.numel() && row < rows; ++i) {
    if (!is_nonzero(self.data<T>()[element_offset(self, i)])) continue;
    for (int64_t d = self.rank() - 1, rest = i; d >= 0; --d) {
      const int64_t size = self.size(static_cast<int>(d));
      to[row * out.stride(0) + d * out.stride(1)] = rest % size;
      rest /= size;
    }
    ++row;
  }
}

}  // namespace

Error nonzero_out(KernelContext& context, const arguments::nonzero_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (out.dtype() != DType::kI64) return context.fail(Error::kInvalidArgument, "nonzero: out must be i64");
  BERTH_RETURN_IF_ERROR(check_memory(context, self));
  return dispatch_real(context, self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t rows = count_nonzero<T>(self);
    Sizes sizes;
    if (!push_size(&sizes, rows) || !push_size(&sizes, self.rank())) {
      return context.fail(Error::kInvalidArgument, "nonzero: 2^31 elements or more are not zero");
    }
    BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
    BERTH_RETURN_IF_ERROR(check_memory(context, out));
    write_coordinates<T>(self, out, rows);
    return Error::kOk;
  });
}

}  // namespace berth::portable
