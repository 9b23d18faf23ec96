// Many small products of f32, such as a rotation for each point: so small that packing them would take longer.
#include <algorithm>

#include "kernels/portable/gemm.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable::internal {
namespace {

// Multiplications of one product, and products, that are few and many.
constexpr int64_t kFewMultiplications = 512;
constexpr int64_t kManyProducts = 8;
constexpr int64_t kMostColumns = 64;
// Fewer columns leave registers of them mostly empty.
constexpr int64_t kWideColumns = 8;

bool is_matrix(const Product::Axis& axis) {
  return axis.taps == 1 && axis.origin == 0 && axis.step == 1 && axis.count <= axis.size;
}

BERTH_INLINE void multiply_wide(const Product& p, const float* a, const float* b, float* c) {
  const int64_t columns = p.axis[2].count;
  for (int64_t i = 0; i < p.rows; ++i) {
    float sum[kMostColumns] = {};
    for (int64_t k = 0; k < p.channels; ++k) {
      const float x = a[i * p.row_a + k * p.channel_a];
      const float* row = b + k * p.channel_b;
      BERTH_SIMD
      for (int64_t j = 0; j < columns; ++j) sum[j] += x * row[j];
    }
    for (int64_t j = 0; j < columns; ++j) c[i * p.row_c + j * p.axis[2].c] = sum[j];
  }
}

// Four sums at a time, so that an addition need not wait for the one before.
BERTH_INLINE void multiply_narrow(const Product& p, const float* a, const float* b, float* c) {
  for (int64_t i = 0; i < p.rows; ++i) {
    for (int64_t j = 0; j < p.axis[2].count; ++j) {
      const float* x = a + i * p.row_a;
      const float* y = b + j * p.axis[2].b;
      float sum[4] = {};
      int64_t k = 0;
      for (; k + 4 <= p.channels; k += 4) {
        for (int64_t s = 0; s < 4; ++s) sum[s] += x[(k + s) * p.channel_a] * y[(k + s) * p.channel_b];
      }
      for (; k < p.channels; ++k) sum[k % 4] += x[k * p.channel_a] * y[k * p.channel_b];
      c[i * p.row_c + j * p.axis[2].c] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

BERTH_MULTIVERSION void multiply(const Product& p, int64_t begin, int64_t end) {
  const bool wide = p.axis[2].count >= kWideColumns && p.axis[2].b == 1;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t i0 = item / p.batch[1].count, i1 = item % p.batch[1].count;
    const float* a = static_cast<const float*>(p.a) + i0 * p.batch[0].a + i1 * p.batch[1].a;
    const float* b = static_cast<const float*>(p.b) + i0 * p.batch[0].b + i1 * p.batch[1].b;
    float* c = static_cast<float*>(p.c) + i0 * p.batch[0].c + i1 * p.batch[1].c;
    wide ? multiply_wide(p, a, b, c) : multiply_narrow(p, a, b, c);
  }
}

}  // namespace

bool are_small_products(const Product& p) {
  return p.dtype == DType::kF32 && p.start == nullptr && p.a_scale.real == 1 && p.batches() >= kManyProducts &&
         p.axis[0].count == 1 && p.axis[1].count == 1 && is_matrix(p.axis[0]) && is_matrix(p.axis[1]) &&
         is_matrix(p.axis[2]) && p.channels > 0 && p.axis[2].count <= kMostColumns && p.rows <= kFewMultiplications &&
         p.channels <= kFewMultiplications && p.rows * p.axis[2].count * p.channels <= kFewMultiplications;
}

void run_small_products(KernelContext& context, const Product& p) {
  context.parallel_for(p.batches(), grain_of(p.rows * p.axis[2].count * p.channels),
                       [&](int64_t begin, int64_t end) { multiply(p, begin, end); });
}

}  // namespace berth::portable::internal
