// glu: the first half of a dimension times the sigmoid of the second half.
#include <type_traits>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/math.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 8192;

BERTH_MULTIVERSION void gate_dense(const float* a, const float* b, float* out, int64_t n) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] * math::sigmoid(b[i]);
}

// Not inlined: vector code for every dtype and stride would be far larger than it is useful.
__attribute__((noinline)) float gate_one(float a, float b) { return a * math::sigmoid(b); }
__attribute__((noinline)) double gate_one(double a, double b) { return a * math::sigmoid(b); }

template <typename T>
void gate(const T* a, const T* b, int64_t step, T* out, int64_t out_step, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (step == 1 && out_step == 1) return gate_dense(a, b, out, n);
  }
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int64_t i = 0; i < n; ++i) {
    out[i * out_step] = T(gate_one(static_cast<Compute>(a[i * step]), static_cast<Compute>(b[i * step])));
  }
}

}  // namespace

Error glu_out(KernelContext& context, const arguments::glu_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_glu(context, self, args.dim, &dim, &sizes));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  Walk walk(2);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), self.stride(d)};
    walk.add(out.size(d), strides);
  }
  return dispatch_floating(context, self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = self.data<T>();
    const T* b = a + sizes.data[dim] * self.stride(dim);
    T* to = out.data<T>();
    context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for_each_run(walk, begin, end, [&](const int64_t* at, int64_t n) {
        gate(a + at[1], b + at[1], walk.step(1), to + at[0], walk.step(0), n);
      });
    });
    return Error::kOk;
  });
}

}  // namespace berth::portable
