// The weights of quantised embeddings and products: a matrix of bytes, each byte one, two or four numbers, with a scale
// for each row or for each group of neighbours in a row.
#pragma once

#include "kernels/portable/convert.h"
#include "runtime/kernel.h"

namespace berth::portable {

struct QuantizedWeight {
  const Tensor* bytes = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* zero_points = nullptr;  // null: zero
  int bits = 8;                         // of a number: 8 (signed or not), 4 or 2 (of which 8 or 2 are subtracted)
  int64_t columns = 0;                  // numbers in a row
  int64_t groups = 1;                   // with a scale of their own, in a row

  int64_t rows() const { return bytes->size(0); }
  int64_t group_columns() const { return columns / groups; }

  /// Number `column` of row `row`, as it is stored.
  float number(int64_t row, int64_t column) const;
  /// The scale and zero point of a group of a row.
  float scale(int64_t row, int64_t group) const { return parameter(*scales, row, group); }
  float zero_point(int64_t row, int64_t group) const {
    return zero_points == nullptr ? 0 : parameter(*zero_points, row, group);
  }

 private:
  float parameter(const Tensor& tensor, int64_t row, int64_t group) const;
};

/// Reads and checks the three tensors: a matrix of u8 or i8, and floating scales and zero points [rows] or [rows,
/// groups].
Error read_weight(KernelContext& context, const Tensor& bytes, const Tensor& scales, const Tensor* zero_points,
                  int bits, QuantizedWeight* weight);

}  // namespace berth::portable
