// The steps of element-wise code (format/elementwise_code.h) on runs of numbers, for every instruction set.
#pragma once

#include <cstdint>

#include "format/elementwise_code.h"

namespace berth::cpu {

/// The numbers of a run: contiguous, or a single repeated one.
struct ElementRun {
  const float* data = nullptr;
  bool splat = false;
};

/// out[i] = op(a[i], b[i], c[i]) for i in [0, n); unused operands are ignored. `out` may be the same memory as an
/// operand. At most one of the operands of an op of two may be a splat, of three any but the first; other cases are
/// slower.
void run_element_step(elementwise::Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c, int64_t n,
                      float* out);

/// The same with every operation rounded by itself: the bits of portable::run_plain_step(), on every instruction set.
void run_plain_element_step(elementwise::Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c,
                            int64_t n, float* out);

/// Sums of several inputs in one pass.
struct ElementSum {
  static constexpr int kMax = 4;
  int count = 0;  // 2 to kMax
  const float* data[kMax] = {};
  bool relu = false;  // of the sum
};

/// out[i] = data[0][i] + data[1][i] + …, added in this order, for i in [begin, end). `out` may be one of them.
void run_element_sum(const ElementSum& sum, int64_t begin, int64_t end, float* out);

}  // namespace berth::cpu
