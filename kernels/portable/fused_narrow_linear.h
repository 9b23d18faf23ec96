// The arguments of berth::narrow_linear, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/fused_activation.h"

namespace berth::portable {

/// A product with a weight of 8 or 4 bits: [rows, depth] times [depth, columns].
struct NarrowLinear {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t block = 1, blocks = 0;  // rows of the weight that share scales; the last block may have fewer
  Activation activation;
};

/// Checks packing (none), bits, block, weight, scales and zero points, and sets all of `linear` but rows and
/// activation.
Error check_narrow_weight(KernelContext& context, const arguments::fused_narrow_linear_out& args, NarrowLinear* linear);

/// Checks the other arguments, and sets rows, activation and the sizes of the output. REQUIRES: depth and columns are
/// set.
Error prepare_narrow_rows(KernelContext& context, const arguments::fused_narrow_linear_out& args, NarrowLinear* linear);

/// Weight, scales and zero points (null: none) without a packing. REQUIRES: check_narrow_weight() succeeded.
class NarrowWeight {
 public:
  NarrowWeight(const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t bits);

  /// Element [k, j], from -8 to 7 or from -128 to 127.
  int number(int64_t k, int64_t j) const {
    if (bits_ == 8) return static_cast<int8_t>(bytes_[k * columns_ + j]);
    const uint8_t pair = bytes_[k / 2 * columns_ + j];
    return (k % 2 == 0 ? pair & 15 : pair >> 4) - 8;
  }
  float scale(int64_t block, int64_t j) const { return scales_[block * scale_block_ + j * scale_column_]; }
  float zero_point(int64_t block, int64_t j) const {
    const int64_t at = block * zero_block_ + j * zero_column_;
    return zeros_ != nullptr ? zeros_[at] : whole_zeros_ != nullptr ? whole_zeros_[at] : 0;
  }

 private:
  int64_t bits_, columns_;
  const uint8_t* bytes_;
  const float* scales_;
  int64_t scale_block_, scale_column_;
  const float* zeros_ = nullptr;
  const int8_t* whole_zeros_ = nullptr;
  int64_t zero_block_ = 0, zero_column_ = 0;
};

}  // namespace berth::portable
