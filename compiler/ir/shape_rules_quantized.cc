// Shape rules of quantized_decomposed: integers with a scale and a zero point beside them.
#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

Types like_input(const ShapeArgs& args, DType dtype) {
  const TensorType& input = args.tensor(0);
  return {args.elementwise(dtype, input.shape, {&input})};
}

size_t parameter(const ShapeArgs& args, const char* name) { return args.op().parameter_index(name); }

Status expect_floating(const ShapeArgs& args, const TensorType& type) {
  if (is_floating(type.dtype)) return Done{};
  return args.fail(Error::kInvalidType, "expected floating-point numbers, found " + args.text(type));
}

Status expect_bytes(const ShapeArgs& args, const TensorType& weight) {
  BERTH_TRY(args.expect_rank(weight, 2, 2, "a weight"));
  if (is_byte(weight.dtype)) return Done{};
  return args.fail(Error::kInvalidType, "expected a weight of u8 or i8, found " + args.text(weight));
}

// Of a weight whose bytes hold so many numbers each.
Expected<Types> infer_embedding(const ShapeQuery& query, int64_t numbers_in_byte) {
  const ShapeArgs args(query);
  const TensorType& weight = args.tensor(0);
  BERTH_TRY(expect_bytes(args, weight));
  DType dtype = args.tensor(1).dtype;
  if (args.op().parameter_index("dtype") >= 0) {
    BERTH_ASSIGN_OR_RETURN(dtype, args.dtype(parameter(args, "dtype"), dtype));
  }
  Shape shape = args.tensor(5).shape;
  shape.push_back(args.symbols.mul(weight.shape[1], Dim(numbers_in_byte)));
  return args.one(dtype, std::move(shape));
}

}  // namespace

Expected<Types> infer_quantize(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_floating(args, args.tensor(0)));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(parameter(args, "dtype"), DType::kI8));
  if (!is_integer(dtype)) {
    return args.fail(Error::kInvalidType, "expected an integer dtype, found " + std::string(to_string(dtype)));
  }
  return like_input(args, dtype);
}

Expected<Types> infer_dequantize(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const DType from, args.dtype(parameter(args, "dtype"), input.dtype));
  if (from != input.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected an input of " + std::string(to_string(from)) + ", found " + args.text(input));
  }
  BERTH_ASSIGN_OR_RETURN(const DType to, args.dtype(args.op().parameters.size() - 1, DType::kF32));
  return like_input(args, to);
}

Expected<Types> infer_choose_qparams(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_floating(args, args.tensor(0)));
  return Types{args.type(DType::kF64, {Dim(1)}), args.type(DType::kI64, {Dim(1)})};
}

Expected<Types> infer_choose_qparams_per_token(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(expect_floating(args, input));
  BERTH_TRY(args.expect_rank(input, 1, kMaxRank, "an input"));
  Shape shape = input.shape;
  shape.back() = Dim(1);
  return Types{args.type(DType::kF64, shape), args.type(DType::kI64, shape)};
}

Expected<Types> infer_quantized_add(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& a = args.tensor(0);
  const TensorType& b = args.tensor(5);
  if (a.dtype != b.dtype || !is_integer(a.dtype)) {
    return args.fail(Error::kInvalidType,
                     "expected tensors of one integer dtype, found " + args.text(a) + " and " + args.text(b));
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(a.shape, b.shape));
  return Types{args.elementwise(a.dtype, std::move(shape), {&a, &b})};
}

Expected<Types> infer_embedding_byte(const ShapeQuery& query) { return infer_embedding(query, 1); }
Expected<Types> infer_embedding_4bit(const ShapeQuery& query) { return infer_embedding(query, 2); }
Expected<Types> infer_embedding_2bit(const ShapeQuery& query) { return infer_embedding(query, 4); }

Expected<Types> infer_mixed_mm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const TensorType& weight = args.tensor(1);
  BERTH_TRY(args.expect_rank(input, 2, 2, "an input"));
  BERTH_TRY(expect_bytes(args, weight));
  BERTH_TRY(args.same_size(input.shape[1], weight.shape[0], "inner sizes"));
  return args.one(input.dtype, {input.shape[0], weight.shape[1]});
}

Expected<Types> infer_mixed_linear(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const TensorType& weight = args.tensor(1);
  BERTH_TRY(args.expect_rank(input, 2, 2, "an input"));
  BERTH_TRY(expect_bytes(args, weight));
  BERTH_TRY(args.same_size(input.shape[1], weight.shape[1], "inner sizes"));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(4, input.dtype));
  return args.one(dtype, {input.shape[0], weight.shape[0]});
}

}  // namespace berth::ir
