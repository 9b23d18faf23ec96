// Quantised pairs: which values are quantised integers, made numbers again, and which are numbers that are rounded to
// integers. One reading for all sources:
//
//     (cast(q) - zero point) * scale                           the ONNX importer; a zero point of 0 and a scale may be
//                                                              left out
//     quantized_decomposed::dequantize_per_{tensor,channel,token}                    .pt2 and .pte
//     cast(clamp(round(x / scale) + zero point, low, high))    the ONNX importer; x * factor of QLinear… operators
//     quantized_decomposed::quantize_per_{tensor,channel}                            .pt2 and .pte
//
// docs/decisions/0019-quantised-pairs.md says why quantised graphs are pairs and not element types.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// The smallest and the largest integer of a type of 8 bits.
inline int64_t least_of(DType dtype) { return dtype == DType::kI8 ? INT8_MIN : 0; }
inline int64_t most_of(DType dtype) { return dtype == DType::kI8 ? INT8_MAX : UINT8_MAX; }

/// A scale or a zero point.
struct Parameter {
  /// What along() says of a tensor of one element for each row.
  static constexpr int kRows = -2;

  std::vector<double> known;  // of a constant: one number, or one a slice along `axis`; else empty
  ir::ValueId value;          // where it is made as the program runs: one element, or one a row; else invalid
  int axis = -1;              // dimension of the quantised tensor; -1: one number for all; kRows: one a row of `value`

  static Parameter of(double number) { return {{number}, {}, -1}; }
  /// The number that it is for all elements, if that is known.
  std::optional<double> number() const { return known.size() == 1 ? std::optional<double>(known[0]) : std::nullopt; }
  bool is(double n) const { return known.size() == 1 && known[0] == n; }
};

/// What `argument`, a number or a tensor, is beside a tensor of type `beside`, to which it broadcasts. Nothing where it
/// has different numbers along several dimensions.
std::optional<Parameter> broadcast(const Context& context, const ir::Argument& argument, const ir::TensorType& beside);

/// (integers - zero_point) * scale, in f32.
struct Dequantized {
  ir::ValueId integers;  // of any integer type
  Parameter scale;       // 1 where it is left out
  Parameter zero_point;  // 0 where it is left out
};

/// Nothing where `value` is not f32 made of integers, or has a scale a block.
std::optional<Dequantized> dequantized(const Context& context, ir::ValueId value);

/// A constant of integers that is dequantised, with what turned it since then done to the integers.
struct DequantizedConstant {
  ir::TensorType type;         // of the integers, row-major
  std::vector<uint8_t> bytes;  // the integers
  ir::ValueId integers;        // the constant that holds them already; invalid where they were turned
  Parameter scale;
  Parameter zero_point;
};

/// The same through views, which may cut but not mix the dimension of scales, and permutations.
std::optional<DequantizedConstant> dequantized_constant(const Context& context, ir::ValueId value);

/// What an integer result is made of.
struct Quantized {
  enum class Rounding {
    kDivide,   // round(x / scale) + zero point
    kInverse,  // round(x * (1 / scale)) + zero point
    kFactor,   // round(x * scale) + zero point
  };
  ir::ValueId input;     // f32
  Parameter scale;       // 1 where it is left out
  Parameter zero_point;  // 0 where it is left out
  Rounding rounding = Rounding::kDivide;
  int64_t low = 0, high = 0;  // limits of the integers, in the range of their type
  DType dtype = DType::kI8;
};

/// Nothing where `node` does not give integers of 8 or 16 bits, rounded in this way.
std::optional<Quantized> quantized(const Context& context, const ir::Node& node);

/// What `value` is a cast of, in the order of its own dimensions; invalid where no cast to `to` makes it.
ir::ValueId cast_input(const Context& context, ir::ValueId value, DType to);

}  // namespace berth::fuse
