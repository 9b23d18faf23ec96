// Shape rules of slices, splits and what is written into slices.
#include <limits>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

// One type a part, cut along dimension `d`.
Types parts(const ShapeArgs& args, int d, const std::vector<Dim>& sizes) {
  const TensorType& self = args.tensor(0);
  Types types;
  for (Dim size : sizes) {
    Shape shape = self.shape;
    shape[d] = size;
    types.push_back(args.type(self.dtype, std::move(shape)));
  }
  return types;
}

// Results of a split are values of the IR, so their number has a limit.
constexpr int64_t kMaxParts = 65536;

// Where `place` (negative: from the end) lies within [0, size].
Expected<Dim> clamp_place(const ShapeArgs& args, Dim place, Dim size) {
  Symbols& symbols = args.symbols;
  if (symbols.upper(place) < 0) return symbols.max(symbols.add(size, place), Dim(0));
  if (symbols.lower(place) < 0) {
    return args.fail(Error::kNotSupported, "expected a place whose sign is known, found " + args.text(place));
  }
  return symbols.min(place, size);
}

// The size of self[start:end:step] along `d`; arguments start, end, step stand at `first` and after.
Expected<Dim> slice_size(const ShapeArgs& args, Dim size, size_t first) {
  Symbols& symbols = args.symbols;
  BERTH_ASSIGN_OR_RETURN(const int64_t step, args.integer(first + 2));
  if (step < 1) return args.fail("expected a step of at least 1, found " + std::to_string(step));
  const Dim from = args.none(first) ? Dim(0) : args.dim(first);
  const Dim to = args.none(first + 1) ? Dim(std::numeric_limits<int64_t>::max()) : args.dim(first + 1);
  BERTH_ASSIGN_OR_RETURN(const Dim start, clamp_place(args, from, size));
  BERTH_ASSIGN_OR_RETURN(const Dim end, clamp_place(args, to, size));
  const Dim distance = symbols.max(symbols.sub(end, start), Dim(0));
  if (step == 1) return distance;
  // Not (distance + step - 1) / step: a step may be as large as a number can be.
  const Dim whole = symbols.floor_div(symbols.add(distance, Dim(-1)), Dim(step));
  return symbols.add(whole, Dim(1));
}

Status expect_not_scalar(const ShapeArgs& args) { return args.expect_rank(args.tensor(0), 1, kMaxRank, "an input"); }

// Index `i` must lie in a dimension of `size`.
Status expect_within(const ShapeArgs& args, Dim i, Dim size) {
  const int64_t most = args.symbols.upper(size);
  if (args.symbols.lower(i) < most && args.symbols.upper(i) >= -most) return Done{};
  return args.fail("expected an index between " + std::to_string(-most) + " and " + std::to_string(most - 1) +
                   ", found " + args.text(i));
}

Expected<Types> like_self(const ShapeArgs& args, const Shape& written) {
  const TensorType& self = args.tensor(0);
  const TensorType& src = args.tensor(1);
  if (src.dtype != self.dtype || src.shape.size() != written.size()) {
    return args.fail("expected 'src' of " + std::string(to_string(self.dtype)) + args.text(written) + ", found " +
                     args.text(src));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    BERTH_TRY(args.same_size(src.shape[i], written[i], "sizes of 'src' and the slice"));
  }
  return args.one(self.dtype, self.shape);
}

}  // namespace

Expected<Types> infer_slice(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const Dim size, slice_size(args, self.shape[d], 2));
  return parts(args, d, {size});
}

Expected<Types> infer_slice_scatter(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  Shape written = args.tensor(0).shape;
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(2, args.tensor(0).rank()));
  Dim& size = written[d];
  BERTH_ASSIGN_OR_RETURN(size, slice_size(args, size, 3));
  return like_self(args, written);
}

Expected<Types> infer_select(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_TRY(expect_within(args, args.dim(2), self.shape[d]));
  Shape shape = self.shape;
  shape.erase(shape.begin() + d);
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_select_scatter(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  Shape written = args.tensor(0).shape;
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(2, args.tensor(0).rank()));
  BERTH_TRY(expect_within(args, args.dim(3), written[d]));
  written.erase(written.begin() + d);
  return like_self(args, written);
}

Expected<Types> infer_narrow(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  const Dim size = self.shape[d];
  BERTH_ASSIGN_OR_RETURN(const Dim start, clamp_place(args, args.dim(2), size));
  const Dim length = args.dim(3);
  const Dim end = args.symbols.add(start, length);
  if (args.symbols.lower(length) < 0 || args.symbols.lower(end) > args.symbols.upper(size)) {
    return args.fail("expected 'start' and 'length' within dimension " + std::to_string(d) + " of " + args.text(self) +
                     ", found " + args.text(args.dim(2)) + " and " + args.text(length));
  }
  return parts(args, d, {length});
}

Expected<Types> infer_split(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(2, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const int64_t size, args.integer(1));
  const Dim whole = self.shape[d];
  if (!whole.is_constant()) {
    return args.fail(Error::kNotSupported, "expected a dimension of known size to split, found " + args.text(whole));
  }
  if (size < 0 || (size == 0 && whole != Dim(0))) {
    return args.fail("expected a split size of at least 1, found " + std::to_string(size));
  }
  if (whole == Dim(0)) return parts(args, d, {whole});
  if ((whole.value - 1) / size + 1 > kMaxParts) {
    return args.fail("expected at most " + std::to_string(kMaxParts) + " parts, found " +
                     std::to_string((whole.value - 1) / size + 1));
  }
  std::vector<Dim> sizes;
  for (int64_t left = whole.value; left > 0; left -= size) sizes.push_back(Dim(std::min(size, left)));
  return parts(args, d, sizes);
}

Expected<Types> infer_split_with_sizes(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(2, self.rank()));
  Dim sum(0);
  for (Dim size : args.dims(1)) {
    if (args.symbols.lower(size) < 0) return args.fail("expected sizes of at least 0, found " + args.text(size));
    sum = args.symbols.add(sum, size);
  }
  if (static_cast<int64_t>(args.dims(1).size()) > kMaxParts) {
    return args.fail("expected at most " + std::to_string(kMaxParts) + " parts, found " +
                     std::to_string(args.dims(1).size()));
  }
  BERTH_TRY(args.same_size(sum, self.shape[d], "sizes of the parts together and of the whole"));
  return parts(args, d, args.dims(1));
}

Expected<Types> infer_unbind(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  Shape shape = self.shape;
  const Dim count = shape[d];
  shape.erase(shape.begin() + d);
  if (!count.is_constant() || count.value > kMaxParts) {
    return args.fail(Error::kNotSupported, "expected a dimension of at most " + std::to_string(kMaxParts) +
                                               " parts, found " + args.text(count));
  }
  return Types(count.value, args.type(self.dtype, shape));
}

Expected<Types> infer_diagonal(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 2, kMaxRank, "an input"));
  BERTH_ASSIGN_OR_RETURN(const int64_t offset, args.integer(1));
  BERTH_ASSIGN_OR_RETURN(const int a, args.dimension(2, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const int b, args.dimension(3, self.rank()));
  if (a == b) return args.fail("expected two different dimensions, found " + std::to_string(a) + " twice");
  Symbols& symbols = args.symbols;
  Dim rows = self.shape[a];
  Dim columns = self.shape[b];
  if (offset >= 0) columns = symbols.sub(columns, Dim(offset));
  if (offset < 0) rows = symbols.add(rows, Dim(offset));
  Shape shape;
  for (int i = 0; i < self.rank(); ++i) {
    if (i != a && i != b) shape.push_back(self.shape[i]);
  }
  shape.push_back(symbols.max(symbols.min(rows, columns), Dim(0)));
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_glu(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_TRY(expect_not_scalar(args));
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  const Dim size = self.shape[d];
  if (size.is_constant() && size.value % 2 != 0) {
    return args.fail("expected an even size in dimension " + std::to_string(d) + ", found " + args.text(self));
  }
  return parts(args, d, {args.symbols.floor_div(size, Dim(2))});
}

Expected<Types> infer_unfold(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const int64_t size, args.integer(2));
  BERTH_ASSIGN_OR_RETURN(const int64_t step, args.integer(3));
  Shape shape = self.shape;
  const Dim length = shape.empty() ? Dim(1) : shape[d];
  if (size < 0 || step < 1 || args.symbols.upper(length) < size) {
    return args.fail("expected a step of at least 1 and a size within the " + args.text(length) +
                     " elements of dimension " + std::to_string(d) + ", found " + std::to_string(step) + " and " +
                     std::to_string(size));
  }
  if (!shape.empty()) {
    const Dim steps = args.symbols.floor_div(args.symbols.add(length, Dim(-size)), Dim(step));
    shape[d] = args.symbols.add(steps, Dim(1));
  }
  shape.push_back(Dim(size));
  return args.one(self.dtype, std::move(shape));
}

// The strides count elements of the memory of a contiguous self.
Expected<Types> infer_as_strided(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const Shape& shape = args.dims(1);
  const DimList& strides = args.dims(2);
  if (shape.size() != strides.size()) {
    return args.fail("expected a stride for each size, found " + std::to_string(strides.size()) + " for " +
                     std::to_string(shape.size()));
  }
  for (const DimList* list : {&shape, &strides}) {
    for (Dim dim : *list) {
      if (args.symbols.lower(dim) < 0) return args.fail("expected numbers of at least 0, found " + args.text(dim));
    }
  }
  return args.one(self.dtype, shape);
}

}  // namespace berth::ir
