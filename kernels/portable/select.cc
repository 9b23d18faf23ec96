// Choosing between elements: where, masked_fill, clamp between tensors.
#include "kernels/portable/elementwise_arguments.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

template <typename T, bool a_splat, bool b_splat>
BERTH_INLINE void select_between(const Chunk& chunk) {
  T* out = static_cast<T*>(chunk.out);
  const Bool* condition = static_cast<const Bool*>(chunk.in[0]);
  const T* a = static_cast<const T*>(chunk.in[1]);
  const T* b = static_cast<const T*>(chunk.in[2]);
  const int64_t n = chunk.n;
  const T first_a = *a;
  const T first_b = *b;
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) {
    const T x = a_splat ? first_a : a[i];
    const T y = b_splat ? first_b : b[i];
    out[i] = condition[i].byte != 0 ? x : y;
  }
}

// One condition for the whole run: a copy of one side.
template <typename T>
BERTH_INLINE void copy_chosen(const Chunk& chunk) {
  const int chosen = static_cast<const Bool*>(chunk.in[0])->byte != 0 ? 1 : 2;
  T* out = static_cast<T*>(chunk.out);
  const T* from = static_cast<const T*>(chunk.in[chosen]);
  const bool splat = chunk.splat[chosen];
  const T first = *from;
  const int64_t n = chunk.n;
  if (splat) {
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = first;
  } else {
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
}

template <typename T>
BERTH_INLINE void select_chunk(const Chunk& chunk) {
  if (chunk.splat[0]) {
    copy_chosen<T>(chunk);
  } else if (chunk.splat[1] && chunk.splat[2]) {
    select_between<T, true, true>(chunk);
  } else if (chunk.splat[1]) {
    select_between<T, true, false>(chunk);
  } else if (chunk.splat[2]) {
    select_between<T, false, true>(chunk);
  } else {
    select_between<T, false, false>(chunk);
  }
}

BERTH_MULTIVERSION void select_f32(const Chunk& chunk) { select_chunk<float>(chunk); }
void select_f64(const Chunk& chunk) { select_chunk<double>(chunk); }
void select_i64(const Chunk& chunk) { select_chunk<int64_t>(chunk); }
constexpr Loops kSelect = {select_f32, select_f64, select_i64, select_i64};

// Elements of NaN in any of the three are the result.
template <typename T>
BERTH_INLINE T clamp_one(T x, T low, T high) {
  const T raised = x >= low || x != x ? x : low;
  return raised <= high || raised != raised ? raised : high;
}

template <typename T>
void clamp_chunk(const Chunk& chunk) {
  T* out = static_cast<T*>(chunk.out);
  const T* in[3];
  int64_t step[3];
  for (int k = 0; k < 3; ++k) {
    in[k] = static_cast<const T*>(chunk.in[k]);
    step[k] = chunk.splat[k] ? 0 : 1;
  }
  for (int64_t i = 0; i < chunk.n; ++i) {
    out[i] = clamp_one(in[0][i * step[0]], in[1][i * step[1]], in[2][i * step[2]]);
  }
}
constexpr Loops kClamp = {clamp_chunk<float>, clamp_chunk<double>, clamp_chunk<int64_t>, clamp_chunk<uint64_t>};

}  // namespace

Error where_self_out(KernelContext& context, const arguments::where_self_out& args) {
  const Tensor& condition = args.condition;
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  BERTH_RETURN_IF_ERROR(check_condition(context, condition));
  const DType common = promote_types(a.dtype(), b.dtype());
  const DType compute = kSelect.compute(common);
  const Input inputs[] = {{&condition, DType::kBool, DType::kBool, nullptr},
                          {&a, compute, common, nullptr},
                          {&b, compute, common, nullptr}};
  return run_elementwise(context, {&args.out, compute, common}, inputs, kSelect.at(compute), Scalars());
}

Error masked_fill_Scalar_out(KernelContext& context, const arguments::masked_fill_Scalar_out& args) {
  const Tensor& self = args.self;
  const Tensor& mask = args.mask;
  BERTH_RETURN_IF_ERROR(check_condition(context, mask));
  const DType common = self.dtype();
  if (!is_real(common)) return unsupported_dtype(context);
  const DType compute = kSelect.compute(common);
  const ScalarElement value(args.value, common, compute);
  const Input inputs[] = {{&mask, DType::kBool, DType::kBool, nullptr},
                          {nullptr, compute, common, value.bytes},
                          {&self, compute, common, nullptr}};
  return run_elementwise(context, {&args.out, compute, common}, inputs, kSelect.at(compute), Scalars());
}

Error clamp_Tensor_out(KernelContext& context, const arguments::clamp_Tensor_out& args) {
  TensorLimits limits;
  BERTH_RETURN_IF_ERROR(limits.read(context, args.self, args.min, args.max));
  return run_elementwise(context, {&args.out, limits.compute(), limits.common()}, limits.inputs(),
                         kClamp.at(limits.compute()), Scalars());
}

}  // namespace berth::portable
