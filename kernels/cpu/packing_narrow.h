// The order in which berth::narrow_linear's fast kernel reads a weight of 8 or 4 bits: one for all instruction sets.
//
// Panels of 64 columns lie one after the other; the last one has its columns rounded up to 16. In a panel, a group of
// rows has 32 bits a column: a register of them holds as many columns as one of f32. Of 8 bits, four rows are a group,
// a byte each, plus 128. Of 4 bits, eight are: rows 0 to 3 in the lower halves of the bytes, 4 to 7 in the upper ones,
// plus 8 each. Scales and zero points lie panel after panel too, a row for each block. What fills up columns and rows
// is zero.
//
// Scales are f16 where each of them is a number of f16 (are_halves()), and f32 otherwise: their tensor's type says
// which. Kernels widen them to the same f32, and give the same results.
//
// As text, in the argument `packing` of berth::narrow_linear: `panels 64 [4096,11008]`, the sizes of the dense weight.
// `panels 64 [4096,11008] digits 2` allows the input to be rounded as well (narrow_linear_digits.h), in programs that
// were compiled for products of bf16, and `digits 1` to 8 bits (narrow_linear_bytes.h), with `--activations int8`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/half.h"
#include "kernels/portable/fused_narrow_linear.h"
#include "runtime/arguments.h"

namespace berth::cpu {

constexpr int64_t kNarrowPanel = 64;
constexpr int64_t kNarrowStep = 16;

struct NarrowLayout {
  int64_t depth = 0, columns = 0;
  int64_t block = 1, blocks = 0;
  int64_t bits = 8;
  /// How many digits to the base of 256 an element of the input keeps at least: 3, 2 or 1.
  int64_t digits = 3;

  /// Rows that lie in one number of 32 bits.
  int64_t group() const { return 32 / bits; }
  /// Whether there is such an order: blocks begin where groups do.
  bool fits() const { return depth > 0 && columns > 0 && (blocks <= 1 || block % group() == 0); }
  int64_t panels() const { return (columns + kNarrowPanel - 1) / kNarrowPanel; }
  int64_t padded_columns() const { return (columns + kNarrowStep - 1) / kNarrowStep * kNarrowStep; }
  /// Columns of a panel, those that fill it up included.
  int64_t width(int64_t panel) const {
    const int64_t left = padded_columns() - panel * kNarrowPanel;
    return left < kNarrowPanel ? left : kNarrowPanel;
  }
  /// Bytes that a column takes.
  int64_t column_bytes() const { return (depth + group() - 1) / group() * 4; }
  int64_t weight_bytes() const { return padded_columns() * column_bytes(); }
  /// Scales, or zero points.
  int64_t numbers() const { return padded_columns() * blocks; }
  std::string text() const;
};

/// The layout that `text` and a block of `block` rows mean. False unless it is one.
bool read_narrow_packing(StringRef text, int64_t bits, int64_t block, NarrowLayout* layout);

/// Whether all of them are numbers of f16, denormal ones and negative zero included.
bool are_halves(const float* x, int64_t n);

/// Writes layout.weight_bytes() bytes. REQUIRES: layout.fits().
void pack_narrow_weight(const NarrowLayout& layout, const portable::NarrowWeight& weight, uint8_t* to);
/// Each writes layout.numbers() numbers.
void pack_narrow_scales(const NarrowLayout& layout, const portable::NarrowWeight& weight, float* to);
/// REQUIRES: each scale is a number of f16.
void pack_narrow_scales(const NarrowLayout& layout, const portable::NarrowWeight& weight, Half* to);
void pack_narrow_zeros(const NarrowLayout& layout, const portable::NarrowWeight& weight, float* to);
void pack_narrow_zeros(const NarrowLayout& layout, const portable::NarrowWeight& weight, int8_t* to);

}  // namespace berth::cpu
