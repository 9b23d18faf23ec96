// Quantised products while they are put together: berth::quantized_linear and berth::quantized_conv, from a dequantised
// input and a dequantised constant weight.
#pragma once

#include <string>
#include <vector>

#include "compiler/fuse/quantized_pairs.h"
#include "format/arguments.h"

namespace berth::fuse {

bool is_quantized_product(const ir::Node& node);

/// The operator and the arguments of one. Both operators have the same arguments, but that a convolution has its window
/// in between: arguments are named as those of arg::quantized_linear_out.
class QuantizedProduct {
 public:
  explicit QuantizedProduct(const ir::Node& node) : op_(node.op->id), args_(node.args) {}
  /// With one result of f32 and nothing behind the product. `window`: stride, padding, dilation and groups of a
  /// convolution; empty: a matrix product.
  explicit QuantizedProduct(std::vector<ir::Argument> window);

  ir::Argument& operator[](size_t place) { return args_[index(place)]; }
  const ir::Argument& operator[](size_t place) const { return args_[index(place)]; }

  ir::OpId op() const { return op_; }
  bool is_convolution() const { return op_ == ir::OpId::quantized_conv_out; }
  const char* name() const { return is_convolution() ? "berth::quantized_conv" : "berth::quantized_linear"; }
  const std::vector<ir::Argument>& arguments() const { return args_; }
  /// Whether the result is f32 and nothing follows the product, neither rounding nor a residual nor an activation.
  bool is_open() const;

 private:
  size_t index(size_t place) const;

  ir::OpId op_;
  std::vector<ir::Argument> args_;
};

/// The left side of a product: dequantised integers, perhaps padded with what stands for 0, or seen with other sizes.
struct ProductInput {
  Dequantized pair;
  ir::Argument padding;  // of constant_pad_nd; None where there is none
  std::vector<ir::Dim> shape;
};
/// Nothing where `value` is not that, or has other integers than u8 and i8, or a scale or zero point a channel.
std::optional<ProductInput> product_input(const Context& context, ir::ValueId value);
/// The same of what is known to be dequantised, with the sizes of its integers.
std::optional<ProductInput> product_input(const Context& context, const Dequantized& pair);

/// Whether a zero point is an integer of `dtype`, which has 8 bits.
bool is_zero_point(double number, DType dtype);

/// What turns sums of integers into numbers.
struct ProductScale {
  std::vector<float> numbers;  // one, or one a column
  ir::ValueId input;           // made as the program runs: one number, or one a row; else invalid
};
/// The product of the scales of both sides; `columns` is the weight's dimension that the result has. Nothing where one
/// of them is not positive and finite, or along another dimension.
std::optional<ProductScale> product_scale(const Parameter& input, const Parameter& weight, int columns);
/// A scale that is `factor`, which multiplies a result of type `type`: one number or one for each slice along dimension
/// `columns` of it; or one of the run, or the product of one of the run and known ones.
std::optional<ProductScale> factor_scale(const Context& context, const ir::Argument& factor, const ir::TensorType& type,
                                         int columns);

/// Sets input, weight, zero points and scale of `product`. `columns` is the weight's dimension that the result has.
/// False where a parameter is not a number of its tensor's type; then nodes may have been appended that nothing reads.
Expected<bool> set_operands(Context& context, ir::Builder& build, const ProductInput& input,
                            const DequantizedConstant& weight, int columns, const ProductScale& scale,
                            QuantizedProduct* product);

/// A bias as i32, if that gives `bias` again when `scale` multiplies it; None where all of it is 0; else f32. One
/// number for each of `columns` columns, or one for all.
ir::Argument product_bias(ir::Builder& build, const std::vector<double>& bias, size_t columns,
                          const ProductScale& scale);
/// A bias of i32.
ir::Argument whole_bias(ir::Builder& build, const std::vector<double>& bias, size_t columns);

/// A row-major constant of f32 or i32 with one dimension.
ir::ValueId line_constant(ir::Builder& build, const std::vector<float>& elements, const std::string& name);

}  // namespace berth::fuse
