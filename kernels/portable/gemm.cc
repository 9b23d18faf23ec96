#include "kernels/portable/gemm.h"

#include <algorithm>

#include "kernels/portable/gemm_plan.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::portable {
namespace {

bool is_empty(const Product& p) { return p.rows == 0 || p.columns() == 0 || p.batches() == 0; }

}  // namespace

Product matrix_product(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_row, int64_t a_column, const void* b,
                       int64_t b_row, int64_t b_column, void* c, int64_t c_row, int64_t c_column) {
  Product p;
  p.rows = m;
  p.row_a = a_row;
  p.row_c = c_row;
  p.channels = k;
  p.channel_a = a_column;
  p.channel_b = b_row;
  p.axis[2].count = p.axis[2].size = n;
  p.axis[2].b = b_column;
  p.axis[2].c = c_column;
  p.a = a;
  p.b = b;
  p.c = c;
  return p;
}

size_t product_scratch_bytes(const Product& product, int threads) {
  if (is_empty(product)) return 0;
  if (product.dtype != DType::kF32) return internal::plain_scratch_bytes(product, threads);
  return internal::tiled_scratch_bytes(product, threads, best_tile_set());
}

size_t max_product_scratch_bytes(int threads) {
  return (std::clamp(threads, 1, kMaxSlots) * max_slot_floats()) * sizeof(float);
}

void run_product(KernelContext& context, const Product& product, void* scratch) {
  if (is_empty(product)) return;
  if (product.dtype != DType::kF32) return internal::run_plain_product(context, product, scratch);
  if (internal::are_small_products(product)) return internal::run_small_products(context, product);
  internal::run_tiled_product(context, product, best_tile_set(), scratch);
}

Error run_product(KernelContext& context, const Product& product) {
  if (is_empty(product)) return Error::kOk;
  void* scratch = context.allocate_temp(product_scratch_bytes(product, context.threads()));
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  run_product(context, product, scratch);
  return Error::kOk;
}

}  // namespace berth::portable
