// What each column of a quantised product needs behind its sums, in the order of the packed weight, and where rows of
// the result lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantized_run.h"
#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {

/// Arrays with one number for each column: worked out once in a call.
class QuantizedColumns {
 public:
  static size_t bytes(const QuantizedLayout& layout);

  /// In `memory`, which has bytes() at a multiple of 64 and must stay.
  QuantizedColumns(const QuantizedJob& job, void* memory);

  const QuantizedFinish& finish() const { return finish_; }

 private:
  static constexpr int kArrays = 5;
  static constexpr int kTurned = 3;  // more, of a depthwise convolution

  void turn(const QuantizedLayout& layout, float* memory);

  QuantizedFinish finish_;
};

/// QuantizedTile::flip of this product.
inline uint32_t flip_of(const portable::QuantizedProduct& product) { return product.signed_input ? 0x80808080u : 0; }

/// Where the rows of the result and of the residual lie.
class QuantizedPlaces {
 public:
  explicit QuantizedPlaces(const QuantizedJob& job);

  /// Where row `row` of the result begins, and the bytes to the next: null where rows do not follow each other with
  /// their columns side by side.
  uint8_t* plain_row(int64_t row) const {
    return out_.plain ? static_cast<uint8_t*>(out_.tensor->raw()) + row * out_.row_bytes() : nullptr;
  }
  int64_t row_bytes() const { return out_.row_bytes(); }

  /// Finishes `count` rows from `first` on, counted over the whole result, from column `column` of it on; sums, columns
  /// and totals are set in `*part`, and the rest changes.
  void finish(const QuantizedFunctions& functions, const QuantizedFinish& finish, QuantizedRows* part, int64_t first,
              int64_t count, int64_t column) const;

 private:
  // The bytes before column 0 of a row, and between its columns, of a tensor in any order.
  struct Place {
    const Tensor* tensor = nullptr;
    bool plain = true;  // rows follow each other
    int64_t size = 1;   // of an element
    int64_t columns = 0;

    int64_t step() const { return plain ? 1 : tensor->stride(1); }
    int64_t row_bytes() const { return columns * size; }
    int64_t offset(int64_t row, int64_t column) const;
  };
  static Place place_of(const QuantizedJob& job, const Tensor& tensor);

  bool conv_;
  Place out_, residual_;
};

}  // namespace berth::cpu
