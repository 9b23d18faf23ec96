#include "kernels/portable/complex_arithmetic.h"

#include <cmath>

#include "base/half.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/reduce_plan.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 4096;

struct Complex {
  double re = 0;
  double im = 0;
};

template <typename T>
Complex load_as(const Tensor& tensor, int64_t at) {
  const T* parts = tensor.data<T>() + 2 * at;
  return {static_cast<double>(parts[0]), static_cast<double>(parts[1])};
}

Complex load(const Tensor& tensor, int64_t at) {
  if (tensor.dtype() == DType::kComplex64) return load_as<float>(tensor, at);
  return tensor.dtype() == DType::kComplex128 ? load_as<double>(tensor, at) : load_as<Half>(tensor, at);
}

void store(Tensor& tensor, int64_t at, Complex x) {
  const DType part = part_dtype(tensor.dtype());
  char* address = tensor.data<char>() + 2 * at * static_cast<int64_t>(element_size(part));
  const double parts[] = {x.re, x.im};
  convert_elements(DType::kF64, parts, part, address, 2);
}

Complex times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// Scaled by the larger part, so that squares do not overflow.
Complex over(Complex a, Complex b) {
  if (std::abs(b.re) >= std::abs(b.im)) {
    const double ratio = b.im / b.re;
    const double scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const double ratio = b.re / b.im;
  const double scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <typename F>
Error run_binary(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, F&& f) {
  if (a.dtype() != b.dtype() || a.dtype() != out.dtype()) {
    return context.fail(Error::kInvalidArgument, "complex numbers combine with those of the same dtype alone");
  }
  const Tensor* inputs[] = {&a, &b};
  BERTH_RETURN_IF_ERROR(resize_broadcast(context, out, inputs));
  BERTH_RETURN_IF_ERROR(check_memory(context, a, b));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  if (out.numel() == 0) return Error::kOk;
  const Tensor* tensors[] = {&out, &a, &b};
  const Walk walk = walk_broadcast(tensors);
  context.parallel_for(walk.count, kGrain, [&](int64_t begin, int64_t end) {
    for_each_run(walk, begin, end, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const Complex x = load(a, at[1] + i * walk.step(1));
        store(out, at[0] + i * walk.step(0), f(x, load(b, at[2] + i * walk.step(2))));
      }
    });
  });
  return Error::kOk;
}

}  // namespace

DType part_dtype(DType complex) {
  if (complex == DType::kComplex32) return DType::kF16;
  return complex == DType::kComplex64 ? DType::kF32 : DType::kF64;
}

Error complex_add(KernelContext& context, const Tensor& self, const Tensor& other, double alpha, Tensor& out) {
  return run_binary(context, self, other, out, [=](Complex x, Complex y) {
    return Complex{x.re + alpha * y.re, x.im + alpha * y.im};
  });
}

Error complex_mul(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return run_binary(context, self, other, out, times);
}

Error complex_div(KernelContext& context, const Tensor& self, const Tensor& other, Tensor& out) {
  return run_binary(context, self, other, out, over);
}

Error complex_abs(KernelContext& context, const Tensor& self, Tensor& out) {
  if (out.dtype() != part_dtype(self.dtype())) {
    return context.fail(Error::kInvalidArgument, "magnitudes of complex numbers are of the type of their parts");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, self.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, out));
  if (out.numel() == 0) return Error::kOk;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const Complex x = load(self, element_offset(self, i));
    store_element(out, element_offset(out, i), std::hypot(x.re, x.im));
  }
  return Error::kOk;
}

Error complex_sum(KernelContext& context, const arguments::sum_IntList_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(read_reduced_dims(context, args.dim, self, &dims.mask));
  const bool same = !args.dtype.has_value() || *args.dtype == static_cast<int64_t>(self.dtype());
  if (!same || out.dtype() != self.dtype()) {
    return context.fail(Error::kInvalidArgument, "sums of complex numbers are of their own dtype");
  }
  BERTH_RETURN_IF_ERROR(resize_reduced(context, self, dims, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, out));
  Walk kept(1);
  Walk reduced(1);
  for (int d = 0; d < self.rank(); ++d) {
    const int64_t stride[] = {self.stride(d)};
    ((dims.mask >> d & 1u) != 0 ? reduced : kept).add(self.size(d), stride);
  }
  for (int64_t i = 0; i < out.numel(); ++i) {
    int64_t first[Walk::kMaxOperands];
    kept.offsets(i, first);
    Complex sum;
    for_each_run(reduced, 0, reduced.count, [&](const int64_t* at, int64_t n) {
      for (int64_t j = 0; j < n; ++j) {
        const Complex x = load(self, first[0] + at[0] + j * reduced.step(0));
        sum = {sum.re + x.re, sum.im + x.im};
      }
    });
    store(out, element_offset(out, i), sum);
  }
  return Error::kOk;
}

void complex_copy(const Tensor& from, Tensor& to) {
  const Tensor* tensors[] = {&to, &from};
  const Walk walk = walk_broadcast(tensors);
  for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t source = at[1] + i * walk.step(1);
      const Complex x = is_complex(from.dtype()) ? load(from, source) : Complex{element_or(&from, source, 0), 0};
      if (is_complex(to.dtype())) store(to, at[0] + i * walk.step(0), x);
      if (!is_complex(to.dtype())) store_element(to, at[0] + i * walk.step(0), x.re);
    }
  });
}

void complex_product(KernelContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const int row = out.rank() - 2;
  const int column = out.rank() - 1;
  const int64_t rows = out.size(row);
  const int64_t columns = out.size(column);
  const int64_t inner = self.size(column);
  if (out.numel() == 0) return;
  context.parallel_for(out.numel(), grain_of(4 * inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / columns / rows;
      const int64_t y = i / columns % rows;
      const int64_t x = i % columns;
      const int64_t a = (row == 1 ? batch * self.stride(0) : 0) + y * self.stride(row);
      const int64_t b = (row == 1 ? batch * mat2.stride(0) : 0) + x * mat2.stride(column);
      Complex sum;
      for (int64_t k = 0; k < inner; ++k) {
        const Complex term = times(load(self, a + k * self.stride(column)), load(mat2, b + k * mat2.stride(row)));
        sum = {sum.re + term.re, sum.im + term.im};
      }
      store(out, element_offset(out, i), sum);
    }
  });
}

}  // namespace berth::portable
