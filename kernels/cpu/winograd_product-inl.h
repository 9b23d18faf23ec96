// The products of winograd.h: [rows, depth] times [depth, columns], as many rows at a time as registers hold, so that
// each register of weights that is loaded serves all of them. Included once for each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_WINOGRAD_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_WINOGRAD_PRODUCT_INL_H_
#undef BERTH_CPU_WINOGRAD_PRODUCT_INL_H_
#else
#define BERTH_CPU_WINOGRAD_PRODUCT_INL_H_
#endif

#include <utility>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// c[row, column] = or += sum over k of a[row, k] * b[k, column]. Rows of a are a_row apart, those of b and c are as
/// long as a panel.
struct Product {
  const float* a;
  int64_t a_row;
  const float* b;
  float* c;
  int64_t depth;
  bool add;
};

// Sums, a row of b and an element of a are all registers that there are, or nearly.
#if HWY_TARGET == HWY_AVX3
constexpr int kProductRows[] = {0, 14, 12, 8, 6};
#elif HWY_TARGET == HWY_AVX2
constexpr int kProductRows[] = {0, 12, 6};
#else
constexpr int kProductRows[] = {0, 6, 6};
#endif

template <int kRows, int kVectors>
HWY_NOINLINE void product_of(const Product& p) {
  const FloatTag d;
  FloatVector sum[kRows][kVectors];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  // Three rows from one pointer: an address has a register of it, and that of the distance once or twice.
  constexpr int kPointers = (kRows + 2) / 3;
  const float* pointer[kPointers];
  BERTH_UNROLL_FULL
  for (int j = 0; j < kPointers; ++j) pointer[j] = p.a + 3 * j * p.a_row;
  const int64_t step = p.a_row;
  const float* b = p.b;
  for (int64_t k = 0; k < p.depth; ++k, b += kVectors * kLanes) {
    FloatVector row[kVectors];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * kLanes);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) {
      const FloatVector x = hn::Set(d, pointer[i / 3][i % 3 * step]);
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(x, row[v], sum[i][v]);
    }
    BERTH_UNROLL_FULL
    for (int j = 0; j < kPointers; ++j) ++pointer[j];
  }
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) {
      float* c = p.c + (i * kVectors + v) * kLanes;
      hn::StoreU(p.add ? hn::Add(hn::LoadU(d, c), sum[i][v]) : sum[i][v], d, c);
    }
  }
}

using ProductFunction = void (*)(const Product&);

/// product_of for 1, 2, … rows.
template <int kVectors, int... kRow>
HWY_INLINE ProductFunction product_function(int64_t rows, std::integer_sequence<int, kRow...>) {
  static constexpr ProductFunction kFunctions[] = {product_of<kRow + 1, kVectors>...};
  return kFunctions[rows - 1];
}

/// For any number of rows, in parts of about the same height.
template <int kVectors>
HWY_INLINE void multiply_all(Product p, int64_t rows) {
  constexpr int kMost = kProductRows[kVectors];
  const int64_t parts = (rows + kMost - 1) / kMost;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t height = (part + 1) * rows / parts - part * rows / parts;
    product_function<kVectors>(height, std::make_integer_sequence<int, kMost>())(p);
    p.a += height * p.a_row;
    p.c += height * kVectors * kLanes;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
