// Loops of element-wise operators, made from functors on single elements.
//
//   template <typename T>
//   struct Relu : NoScalars {
//     using NoScalars::NoScalars;
//     BERTH_INLINE T operator()(T x) const { return x < 0 ? T(0) : x; }
//   };
//   constexpr Loops kRelu = unary_loops<Relu>();
//
// A functor is made from the operator's Scalars once a chunk. The f32 loops are compiled for several levels of the
// processor; f64 and integers, which models hardly use, once. Loops of integers are never asked for vector code.
#pragma once

#include "kernels/portable/elementwise.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {

struct NoScalars {
  explicit NoScalars(const Scalars&) {}
};

/// out[i] = f(a[i])
template <typename R, typename A, typename F>
BERTH_INLINE void unary_chunk(const Chunk& chunk, F f) {
  R* out = static_cast<R*>(chunk.out);
  const A* a = static_cast<const A*>(chunk.in[0]);
  const int64_t n = chunk.n;
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
}

/// out[i] = f(a[i], b[i]); of one input, at most, there is one element alone.
template <typename R, typename A, typename F>
BERTH_INLINE void binary_chunk(const Chunk& chunk, F f) {
  R* out = static_cast<R*>(chunk.out);
  const A* a = static_cast<const A*>(chunk.in[0]);
  const A* b = static_cast<const A*>(chunk.in[1]);
  const int64_t n = chunk.splat[0] && chunk.splat[1] ? 1 : chunk.n;
  if (chunk.splat[1]) {
    const A y = *b;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], y);
  } else if (chunk.splat[0]) {
    const A x = *a;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = f(x, b[i]);
  } else {
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  }
  for (int64_t i = n; i < chunk.n; ++i) out[i] = out[0];
}

template <template <typename> class F>
BERTH_MULTIVERSION void unary_f32(const Chunk& chunk) {
  unary_chunk<float, float>(chunk, F<float>(*chunk.scalars));
}
template <template <typename> class F, typename T>
void unary_plain(const Chunk& chunk) {
  unary_chunk<T, T>(chunk, F<T>(*chunk.scalars));
}
/// Loops of a functor from T to T.
template <template <typename> class F>
constexpr Loops unary_loops() {
  return {unary_f32<F>, unary_plain<F, double>, unary_plain<F, int64_t>};
}
/// The same for operators that are on floating types alone.
template <template <typename> class F>
constexpr Loops unary_float_loops() {
  return {unary_f32<F>, unary_plain<F, double>, nullptr};
}

template <template <typename> class F>
BERTH_MULTIVERSION void binary_f32(const Chunk& chunk) {
  binary_chunk<float, float>(chunk, F<float>(*chunk.scalars));
}
template <template <typename> class F, typename T>
void binary_plain(const Chunk& chunk) {
  binary_chunk<T, T>(chunk, F<T>(*chunk.scalars));
}
/// Loops of a functor from T and T to T.
template <template <typename> class F>
constexpr Loops binary_loops() {
  return {binary_f32<F>, binary_plain<F, double>, binary_plain<F, int64_t>, binary_plain<F, uint64_t>};
}
template <template <typename> class F>
constexpr Loops binary_float_loops() {
  return {binary_f32<F>, binary_plain<F, double>, nullptr};
}

template <template <typename> class F>
BERTH_MULTIVERSION void compare_f32(const Chunk& chunk) {
  binary_chunk<Bool, float>(chunk, F<float>(*chunk.scalars));
}
template <template <typename> class F, typename T>
void compare_plain(const Chunk& chunk) {
  binary_chunk<Bool, T>(chunk, F<T>(*chunk.scalars));
}
/// Loops of a functor from T and T to Bool.
template <template <typename> class F>
constexpr Loops compare_loops() {
  return {compare_f32<F>, compare_plain<F, double>, compare_plain<F, int64_t>, compare_plain<F, uint64_t>};
}

}  // namespace berth::portable
