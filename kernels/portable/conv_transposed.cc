#include "kernels/portable/conv_transposed.h"

#include <algorithm>
#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/narrow.h"

namespace berth::portable {
namespace {

// What one tap along an axis reads for position `out` of the result: -1 for none.
int64_t input_place(const Convolution::Axis& axis, int64_t out, int64_t tap) {
  const int64_t position = out + axis.padding - tap * axis.dilation;
  if (position < 0 || position % axis.stride != 0) return -1;
  return position / axis.stride < axis.in ? position / axis.stride : -1;
}

template <typename T>
struct Transposed {
  const Convolution& c;
  int64_t batch, channel;  // of the result, the channel counted over all groups

  double channels(int64_t input, int64_t weight) const {
    const int64_t group = channel / c.out_channels;
    const T* x = c.input->data<T>() + batch * c.input->stride(0) + group * c.in_channels * c.input->stride(1) + input;
    const T* w = c.weight->data<T>() + group * c.in_channels * c.weight->stride(0) +
                 channel % c.out_channels * c.weight->stride(1) + weight;
    double sum = 0;
    for (int64_t in = 0; in < c.in_channels; ++in) {
      sum += static_cast<double>(x[in * c.input->stride(1)]) * static_cast<double>(w[in * c.weight->stride(0)]);
    }
    return sum;
  }

  // Of the axes from `axis` on; what those before it read begins at `input` and `weight`.
  double taps(const int64_t (&out)[3], int axis, int64_t input, int64_t weight) const {
    if (axis == 3) return channels(input, weight);
    const Convolution::Axis& a = c.axis[axis];
    double sum = 0;
    for (int64_t tap = 0; tap < a.kernel; ++tap) {
      const int64_t in = input_place(a, out[axis], tap);
      if (in >= 0) sum += taps(out, axis + 1, input + in * a.in_stride, weight + tap * a.kernel_stride);
    }
    return sum;
  }

  void run() const {
    T* to = c.out->data<T>() + batch * c.out->stride(0) + channel * c.out->stride(1);
    const double bias = c.bias == nullptr ? 0 : static_cast<double>(c.bias->data<T>()[channel]);
    for (int64_t z = 0; z < c.axis[0].out; ++z) {
      for (int64_t y = 0; y < c.axis[1].out; ++y) {
        for (int64_t x = 0; x < c.axis[2].out; ++x) {
          const int64_t offset = z * c.axis[0].out_stride + y * c.axis[1].out_stride + x * c.axis[2].out_stride;
          to[offset] = narrow<T>(bias + taps({z, y, x}, 0, 0, 0));
        }
      }
    }
  }
};

template <typename T>
bool all_finite(const Tensor& tensor) {
  const T* elements = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (!std::isfinite(static_cast<double>(elements[i]))) return false;
  }
  return true;
}

}  // namespace

bool is_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16: return all_finite<Half>(tensor);
    case DType::kBF16: return all_finite<BFloat16>(tensor);
    case DType::kF32: return all_finite<float>(tensor);
    case DType::kF64: return all_finite<double>(tensor);
    default: return true;
  }
}

void run_transposed_by_definition(KernelContext& context, const Convolution& c) {
  double work = static_cast<double>(c.in_channels);
  for (const Convolution::Axis& axis : c.axis) work *= static_cast<double>(axis.out) * static_cast<double>(axis.kernel);
  const int64_t channels = c.groups * c.out_channels;
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    context.parallel_for(c.batch * channels, grain_of(static_cast<int64_t>(std::min(work, 1e9))),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) Transposed<T>{c, i / channels, i % channels}.run();
                         });
    return Error::kOk;
  };
  static_cast<void>(dispatch_floating(context, c.out->dtype(), run));
}

}  // namespace berth::portable
