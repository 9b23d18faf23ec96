// PackedTable: the rows of a table that is also the weight of a product, read out of the packed weight.
//
// A table [rows, width] of embeddings is the weight [width, rows] of the product that gives the logits, where a model
// ties them. Packing puts a row's elements apart, each at a known distance: those of a panel of columns
// (packing_layout.h), of words of 32 bits (packing_narrow.h), or of scales and zero points, of which each row has one a
// block.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "kernels/cpu/packing_layout.h"
#include "kernels/cpu/packing_narrow.h"

namespace berth::cpu {

class PackedTable {
 public:
  /// What berth::weight_rows says of its rows (kernels/portable/fused_weight_rows.h), and a weight of `elements`
  /// elements of `dtype`. False where that is not a table: another text, or a weight that is smaller or larger than it
  /// says.
  bool read(StringRef packing, int64_t bits, StringRef form, DType dtype, int64_t elements);

  int64_t rows() const { return rows_; }
  /// Elements of a row of the result, and their type.
  int64_t width() const { return width_; }
  DType dtype() const { return dtype_; }
  int64_t row_bytes() const { return width_ * static_cast<int64_t>(element_size(dtype_)); }

  /// Writes row_bytes() bytes. REQUIRES: 0 <= row < rows(); `weight` has the elements that read() was told.
  void copy_row(const void* weight, int64_t row, void* to) const;

 private:
  enum class Kind : uint8_t { kPlaces, kPanels, kHalves, kBytes, kNibbles };

  bool read_layout(StringRef packing, int64_t elements);
  bool read_panels(StringRef packing, int64_t bits, int64_t elements);
  int64_t place_of_row(int64_t row) const;

  Kind kind_ = Kind::kPlaces;
  DType dtype_ = DType::kF32;
  int64_t rows_ = 0, width_ = 0;
  // kPlaces: where the elements of a row lie, from its first on.
  WeightLayout layout_;
  int64_t dense_columns_ = 1;
  std::vector<int64_t> places_;
  // The others.
  NarrowLayout narrow_;
  bool pairs_ = false;
  uint8_t less_ = 0;  // is taken off each number
};

}  // namespace berth::cpu
