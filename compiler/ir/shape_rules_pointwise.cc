// Shape rules of element-wise operators: broadcasting and type promotion.
#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

Types like(const ShapeArgs& args, const TensorType& self, DType dtype) {
  return {args.elementwise(dtype, self.shape, {&self})};
}

// The broadcast shape and promoted type of tensors 0 and 1.
Expected<TensorType> combine(const ShapeArgs& args) {
  const TensorType& self = args.tensor(0);
  const TensorType& other = args.tensor(1);
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(self.shape, other.shape));
  Promotion promotion;
  promotion.tensor(self);
  promotion.tensor(other);
  return args.elementwise(promotion.result(), std::move(shape), {&self, &other});
}

// The type of tensor `t` and number `n` together.
Expected<Types> with_number(const ShapeArgs& args, size_t t, size_t n, bool to_float) {
  Promotion promotion;
  promotion.tensor(args.tensor(t));
  BERTH_ASSIGN_OR_RETURN(const DType number, args.scalar_dtype(n));
  promotion.number(number);
  return like(args, args.tensor(t), to_float ? float_of(promotion.result()) : promotion.result());
}

// Without a rounding mode, a division gives fractions.
bool divides_truly(const ShapeArgs& args) {
  const int mode = args.op().parameter_index("rounding_mode");
  return mode >= 0 && args.none(mode);
}

}  // namespace

Expected<Types> infer_same(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return like(args, args.tensor(0), args.tensor(0).dtype);
}

Expected<Types> infer_unary_float(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return like(args, args.tensor(0), float_of(args.tensor(0).dtype));
}

Expected<Types> infer_same_shape_bool(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return like(args, args.tensor(0), DType::kBool);
}

Expected<Types> infer_clamp(const ShapeQuery& query) {
  const ShapeArgs args(query);
  Promotion promotion;
  promotion.tensor(args.tensor(0));
  for (size_t i = 1; i < 3; ++i) {
    if (args.none(i)) continue;
    BERTH_ASSIGN_OR_RETURN(const DType number, args.scalar_dtype(i));
    promotion.number(number);
  }
  if (args.none(1) && args.none(2)) return args.fail("expected 'min' or 'max', found neither");
  return like(args, args.tensor(0), promotion.result());
}

Expected<Types> infer_clamp_tensor(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  Promotion promotion;
  promotion.tensor(self);
  Shape shape = self.shape;
  if (args.none(1) && args.none(2)) return args.fail("expected 'min' or 'max', found neither");
  for (size_t i = 1; i < 3; ++i) {
    const TensorType* bound = args.optional_tensor(i);
    if (bound == nullptr) continue;
    promotion.tensor(*bound);
    BERTH_ASSIGN_OR_RETURN(shape, args.broadcast(shape, bound->shape));
  }
  return Types{args.elementwise(promotion.result(), std::move(shape),
                                {&self, args.optional_tensor(1), args.optional_tensor(2)})};
}

Expected<Types> infer_binary(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(TensorType result, combine(args));
  if (divides_truly(args)) result.dtype = float_of(result.dtype);
  return Types{std::move(result)};
}

Expected<Types> infer_binary_float(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(TensorType result, combine(args));
  result.dtype = float_of(result.dtype);
  return Types{std::move(result)};
}

Expected<Types> infer_binary_scalar(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return with_number(args, 0, 1, divides_truly(args));
}

Expected<Types> infer_binary_scalar_float(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return with_number(args, 0, 1, true);
}

Expected<Types> infer_scalar_binary(const ShapeQuery& query) {
  const ShapeArgs args(query);
  return with_number(args, 1, 0, false);
}

Expected<Types> infer_compare(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(TensorType result, combine(args));
  result.dtype = DType::kBool;
  return Types{std::move(result)};
}

Expected<Types> infer_masked_fill(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const TensorType& mask = args.tensor(1);
  if (mask.dtype != DType::kBool) return args.fail("expected a mask of bool, found " + args.text(mask));
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(self.shape, mask.shape));
  return Types{args.elementwise(self.dtype, std::move(shape), {&self})};
}

Expected<Types> infer_where(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& condition = args.tensor(0);
  const TensorType& self = args.tensor(1);
  const TensorType& other = args.tensor(2);
  if (condition.dtype != DType::kBool && condition.dtype != DType::kU8) {
    return args.fail("expected a condition of bool, found " + args.text(condition));
  }
  BERTH_ASSIGN_OR_RETURN(Shape values, args.broadcast(self.shape, other.shape));
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(condition.shape, values));
  Promotion promotion;
  promotion.tensor(self);
  promotion.tensor(other);
  return Types{args.elementwise(promotion.result(), std::move(shape), {&condition, &self, &other})};
}

}  // namespace berth::ir
