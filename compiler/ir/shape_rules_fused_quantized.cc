// Shape rules of fused quantised products, and of what makes bytes of their input.
#include "compiler/ir/fused_checks.h"
#include "compiler/ir/shape_rules.h"
#include "format/arguments.h"

namespace berth::ir {
namespace {

// berth::quantized_linear and berth::quantized_conv begin with the same arguments.
namespace quantized = arg::quantized_linear_out;
static_assert(size_t{quantized::weight} == size_t{arg::quantized_conv_out::weight} &&
              size_t{quantized::residual} == size_t{arg::quantized_conv_out::residual});

Status expect_eight_bits(const ShapeArgs& args, const TensorType& type) {
  if (is_byte(type.dtype)) return Done{};
  return args.fail(Error::kInvalidType, "expected u8 or i8, found " + args.text(type));
}

size_t index_by_name(const ShapeArgs& args, const char* name) { return args.op().parameter_index(name); }

// One number for all, or `count` of them; None is as good as one.
Status expect_numbers(const ShapeArgs& args, size_t i, Dim count, const char* what) {
  const TensorType* numbers = args.optional_tensor(i);
  if (numbers == nullptr) return Done{};
  BERTH_TRY(args.expect_rank(*numbers, 0, kMaxRank, what));
  Dim found(1);
  for (const Dim size : numbers->shape) found = args.symbols.mul(found, size);
  if (found == Dim(1)) return Done{};
  BERTH_TRY(args.same_size(found, count, what));
  return Done{};
}

Status expect_either(const ShapeArgs& args, size_t i, DType a, DType b) {
  const TensorType* type = args.optional_tensor(i);
  if (type == nullptr || type->dtype == a || type->dtype == b) return Done{};
  return args.fail(Error::kInvalidType, "expected " + std::string(to_string(a)) +
                                            (a == b ? "" : " or " + std::string(to_string(b))) + " for '" +
                                            std::string(args.op().parameters[i].name) + "', found " + args.text(*type));
}

// The weight without its packing: of the same element type.
Expected<TensorType> dense_byte_weight(const ShapeArgs& args) {
  TensorType weight = args.tensor(quantized::weight);
  BERTH_TRY(expect_eight_bits(args, weight));
  const std::string& text = text_of(args, index_by_name(args, "packing"));
  if (text.empty()) return weight;
  BERTH_TRY(args.expect_rank(weight, 1, 1, "a packed weight"));
  BERTH_ASSIGN_OR_RETURN(weight.shape, packed_shape(args, text));
  weight.dim_order.clear();
  return weight;
}

// All that does not depend on what kind of product it is. `rows` are those that may have a scale each.
Expected<DType> quantized_result(const ShapeArgs& args, DType weight, Dim rows, const Shape& shape, Dim columns) {
  const DType input = args.tensor(quantized::input).dtype;
  BERTH_TRY(expect_activation(args, index_by_name(args, "activation")));
  const std::string& rounding = text_of(args, index_by_name(args, "rounding"));
  if (rounding != "divide" && rounding != "inverse") {
    return args.fail("expected the rounding 'divide' or 'inverse', found '" + rounding + "'");
  }
  BERTH_TRY(expect_either(args, quantized::input_scale, DType::kF32, DType::kF32));
  BERTH_TRY(expect_either(args, quantized::input_zero_point, input, DType::kI32));
  BERTH_TRY(expect_either(args, quantized::weight_zero_point, weight, DType::kI32));
  BERTH_TRY(expect_either(args, quantized::scale, DType::kF32, DType::kF32));
  BERTH_TRY(expect_either(args, quantized::bias, DType::kF32, DType::kI32));
  BERTH_TRY(expect_numbers(args, quantized::input_scale, rows, "scales of the input and rows"));
  BERTH_TRY(expect_numbers(args, quantized::input_zero_point, rows, "zero points of the input and rows"));
  BERTH_TRY(expect_numbers(args, quantized::weight_zero_point, columns, "zero points of the weight and columns"));
  BERTH_TRY(expect_numbers(args, quantized::scale, columns, "scales and columns"));
  if (const TensorType* bias = args.optional_tensor(quantized::bias)) {
    BERTH_TRY(args.expect_rank(*bias, 1, 1, "a bias"));
    BERTH_TRY(args.same_size(bias->shape[0], columns, "sizes of bias and columns"));
  }
  if (const TensorType* residual = args.optional_tensor(quantized::residual)) {
    if (!is_byte(residual->dtype)) BERTH_TRY(expect_f32(args, *residual));
    if (residual->shape != shape) {
      return args.fail("expected a residual of " + args.text(shape) + ", found " + args.text(*residual));
    }
  }
  BERTH_ASSIGN_OR_RETURN(const DType out, args.dtype(index_by_name(args, "dtype"), DType::kF32));
  if (out == DType::kF32 || is_byte(out)) return out;
  return args.fail(Error::kInvalidType, "expected a result of f32, u8 or i8, found " + std::string(to_string(out)));
}

}  // namespace

Expected<Types> infer_quantized_linear(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(quantized::input);
  BERTH_TRY(expect_eight_bits(args, input));
  BERTH_TRY(args.expect_rank(input, 1, kMaxRank, "an input"));
  BERTH_ASSIGN_OR_RETURN(const TensorType weight, dense_byte_weight(args));
  BERTH_TRY(args.expect_rank(weight, 2, 3, "a weight"));
  const bool batched = weight.rank() == 3;
  if (batched) {
    BERTH_TRY(args.expect_rank(input, 3, 3, "an input of matrices"));
    BERTH_TRY(args.same_size(input.shape[0], weight.shape[0], "batches"));
  }
  const Dim columns = weight.shape.back();
  BERTH_TRY(args.same_size(input.shape.back(), weight.shape[weight.shape.size() - 2], "inner sizes"));
  Shape shape = input.shape;
  shape.back() = columns;
  Dim rows(1);
  for (size_t d = 0; d + 1 < shape.size() && !batched; ++d) rows = args.symbols.mul(rows, shape[d]);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, quantized_result(args, weight.dtype, rows, shape, columns));
  return args.one(dtype, std::move(shape));
}

Expected<Types> infer_quantized_conv(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(quantized::input);
  BERTH_TRY(expect_eight_bits(args, input));
  BERTH_ASSIGN_OR_RETURN(TensorType weight, dense_byte_weight(args));
  const DType weight_type = weight.dtype;
  weight.dtype = input.dtype;
  // Sizes are those of aten::convolution.
  Method method;
  const ValueId dense = method.add_value(weight, "weight");
  const ValueId data = method.add_value(input, "input");
  namespace conv = arg::quantized_conv_out;
  const std::vector<Argument> inner = {data,
                                       dense,
                                       None{},
                                       query.args[conv::stride],
                                       query.args[conv::padding],
                                       query.args[conv::dilation],
                                       false,
                                       DimList{Dim(0)},
                                       query.args[conv::groups]};
  BERTH_ASSIGN_OR_RETURN(
      Types types, infer_convolution(ShapeQuery{query.module, method, operator_of(OpId::convolution_out), inner}));
  TensorType& out = std::get<TensorType>(types[0]);
  BERTH_ASSIGN_OR_RETURN(out.dtype, quantized_result(args, weight_type, Dim(1), out.shape, out.shape[1]));
  out.dim_order = input.dim_order;
  return types;
}

Expected<Types> infer_dynamic_quantize(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(expect_f32(args, input));
  TensorType integers = args.type(DType::kU8, input.shape);
  integers.dim_order = input.dim_order;
  return Types{std::move(integers), args.type(DType::kF32, {}), args.type(DType::kU8, {})};
}

}  // namespace berth::ir
