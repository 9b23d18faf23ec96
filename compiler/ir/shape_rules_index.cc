// Shape rules of gathering and scattering by index.
#include <algorithm>
#include <optional>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

Status expect_index(const ShapeArgs& args, const TensorType& index) {
  if (index.dtype == DType::kI64 || index.dtype == DType::kI32) return Done{};
  return args.fail(Error::kInvalidType, "expected indices of i64 or i32, found " + args.text(index));
}

// Tensors of a gather or scatter have one rank; a 0-d tensor counts as [1].
Status expect_same_rank(const ShapeArgs& args, const TensorType& self, const TensorType& other, const char* name) {
  if (std::max(self.rank(), 1) == std::max(other.rank(), 1)) return Done{};
  return args.fail("expected '" + std::string(name) + "' of as many dimensions as 'self', found " + args.text(self) +
                   " and " + args.text(other));
}

Status expect_mask(const ShapeArgs& args, const TensorType& mask) {
  if (mask.dtype == DType::kBool) return Done{};
  return args.fail(Error::kInvalidType, "expected a mask of bool, found " + args.text(mask));
}

// A size that is known only at run time, at most `most`: a symbol of its own, named after the value that is searched,
// argument `searched`, so that asking again gives the same symbol.
Expected<Dim> count_of_contents(const ShapeArgs& args, const char* prefix, size_t searched, int64_t most) {
  const std::string stem = prefix + args.query().method.value(std::get<ValueId>(args.argument(searched))).name;
  std::string name = stem;
  for (int suffix = 1;; ++suffix) {
    const Symbol* taken = args.symbols.find(name);
    if (taken == nullptr || (taken->min == 0 && taken->max == most)) break;
    name = stem + "_" + std::to_string(suffix);
  }
  return args.symbols.input(name, 0, most);
}

}  // namespace

Expected<Types> infer_embedding(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& weight = args.tensor(0);
  BERTH_TRY(args.expect_rank(weight, 2, 2, "a weight"));
  BERTH_TRY(expect_index(args, args.tensor(1)));
  Shape shape = args.tensor(1).shape;
  shape.push_back(weight.shape[1]);
  return args.one(weight.dtype, std::move(shape));
}

Expected<Types> infer_gather(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const TensorType& index = args.tensor(2);
  BERTH_TRY(args.dimension(1, self.rank()));
  BERTH_TRY(expect_index(args, index));
  BERTH_TRY(expect_same_rank(args, self, index, "index"));
  return args.one(self.dtype, index.shape);
}

// Advanced indexing: the index tensors broadcast together; their dimensions stand where the indexed ones stood if those
// are neighbours, else at the front.
Expected<Types> infer_index(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const std::vector<const TensorType*> indices = args.tensors(1);
  if (indices.size() > self.shape.size()) {
    return args.fail("expected at most " + std::to_string(self.rank()) + " indices for " + args.text(self) +
                     ", found " + std::to_string(indices.size()));
  }
  Shape picked;
  Shape rest;
  std::optional<size_t> first;
  size_t last = 0;
  size_t count = 0;
  for (size_t i = 0; i < self.shape.size(); ++i) {
    const TensorType* index = i < indices.size() ? indices[i] : nullptr;
    if (index == nullptr) {
      rest.push_back(self.shape[i]);
      continue;
    }
    if (index->dtype == DType::kBool || index->dtype == DType::kU8) {
      return args.fail(Error::kNotSupported, "expected indices of i64 or i32, found the mask " + args.text(*index) +
                                                 ", whose result has a size that depends on its contents");
    }
    BERTH_TRY(expect_index(args, *index));
    BERTH_ASSIGN_OR_RETURN(picked, args.broadcast(picked, index->shape));
    if (!first.has_value()) first = i;
    last = i;
    ++count;
  }
  if (!first.has_value()) return args.one(self.dtype, self.shape);
  const bool neighbours = last - *first + 1 == count;
  rest.insert(rest.begin() + static_cast<ptrdiff_t>(neighbours ? *first : 0), picked.begin(), picked.end());
  return args.one(self.dtype, std::move(rest));
}

Expected<Types> infer_index_put(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  if (args.tensors(1).size() > self.shape.size()) {
    return args.fail("expected at most " + std::to_string(self.rank()) + " indices for " + args.text(self) +
                     ", found " + std::to_string(args.tensors(1).size()));
  }
  if (args.tensor(2).dtype != self.dtype) {
    return args.fail(Error::kInvalidType, "expected values of " + std::string(to_string(self.dtype)) + ", found " +
                                              args.text(args.tensor(2)));
  }
  return args.one(self.dtype, self.shape);
}

Expected<Types> infer_index_select(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const TensorType& index = args.tensor(2);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_TRY(expect_index(args, index));
  BERTH_TRY(args.expect_rank(index, 0, 1, "an index"));
  Shape shape = self.shape;
  if (self.rank() > 0) shape[d] = index.rank() == 0 ? Dim(1) : index.shape[0];
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_nonzero(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const Dim count, count_of_contents(args, "nz_", 0, max_numel(self, args.symbols)));
  return args.one(DType::kI64, {count, Dim(self.rank())});
}

Expected<Types> infer_non_max_suppression(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& boxes = args.tensor(0);
  const TensorType& scores = args.tensor(1);
  BERTH_TRY(args.expect_rank(boxes, 3, 3, "boxes"));
  BERTH_TRY(args.expect_rank(scores, 3, 3, "scores"));
  BERTH_TRY(args.same_size(boxes.shape[2], Dim(4), "size of a box and 4"));
  BERTH_TRY(args.same_size(boxes.shape[0], scores.shape[0], "numbers of images"));
  BERTH_TRY(args.same_size(boxes.shape[1], scores.shape[2], "numbers of boxes"));
  if (boxes.dtype != DType::kF32 || scores.dtype != DType::kF32) {
    return args.fail(Error::kInvalidType,
                     "expected boxes and scores of f32, found " + args.text(boxes) + " and " + args.text(scores));
  }
  BERTH_ASSIGN_OR_RETURN(const int64_t most, args.integer(2));
  if (most < 0) return args.fail("expected 'most' of at least 0, found " + std::to_string(most));
  const int64_t classes = args.symbols.upper(args.symbols.mul(scores.shape[0], scores.shape[1]));
  const int64_t each = std::min(most, args.symbols.upper(scores.shape[2]));
  if (each > 0 && classes > kMaxSize / each) return args.fail("expected at most 2^31 boxes");
  BERTH_ASSIGN_OR_RETURN(const Dim count, count_of_contents(args, "kept_", 1, classes * each));
  return args.one(DType::kI64, {count, Dim(3)});
}

Expected<Types> infer_unique(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 2, 2, "rows"));
  BERTH_ASSIGN_OR_RETURN(const Dim count, count_of_contents(args, "unique_", 0, args.symbols.upper(self.shape[0])));
  return Types{args.type(self.dtype, {count, self.shape[1]}), args.type(DType::kI64, {count}),
               args.type(DType::kI64, {self.shape[0]}), args.type(DType::kI64, {count})};
}

Expected<Types> infer_masked_select(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(expect_mask(args, args.tensor(1)));
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(self.shape, args.tensor(1).shape));
  const int64_t most = max_numel(args.type(self.dtype, std::move(shape)), args.symbols);
  BERTH_ASSIGN_OR_RETURN(const Dim count, count_of_contents(args, "true_", 1, most));
  return args.one(self.dtype, {count});
}

Expected<Types> infer_masked_scatter(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const TensorType& source = args.tensor(2);
  BERTH_TRY(expect_mask(args, args.tensor(1)));
  if (source.dtype != self.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected 'source' of " + std::string(to_string(self.dtype)) + ", found " + args.text(source));
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(self.shape, args.tensor(1).shape));
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_repeat_interleave(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& repeats = args.tensor(0);
  BERTH_TRY(args.expect_rank(repeats, 1, 1, "repeats"));
  BERTH_TRY(expect_index(args, repeats));
  if (!args.none(1)) return args.one(repeats.dtype, {args.dim(1)});
  BERTH_ASSIGN_OR_RETURN(const Dim count, count_of_contents(args, "sum_", 0, kMaxSize));
  return args.one(repeats.dtype, {count});
}

Expected<Types> infer_scatter(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const TensorType& index = args.tensor(2);
  BERTH_TRY(args.dimension(1, self.rank()));
  BERTH_TRY(expect_index(args, index));
  BERTH_TRY(expect_same_rank(args, self, index, "index"));
  if (args.op().parameters[3].type == ParameterType::kTensor) {
    BERTH_TRY(expect_same_rank(args, self, args.tensor(3), "src"));
    if (args.tensor(3).dtype != self.dtype) {
      return args.fail(Error::kInvalidType, "expected 'src' of " + std::string(to_string(self.dtype)) + ", found " +
                                                args.text(args.tensor(3)));
    }
  }
  return args.one(self.dtype, self.shape);
}

}  // namespace berth::ir
