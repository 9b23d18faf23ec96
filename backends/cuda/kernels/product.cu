// Products of matrices, and convolutions as such (kernels/portable/gemm.h says how): a thread for each element of the
// result, which sums over its depth; so any dtype, strides, groups, dilation and transposition are one kernel. Where
// cuBLASLt or cuDNN takes the case, it does it.
#include "backends/cuda/kernels/finish.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "backends/cuda/libraries.h"
#include "base/result.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/matmul_arguments.h"

namespace berth::cuda {
namespace {

using portable::check_memory;
using portable::Convolution;
using portable::Product;
using portable::resize_out;

// f16 and bf16 are summed in float; whole numbers wrap.
template <typename T>
struct ProductBody {
  using S = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;

  Product p;
  int64_t columns;
  bool one_tap;
  S a_scale;
  S start_scale;
  Finish finish;  // of f32 alone

  BERTH_HD T at(const void* base, int64_t index) const { return load<T>(base, p.dtype, index); }

  // The sum over the taps that lie inside, of one channel.
  BERTH_HD S sum_taps(int64_t a, int64_t b, const int64_t (&origin)[3]) const {
    S sum = 0;
    for (int64_t z = 0; z < p.axis[0].taps; ++z) {
      const int64_t in_z = origin[0] + z * p.axis[0].tap_step;
      if (in_z < 0 || in_z >= p.axis[0].size) continue;
      for (int64_t y = 0; y < p.axis[1].taps; ++y) {
        const int64_t in_y = origin[1] + y * p.axis[1].tap_step;
        if (in_y < 0 || in_y >= p.axis[1].size) continue;
        const int64_t a_row = a + z * p.axis[0].tap_a + y * p.axis[1].tap_a;
        const int64_t b_row = b + in_z * p.axis[0].b + in_y * p.axis[1].b;
        for (int64_t x = 0; x < p.axis[2].taps; ++x) {
          const int64_t in_x = origin[2] + x * p.axis[2].tap_step;
          if (in_x < 0 || in_x >= p.axis[2].size) continue;
          sum += static_cast<S>(at(p.a, a_row + x * p.axis[2].tap_a)) *
                 static_cast<S>(at(p.b, b_row + in_x * p.axis[2].b));
        }
      }
    }
    return sum;
  }

  BERTH_HD void operator()(int64_t i) const {
    const Division by_column = divide(i, columns);
    const Division by_row = divide(by_column.quotient, p.rows);
    const Division by_batch = divide(by_row.quotient, p.batch[1].count);
    const int64_t row = by_row.rest;
    const Division by_x = divide(by_column.rest, p.axis[2].count);
    const Division by_y = divide(by_x.quotient, p.axis[1].count);
    const int64_t place[3] = {by_y.quotient, by_y.rest, by_x.rest};
    int64_t a = by_batch.quotient * p.batch[0].a + by_batch.rest * p.batch[1].a + row * p.row_a;
    int64_t b = by_batch.quotient * p.batch[0].b + by_batch.rest * p.batch[1].b;
    int64_t c = by_batch.quotient * p.batch[0].c + by_batch.rest * p.batch[1].c + row * p.row_c;
    int64_t origin[3];
    for (int k = 0; k < 3; ++k) {
      origin[k] = place[k] * p.axis[k].step + p.axis[k].origin;
      c += place[k] * p.axis[k].c;
    }
    S sum = 0;
    if (one_tap) {
      for (int k = 0; k < 3; ++k) b += origin[k] * p.axis[k].b;
      for (int64_t k = 0; k < p.channels; ++k) {
        sum += static_cast<S>(at(p.a, a + k * p.channel_a)) * static_cast<S>(at(p.b, b + k * p.channel_b));
      }
    } else {
      for (int64_t k = 0; k < p.channels; ++k) sum += sum_taps(a + k * p.channel_a, b + k * p.channel_b, origin);
    }
    sum *= a_scale;
    if (p.start != nullptr) {
      const int64_t start = by_batch.quotient * p.batch[0].start + by_batch.rest * p.batch[1].start +
                            row * p.start_row + by_column.rest * p.start_column;
      sum += start_scale * static_cast<S>(at(p.start, start));
    }
    if constexpr (std::is_same_v<T, float>) {
      if (finish.residual != nullptr) sum += finish.residual[static_cast<float*>(p.c) + c - finish.out];
      sum = activated(finish.activation, sum);
    }
    store(p.c, p.dtype, c, static_cast<T>(sum));
  }
};

// Whether every place of the grid reads the one tap inside the input.
bool is_one_tap(const Product& p) {
  for (const Product::Axis& axis : p.axis) {
    const int64_t last = (axis.count - 1) * axis.step + axis.origin;
    if (axis.taps != 1 || axis.origin < 0 || last >= axis.size) return false;
  }
  return true;
}

template <typename T>
Error run_typed(KernelContext& context, const Product& p, const Finish& finish = {}) {
  using S = typename ProductBody<T>::S;
  ProductBody<T> body{p, p.columns(), is_one_tap(p), S(0), S(0), finish};
  if constexpr (std::is_same_v<T, int64_t>) {
    body.a_scale = static_cast<S>(p.a_scale.whole);
    body.start_scale = static_cast<S>(p.start_scale.whole);
  } else {
    body.a_scale = static_cast<S>(p.a_scale.real);
    body.start_scale = static_cast<S>(p.start_scale.real);
  }
  return for_each(context, p.batches() * p.rows * p.columns(), body);
}

template <typename Args>
Error run_batches(KernelContext& context, const Args& args, int rank) {
  Product p;
  BERTH_RETURN_IF_ERROR(portable::read_product(context, args.self, args.mat2, args.out, rank, &p));
  return multiply(context, p);
}

}  // namespace

Error multiply(KernelContext& context, const Product& p) {
  Libraries* libraries = queue_of(context).libraries;
  if (libraries != nullptr && p.batches() * p.rows * p.columns() > 0 && libraries->product(p)) return Error::kOk;
  switch (portable::compute_dtype(p.dtype)) {
    case DType::kF32: return run_typed<float>(context, p);
    case DType::kF64: return run_typed<double>(context, p);
    default: return run_typed<int64_t>(context, p);
  }
}

Error run_own_product(KernelContext& context, const Product& p, const Finish& finish) {
  return run_typed<float>(context, p, finish);
}

namespace {

Error run_phases(KernelContext& context, const Convolution& c) {
  const auto phases = [&](int axis) {
    return c.axis[axis].stride < c.axis[axis].out ? c.axis[axis].stride : c.axis[axis].out;
  };
  for (int64_t z = 0; z < phases(0); ++z) {
    for (int64_t y = 0; y < phases(1); ++y) {
      for (int64_t x = 0; x < phases(2); ++x) {
        BERTH_RETURN_IF_ERROR(multiply(context, portable::transposed_product(c, {z, y, x})));
      }
    }
  }
  return Error::kOk;
}

}  // namespace

Error mm_out(KernelContext& context, const arguments::mm_out& args) { return run_batches(context, args, 2); }
Error bmm_out(KernelContext& context, const arguments::bmm_out& args) { return run_batches(context, args, 3); }

Error addmm_out(KernelContext& context, const arguments::addmm_out& args) {
  Product p;
  BERTH_RETURN_IF_ERROR(portable::read_addmm(context, args, &p));
  return multiply(context, p);
}

Error convolution_out(KernelContext& context, const arguments::convolution_out& args) {
  Convolution c;
  BERTH_RETURN_IF_ERROR(portable::read_convolution(context, args, args.bias, args.out, &c));
  BERTH_RETURN_IF_ERROR(resize_out(context, *c.out, portable::convolution_sizes(c).span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, *c.input, *c.weight));
  BERTH_RETURN_IF_ERROR(check_memory(context, *c.out));
  if (c.bias != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *c.bias));
  if (c.out->numel() == 0) return Error::kOk;
  portable::read_convolution_strides(&c);
  Libraries* libraries = queue_of(context).libraries;
  if (libraries != nullptr && libraries->convolution(c, false)) return Error::kOk;
  if (c.transposed) return run_phases(context, c);
  return multiply(context, portable::forward_product(c));
}

}  // namespace berth::cuda
