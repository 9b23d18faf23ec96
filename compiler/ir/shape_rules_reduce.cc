// Shape rules of reductions and scans.
#include <numeric>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

std::vector<int> all_dimensions(int rank) {
  std::vector<int> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The dimensions that a list argument names; none or an empty list means all.
Expected<std::vector<int>> reduced(const ShapeArgs& args, size_t i) {
  const int rank = args.tensor(0).rank();
  if (args.none(i) || args.dims(i).empty()) return all_dimensions(rank);
  return args.dimensions(i, rank);
}

Shape without(const Shape& shape, const std::vector<int>& dimensions, bool keep) {
  std::vector<bool> gone(shape.size());
  for (int d : dimensions) {
    if (static_cast<size_t>(d) < shape.size()) gone[d] = true;
  }
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) result.push_back(shape[i]);
    if (gone[i] && keep) result.push_back(Dim(1));
  }
  return result;
}

// An extremum of nothing does not exist.
Status expect_some(const ShapeArgs& args, const std::vector<int>& dimensions) {
  const Shape& shape = args.tensor(0).shape;
  for (int d : dimensions) {
    if (static_cast<size_t>(d) >= shape.size() || shape[d] != Dim(0)) continue;
    return args.fail("expected at least one element in dimension " + std::to_string(d) + ", found " +
                     args.text(args.tensor(0)));
  }
  return Done{};
}

Expected<Types> over_list(const ShapeArgs& args, size_t list, size_t keepdim, DType dtype) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> gone, reduced(args, list));
  return args.one(dtype, without(args.tensor(0).shape, gone, args.truth(keepdim)));
}

Status expect_floating(const ShapeArgs& args, DType dtype) {
  if (is_floating(dtype) || is_complex(dtype)) return Done{};
  return args.fail(Error::kInvalidType, "expected a floating type, found " + args.text(args.tensor(0)));
}

}  // namespace

Expected<Types> infer_amax(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> gone, reduced(args, 1));
  BERTH_TRY(expect_some(args, gone));
  return over_list(args, 1, 2, args.tensor(0).dtype);
}

Expected<Types> infer_any_all(const ShapeQuery& query) { return ShapeArgs(query).one(DType::kBool, {}); }

Expected<Types> infer_any_dims(const ShapeQuery& query) { return over_list(ShapeArgs(query), 1, 2, DType::kBool); }

Expected<Types> infer_any_dim(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, args.tensor(0).rank()));
  return args.one(DType::kBool, without(args.tensor(0).shape, {d}, args.truth(2)));
}

Expected<Types> infer_argmax(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  std::vector<int> gone = all_dimensions(self.rank());
  if (!args.none(1)) {
    BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
    gone = {d};
  }
  BERTH_TRY(expect_some(args, gone));
  return args.one(DType::kI64, without(self.shape, gone, args.truth(2)));
}

Expected<Types> infer_cumsum(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.dimension(1, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(2, sum_of(self.dtype)));
  return Types{args.elementwise(dtype, self.shape, {&self})};
}

Expected<Types> infer_reduce_with_indices(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_TRY(expect_some(args, {d}));
  const Shape shape = without(self.shape, {d}, args.truth(2));
  return Types{args.type(self.dtype, shape), args.type(DType::kI64, shape)};
}

Expected<Types> infer_reduce_all(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(expect_some(args, all_dimensions(self.rank())));
  return args.one(self.dtype, {});
}

Expected<Types> infer_mean_dim(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, args.tensor(0).dtype));
  BERTH_TRY(expect_floating(args, dtype));
  return over_list(args, 1, 2, dtype);
}

Expected<Types> infer_mean_all(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, args.tensor(0).dtype));
  BERTH_TRY(expect_floating(args, dtype));
  return args.one(dtype, {});
}

Expected<Types> infer_prod_dim(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, sum_of(self.dtype)));
  return args.one(dtype, without(self.shape, {d}, args.truth(2)));
}

Expected<Types> infer_prod_all(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, sum_of(args.tensor(0).dtype)));
  return args.one(dtype, {});
}

Expected<Types> infer_sum_dim(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, sum_of(args.tensor(0).dtype)));
  return over_list(args, 1, 2, dtype);
}

Expected<Types> infer_topk(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(2, self.rank()));
  const Dim k = args.dim(1);
  const Dim size = self.rank() == 0 ? Dim(1) : self.shape[d];
  if (args.symbols.lower(k) < 0 || args.symbols.lower(k) > args.symbols.upper(size)) {
    return args.fail("expected 'k' between 0 and the size of dimension " + std::to_string(d) + ", found " +
                     args.text(k) + " of " + args.text(self));
  }
  Shape shape = self.shape;
  if (self.rank() > 0) shape[d] = k;
  return Types{args.type(self.dtype, shape), args.type(DType::kI64, shape)};
}

Expected<Types> infer_var(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_floating(args, args.tensor(0).dtype));
  return over_list(args, 1, 3, args.tensor(0).dtype);
}

Expected<Types> infer_var_mean(const ShapeQuery& query) {
  BERTH_ASSIGN_OR_RETURN(Types types, infer_var(query));
  types.push_back(types[0]);
  return types;
}

}  // namespace berth::ir
