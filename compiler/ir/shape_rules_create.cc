// Shape rules of operators that make tensors from numbers.
#include <cmath>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

// A Scalar as a double; false when it is a value or a symbol.
bool known(const Argument& argument, double* out) {
  if (const Dim* dim = std::get_if<Dim>(&argument)) {
    *out = static_cast<double>(dim->value);
    return dim->is_constant();
  }
  if (const double* real = std::get_if<double>(&argument)) {
    *out = *real;
    return true;
  }
  if (const bool* truth = std::get_if<bool>(&argument)) *out = *truth ? 1 : 0;
  return std::holds_alternative<bool>(argument);
}

// How many numbers stand in [start, end) at distance `step`.
Expected<Dim> count(const ShapeArgs& args, const Argument& start, const Argument& end, const Argument& step) {
  const Dim* from = std::get_if<Dim>(&start);
  const Dim* to = std::get_if<Dim>(&end);
  const Dim* by = std::get_if<Dim>(&step);
  Symbols& symbols = args.symbols;
  if (from != nullptr && to != nullptr && by != nullptr && by->is_constant()) {
    if (by->value == 0) return args.fail("expected a step other than 0");
    const Dim distance = symbols.sub(*to, *from);
    return symbols.max(*by == Dim(1) ? distance : symbols.ceil_div(distance, *by), Dim(0));
  }
  double a = 0;
  double b = 0;
  double s = 1;
  if (!known(start, &a) || !known(end, &b) || !known(step, &s)) {
    return args.fail(Error::kNotSupported, "expected numbers, found a value that is known only at run time");
  }
  const double items = std::ceil((b - a) / s);
  if (s == 0 || !std::isfinite(items)) return args.fail("expected finite numbers and a step other than 0");
  if (items > static_cast<double>(kMaxSize)) {
    return args.fail("expected at most " + std::to_string(kMaxSize) + " numbers, found " + std::to_string(items));
  }
  return Dim(items < 0 ? 0 : static_cast<int64_t>(items));
}

// i64 when all of `numbers` are whole, else f32.
Expected<DType> range_dtype(const ShapeArgs& args, size_t numbers) {
  for (size_t i = 0; i < numbers; ++i) {
    BERTH_ASSIGN_OR_RETURN(const DType dtype, args.scalar_dtype(i));
    if (is_floating(dtype)) return DType::kF32;
  }
  return DType::kI64;
}

}  // namespace

Expected<Types> infer_arange(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType natural, range_dtype(args, 1));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, natural));
  BERTH_ASSIGN_OR_RETURN(const Dim size, count(args, Dim(0), args.argument(0), Dim(1)));
  return args.one(dtype, {size});
}

Expected<Types> infer_arange_start(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType natural, range_dtype(args, 3));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, natural));
  BERTH_ASSIGN_OR_RETURN(const Dim size, count(args, args.argument(0), args.argument(1), args.argument(2)));
  return args.one(dtype, {size});
}

Expected<Types> infer_full(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType natural, args.scalar_dtype(1));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(2, natural));
  return args.one(dtype, args.dims(0));
}

Expected<Types> infer_refuse(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(2, DType::kF32));
  return args.one(dtype, args.dims(0));
}

Expected<Types> infer_full_like(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.scalar_dtype(1));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, self.dtype));
  return Types{args.elementwise(dtype, self.shape, {&self})};
}

Expected<Types> infer_zeros(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, DType::kF32));
  return args.one(dtype, args.dims(0));
}

Expected<Types> infer_scalar_tensor(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(args.scalar_dtype(0));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, DType::kF32));
  return args.one(dtype, {});
}

Expected<Types> infer_empty(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(2, DType::kF32));
  if (!args.none(1)) {
    BERTH_ASSIGN_OR_RETURN(const int64_t format, args.integer(1));
    if (format != 0) {
      return args.fail(Error::kNotSupported, "expected the memory format contiguous (0), found " +
                                                 std::to_string(format) + "; use _empty_dim_order instead");
    }
  }
  return args.one(dtype, args.dims(0));
}

Expected<Types> infer_empty_dim_order(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(2, DType::kF32));
  TensorType type = args.type(dtype, args.dims(0));
  if (!args.none(1)) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<int> order, args.dimensions(1, type.rank()));
    if (order.size() != type.shape.size()) {
      return args.fail("expected a dimension order of " + std::to_string(type.rank()) + " dimensions, found " +
                       std::to_string(order.size()));
    }
    type.dim_order.assign(order.begin(), order.end());
  }
  return Types{std::move(type)};
}

}  // namespace berth::ir
