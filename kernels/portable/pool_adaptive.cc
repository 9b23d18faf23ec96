// aten::_adaptive_avg_pool2d: each output is the mean of the part of the input that it covers; parts may overlap by an
// element. Global average pooling is output_size [1, 1].
#include "kernels/portable/dispatch.h"
#include "kernels/portable/pool_arguments.h"

namespace berth::portable {
namespace {

struct Part {
  int64_t first, end;

  // floor(position * in / out) to ceil((position + 1) * in / out); sizes are below 2^31.
  Part(const WindowAxis& axis, int64_t position)
      : first(position * axis.in / axis.out), end(((position + 1) * axis.in + axis.out - 1) / axis.out) {}
  int64_t size() const { return end - first; }
};

// Several sums side by side: one alone would wait for each addition.
template <typename S, typename T>
S sum_run(const T* elements, int64_t stride, int64_t n) {
  constexpr int64_t kSums = 16;
  S sums[kSums] = {};
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kSums <= n; i += kSums) {
      for (int64_t j = 0; j < kSums; ++j) sums[j] += static_cast<S>(elements[i + j]);
    }
  }
  for (; i < n; ++i) sums[0] += static_cast<S>(elements[i * stride]);
  for (int64_t step = kSums / 2; step > 0; step /= 2) {
    for (int64_t j = 0; j < step; ++j) sums[j] += sums[j + step];
  }
  return sums[0];
}

template <typename T>
void pool_plane(const Pooling& p, int64_t plane) {
  using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* input = p.input->data<T>() + p.plane_offset(*p.input, plane);
  T* out = p.out->data<T>() + p.plane_offset(*p.out, plane);
  const int64_t row_stride = p.row_stride(*p.input);
  const int64_t column_stride = p.column_stride(*p.input);
  for (int64_t oy = 0; oy < p.axis[0].out; ++oy) {
    const Part rows(p.axis[0], oy);
    for (int64_t ox = 0; ox < p.axis[1].out; ++ox) {
      const Part columns(p.axis[1], ox);
      S sum{};
      if (row_stride == columns.size() * column_stride) {  // whole rows are one run
        sum = sum_run<S>(input + rows.first * row_stride + columns.first * column_stride, column_stride,
                         rows.size() * columns.size());
      } else {
        for (int64_t y = rows.first; y < rows.end; ++y) {
          sum += sum_run<S>(input + y * row_stride + columns.first * column_stride, column_stride, columns.size());
        }
      }
      out[oy * p.row_stride(*p.out) + ox * p.column_stride(*p.out)] =
          static_cast<T>(sum / static_cast<S>(rows.size()) / static_cast<S>(columns.size()));
    }
  }
}

}  // namespace

Error adaptive_avg_pool2d_out(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args) {
  Pooling p;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_adaptive_pooling(context, args, &p));
  if (out.numel() == 0) return Error::kOk;
  return dispatch_floating(context, out.dtype(), [&](auto tag) {
    context.parallel_for(p.planes(), grain_of(p.axis[0].in * p.axis[1].in), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) pool_plane<typename decltype(tag)::type>(p, plane);
    });
    return Error::kOk;
  });
}

}  // namespace berth::portable
