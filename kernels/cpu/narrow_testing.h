// For tests of products with narrow weights. Not part of any library.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"
#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/tiles_narrow.h"

namespace berth::cpu {

inline testing::Array as_type(const testing::Array& wide, DType type) {
  const Tensor& t = wide.tensor();
  const testing::Array result(type, wide.sizes(), {}, {t.dim_order().begin(), t.dim_order().end()});
  result.set(wide.values());
  return result;
}

/// With the instructions that multiply matrices and pairs, where the processor has them, and without.
template <typename F>
void with_and_without_products(F&& f) {
  if (matrix_functions().tiles.lanes > 0) {
    SCOPED_TRACE("matrices are multiplied");
    f();
  }
  forbid_matrices(true);
  for (const bool forbidden : {false, true}) {
    if (!forbidden && !has_bf16_products()) continue;
    SCOPED_TRACE(forbidden ? "pairs are widened" : "pairs are multiplied");
    forbid_bf16_products(forbidden);
    f();
  }
  forbid_bf16_products(false);
  forbid_matrices(false);
}

}  // namespace berth::cpu
