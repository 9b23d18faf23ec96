// Shape rules of matrix products, normalisation and resampling. Convolution and pooling: shape_rules_conv.cc.
#include <cmath>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

Expected<DType> product_dtype(const ShapeArgs& args, const TensorType& a, const TensorType& b) {
  if (a.dtype == b.dtype) return a.dtype;
  return args.fail(Error::kInvalidType,
                   "expected factors of one dtype, found " + args.text(a) + " and " + args.text(b));
}

// [n, k] times [k, m].
Expected<TensorType> product(const ShapeArgs& args, const TensorType& a, const TensorType& b) {
  BERTH_TRY(args.expect_rank(a, 2, 2, "a left matrix"));
  BERTH_TRY(args.expect_rank(b, 2, 2, "a right matrix"));
  BERTH_TRY(args.same_size(a.shape[1], b.shape[0], "inner sizes"));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, product_dtype(args, a, b));
  return args.type(dtype, {a.shape[0], b.shape[1]});
}

Status expect_channels(const ShapeArgs& args, size_t i, Dim channels, const char* name) {
  const TensorType* tensor = args.optional_tensor(i);
  if (tensor == nullptr) return Done{};
  BERTH_TRY(args.expect_rank(*tensor, 1, 1, name));
  BERTH_TRY(args.same_size(tensor->shape[0], channels, "numbers of channels"));
  return Done{};
}

// numerator * scale, rounded down, for a scale that is a number of halves, quarters, … of at most 1/1024, or the
// inverse of a whole number.
Expected<Dim> scaled(const ShapeArgs& args, Dim size, double scale) {
  if (!(scale > 0) || scale > 1e6) return args.fail("expected positive scale factors, found " + std::to_string(scale));
  if (size.is_constant()) return Dim(static_cast<int64_t>(std::floor(static_cast<double>(size.value) * scale)));
  const double inverse = 1 / scale;
  for (int64_t parts = 1; parts <= 1024; parts *= 2) {
    const double number = scale * static_cast<double>(parts);
    if (number != std::floor(number)) continue;
    return args.symbols.floor_div(args.symbols.mul(size, Dim(static_cast<int64_t>(number))), Dim(parts));
  }
  if (inverse == std::floor(inverse)) return args.symbols.floor_div(size, Dim(static_cast<int64_t>(inverse)));
  return args.fail(Error::kNotSupported, "expected a whole scale factor for the symbolic size " + args.text(size) +
                                             ", found " + std::to_string(scale));
}

}  // namespace

Expected<Types> infer_mm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(TensorType result, product(args, args.tensor(0), args.tensor(1)));
  return Types{std::move(result)};
}

Expected<Types> infer_addmm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(TensorType result, product(args, args.tensor(1), args.tensor(2)));
  BERTH_TRY(args.expect_rank(self, 0, 2, "'self'"));
  if (self.dtype != result.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected 'self' of dtype " + std::string(to_string(result.dtype)) + ", found " + args.text(self));
  }
  BERTH_ASSIGN_OR_RETURN(const Shape shape, args.broadcast(result.shape, self.shape));
  for (size_t i = 0; i < 2; ++i) {
    BERTH_TRY(args.same_size(shape[i], result.shape[i], "sizes of 'self' and the product"));
  }
  return Types{std::move(result)};
}

Expected<Types> infer_bmm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& a = args.tensor(0);
  const TensorType& b = args.tensor(1);
  BERTH_TRY(args.expect_rank(a, 3, 3, "left matrices"));
  BERTH_TRY(args.expect_rank(b, 3, 3, "right matrices"));
  BERTH_ASSIGN_OR_RETURN(const Dim batch, args.same_size(a.shape[0], b.shape[0], "batch sizes"));
  BERTH_TRY(args.same_size(a.shape[2], b.shape[1], "inner sizes"));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, product_dtype(args, a, b));
  return args.one(dtype, {batch, a.shape[1], b.shape[2]});
}

Expected<Types> infer_batch_norm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(args.expect_rank(input, 2, kMaxRank, "an input"));
  for (size_t i = 1; i < 5; ++i) BERTH_TRY(expect_channels(args, i, input.shape[1], "a tensor a channel"));
  // Without training there are no statistics to save: ATen's results 1 and 2 are empty.
  return Types{args.elementwise(input.dtype, input.shape, {&input}), args.type(input.dtype, {Dim(0)}),
               args.type(input.dtype, {Dim(0)})};
}

Expected<Types> infer_group_norm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(args.expect_rank(input, 2, kMaxRank, "an input"));
  const Dim channels = input.shape[1];
  for (size_t i = 1; i < 3; ++i) BERTH_TRY(expect_channels(args, i, channels, "a tensor a channel"));
  BERTH_TRY(args.same_size(args.dim(3), input.shape[0], "'N' and size of dimension 0"));
  BERTH_TRY(args.same_size(args.dim(4), channels, "'C' and size of dimension 1"));
  BERTH_ASSIGN_OR_RETURN(const int64_t group, args.integer(6));
  if (group < 1 || (channels.is_constant() && channels.value % group != 0)) {
    return args.fail("expected 'group' to divide the " + args.text(channels) + " channels, found " +
                     std::to_string(group));
  }
  const Shape statistics = {input.shape[0], Dim(group)};
  return Types{args.type(input.dtype, input.shape), args.type(input.dtype, statistics),
               args.type(input.dtype, statistics)};
}

Expected<Types> infer_layer_norm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const Shape& row = args.dims(1);
  if (row.empty() || row.size() > input.shape.size()) {
    return args.fail("expected 'normalized_shape' of 1 to " + std::to_string(input.rank()) + " sizes, found " +
                     args.text(row) + " for " + args.text(input));
  }
  const size_t outer = input.shape.size() - row.size();
  Shape statistics = input.shape;
  for (size_t i = 0; i < row.size(); ++i) {
    BERTH_TRY(args.same_size(row[i], input.shape[outer + i], "sizes in 'normalized_shape' and input"));
    statistics[outer + i] = Dim(1);
  }
  for (size_t i = 2; i < 4; ++i) {
    const TensorType* affine = args.optional_tensor(i);
    if (affine == nullptr) continue;
    BERTH_TRY(args.expect_rank(*affine, static_cast<int>(row.size()), static_cast<int>(row.size()),
                               i == 2 ? "a weight" : "a bias"));
    for (size_t d = 0; d < row.size(); ++d) {
      BERTH_TRY(args.same_size(affine->shape[d], row[d], "sizes in 'normalized_shape' and weight or bias"));
    }
  }
  return Types{args.type(input.dtype, input.shape), args.type(input.dtype, statistics),
               args.type(input.dtype, statistics)};
}

Expected<Types> infer_softmax(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.dimension(1, self.rank()));
  const bool widen = args.truth(2);
  if (widen && self.dtype != DType::kF16) {
    return args.fail("expected an f16 input for half_to_float, found " + args.text(self));
  }
  return Types{args.elementwise(widen ? DType::kF32 : self.dtype, self.shape, {&self})};
}

Expected<Types> infer_pixel_shuffle(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 3, kMaxRank, "an input"));
  BERTH_ASSIGN_OR_RETURN(const int64_t factor, args.integer(1));
  Shape shape = self.shape;
  const size_t c = shape.size() - 3;
  if (factor < 1 || factor > 46340 || (shape[c].is_constant() && shape[c].value % (factor * factor) != 0)) {
    return args.fail("expected a factor whose square divides the " + args.text(shape[c]) + " channels, found " +
                     std::to_string(factor));
  }
  shape[c] = args.symbols.floor_div(shape[c], Dim(factor * factor));
  shape[c + 1] = args.symbols.mul(shape[c + 1], Dim(factor));
  shape[c + 2] = args.symbols.mul(shape[c + 2], Dim(factor));
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_pixel_unshuffle(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 3, kMaxRank, "an input"));
  BERTH_ASSIGN_OR_RETURN(const int64_t factor, args.integer(1));
  if (factor < 1 || factor > 46340)
    return args.fail("expected a factor of at least 1, found " + std::to_string(factor));
  Shape shape = self.shape;
  const size_t c = shape.size() - 3;
  shape[c] = args.symbols.mul(shape[c], Dim(factor * factor));
  for (Dim* size : {&shape[c + 1], &shape[c + 2]}) {
    if (size->is_constant() && size->value % factor != 0) {
      return args.fail("expected sizes that " + std::to_string(factor) + " divides, found " + args.text(self));
    }
    *size = args.symbols.floor_div(*size, Dim(factor));
  }
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_upsample2d(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(args.expect_rank(input, 4, 4, "an input"));
  const size_t size = 1;
  const size_t factors = args.op().parameter_index("scale_factors");
  if (args.none(size) == args.none(factors)) {
    return args.fail("expected either 'output_size' or 'scale_factors', found " +
                     std::string(args.none(size) ? "neither" : "both"));
  }
  Shape shape = input.shape;
  const size_t count = args.none(size) ? std::get<FloatList>(args.argument(factors)).size() : args.dims(size).size();
  if (count != 2) return args.fail("expected 2 sizes or scale factors, found " + std::to_string(count));
  for (size_t i = 0; i < 2; ++i) {
    if (!args.none(size)) {
      shape[2 + i] = args.dims(size)[i];
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(shape[2 + i], scaled(args, shape[2 + i], std::get<FloatList>(args.argument(factors))[i]));
  }
  return Types{args.elementwise(input.dtype, shape, {})};
}

Expected<Types> infer_upsample_aa(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 4, 4, "an input"));
  if (args.dims(1).size() != 2) {
    return args.fail("expected 2 output sizes, found " + std::to_string(args.dims(1).size()));
  }
  return Types{args.elementwise(self.dtype, {self.shape[0], self.shape[1], args.dims(1)[0], args.dims(1)[1]}, {})};
}

namespace {

/// Samples of `axes` axes of an input [n, c, …] at the places of a grid [n, …, axes].
Expected<Types> infer_samples(const ShapeQuery& query, int axes) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const TensorType& grid = args.tensor(1);
  BERTH_TRY(args.expect_rank(input, axes + 2, axes + 2, "an input"));
  BERTH_TRY(args.expect_rank(grid, axes + 2, axes + 2, "a grid"));
  const std::string last = "size of the grid's last dimension and " + std::to_string(axes);
  BERTH_TRY(args.same_size(grid.shape[axes + 1], Dim(axes), last.c_str()));
  BERTH_ASSIGN_OR_RETURN(const Dim batch, args.same_size(input.shape[0], grid.shape[0], "batch sizes"));
  if (input.dtype != grid.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected input and grid of one dtype, found " + args.text(input) + " and " + args.text(grid));
  }
  std::vector<Dim> shape = {batch, input.shape[1]};
  for (int axis = 0; axis < axes; ++axis) shape.push_back(grid.shape[1 + axis]);
  return args.one(input.dtype, std::move(shape));
}

}  // namespace

Expected<Types> infer_grid_sampler(const ShapeQuery& query) { return infer_samples(query, 2); }
Expected<Types> infer_grid_sampler_volume(const ShapeQuery& query) { return infer_samples(query, 3); }

Expected<Types> infer_roi_align(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  const TensorType& rois = args.tensor(1);
  const TensorType& images = args.tensor(2);
  BERTH_TRY(args.expect_rank(input, 4, 4, "an input"));
  BERTH_TRY(args.expect_rank(rois, 2, 2, "regions"));
  BERTH_TRY(args.expect_rank(images, 1, 1, "numbers of images"));
  BERTH_TRY(args.same_size(rois.shape[1], Dim(4), "size of a region and 4"));
  BERTH_ASSIGN_OR_RETURN(const Dim count, args.same_size(rois.shape[0], images.shape[0], "numbers of regions"));
  if (input.dtype != rois.dtype) {
    return args.fail(Error::kInvalidType,
                     "expected input and regions of one dtype, found " + args.text(input) + " and " + args.text(rois));
  }
  return args.one(input.dtype, {count, input.shape[1], args.dim(3), args.dim(4)});
}

Expected<Types> infer_cdist(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& a = args.tensor(0);
  const TensorType& b = args.tensor(1);
  BERTH_TRY(args.expect_rank(a, 2, kMaxRank, "rows"));
  BERTH_TRY(args.expect_rank(b, 2, kMaxRank, "rows"));
  BERTH_TRY(args.same_size(a.shape.back(), b.shape.back(), "lengths of rows"));
  BERTH_ASSIGN_OR_RETURN(const DType dtype, product_dtype(args, a, b));
  BERTH_ASSIGN_OR_RETURN(Shape shape, args.broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                                     Shape(b.shape.begin(), b.shape.end() - 2)));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape[b.shape.size() - 2]);
  return args.one(dtype, std::move(shape));
}

Expected<Types> infer_pdist(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 2, 2, "rows"));
  const Dim n = self.shape[0];
  const Dim pairs = args.symbols.mul(n, args.symbols.add(n, Dim(-1)));
  return args.one(self.dtype, {args.symbols.floor_div(pairs, Dim(2))});
}

}  // namespace berth::ir
