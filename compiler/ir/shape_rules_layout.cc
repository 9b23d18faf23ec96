// Shape rules of reordering, views and joins. Slices and splits: shape_rules_slice.cc.
#include <algorithm>

#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {
namespace {

// Product of sizes as a number times symbols, so that equal symbols cancel.
struct DimFactors {
  int64_t number = 1;
  std::vector<Dim> symbols;
  bool overflow = false;

  void take(const Symbols& table, Dim dim) {
    if (dim.is_constant()) {
      overflow = overflow || __builtin_mul_overflow(number, dim.value, &number);
      return;
    }
    // Sizes are expressions of few terms, so this ends soon.
    const Symbol& s = table[dim.symbol];
    if (s.kind == SymbolKind::kMul) {
      take(table, s.a);
      take(table, s.b);
    } else {
      symbols.push_back(dim);
    }
  }

  Dim product(Symbols& table) const {
    Dim result(number);
    for (Dim symbol : symbols) result = table.mul(result, symbol);
    return result;
  }
};

DimFactors factors(const Symbols& table, const Shape& shape) {
  DimFactors result;
  for (Dim dim : shape) result.take(table, dim);
  return result;
}

// Removes the symbols that stand in both.
void cancel(DimFactors& a, DimFactors& b) {
  for (size_t i = 0; i < a.symbols.size();) {
    const auto found = std::find(b.symbols.begin(), b.symbols.end(), a.symbols[i]);
    if (found == b.symbols.end()) {
      ++i;
      continue;
    }
    b.symbols.erase(found);
    a.symbols.erase(a.symbols.begin() + static_cast<ptrdiff_t>(i));
  }
}

Failure does_not_fit(const ShapeArgs& args, const Shape& wanted) {
  return args.fail("expected a shape with as many elements as the input, found " + args.text(wanted) + " for " +
                   args.text(args.tensor(0)));
}

// The size that -1 stands for in `wanted` (a place where it holds 1).
Expected<Dim> missing_size(const ShapeArgs& args, const Shape& wanted) {
  DimFactors have = factors(args.symbols, args.tensor(0).shape);
  DimFactors want = factors(args.symbols, wanted);
  if (have.overflow || want.overflow) return args.fail("the shape has more than 2^63 elements");
  if (want.number == 0) return args.fail("a size of 0 leaves the size -1 open, found " + args.text(wanted));
  cancel(have, want);
  if (want.symbols.empty() && have.number % want.number == 0) {
    have.number /= want.number;
    return have.product(args.symbols);
  }
  const Dim divisor = want.product(args.symbols);
  const Dim dividend = have.product(args.symbols);
  if (args.symbols.lower(divisor) < 1) {
    return args.fail(Error::kNotSupported, "the size -1 is open where " + args.text(divisor) + " may be 0");
  }
  if (have.symbols.empty() && want.symbols.empty()) return does_not_fit(args, wanted);
  return args.symbols.floor_div(dividend, divisor);
}

Status expect_as_many(const ShapeArgs& args, const Shape& wanted) {
  DimFactors have = factors(args.symbols, args.tensor(0).shape);
  DimFactors want = factors(args.symbols, wanted);
  if (have.overflow || want.overflow) return args.fail("the shape has more than 2^63 elements");
  cancel(have, want);
  const Dim a = have.product(args.symbols);
  const Dim b = want.product(args.symbols);
  if (!args.same_size(a, b, "numbers of elements").ok()) return does_not_fit(args, wanted);
  return Done{};
}

Shape squeezed(const Shape& shape, const std::vector<bool>& gone) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) result.push_back(shape[i]);
  }
  return result;
}

// Removes those of `dimensions` that are 1.
Expected<Types> squeeze(const ShapeArgs& args, const std::vector<int>& dimensions) {
  const TensorType& self = args.tensor(0);
  std::vector<bool> gone(self.shape.size());
  for (int d : dimensions) {
    const size_t i = d;
    if (i >= self.shape.size()) continue;
    const Dim size = self.shape[i];
    if (!size.is_constant() && args.symbols.lower(size) <= 1) {
      return args.fail(Error::kNotSupported, "expected a size that is known to be 1 or not, found " + args.text(size) +
                                                 "; give the symbol a number or a lower bound of 2");
    }
    gone[i] = size == Dim(1);
  }
  return args.one(self.dtype, squeezed(self.shape, gone));
}

Expected<std::vector<uint8_t>> dimension_order(const ShapeArgs& args, size_t i, int rank) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> order, args.dimensions(i, rank));
  if (order.size() != static_cast<size_t>(rank)) {
    return args.fail("expected a dimension order of " + std::to_string(rank) + " dimensions, found " +
                     std::to_string(order.size()));
  }
  return std::vector<uint8_t>(order.begin(), order.end());
}

}  // namespace

Expected<Types> infer_view(const ShapeQuery& query) {
  const ShapeArgs args(query);
  Shape shape = args.dims(1);
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_constant() && shape[i].value < -1) {
      return args.fail("expected sizes of at least 0, or -1 once, found " + args.text(shape));
    }
    if (shape[i] != Dim(-1)) continue;
    if (open < shape.size()) return args.fail("expected at most one size -1, found " + args.text(shape));
    open = i;
  }
  if (open < shape.size()) {
    shape[open] = Dim(1);
    BERTH_ASSIGN_OR_RETURN(shape[open], missing_size(args, shape));
  } else {
    BERTH_TRY(expect_as_many(args, shape));
  }
  return args.one(args.tensor(0).dtype, std::move(shape));
}

Expected<Types> infer_squeeze_dim(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, args.tensor(0).rank()));
  return squeeze(args, {d});
}

Expected<Types> infer_squeeze_dims(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> dimensions, args.dimensions(1, args.tensor(0).rank()));
  return squeeze(args, dimensions);
}

Expected<Types> infer_unsqueeze(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, self.rank() + 1));
  Shape shape = self.shape;
  shape.insert(shape.begin() + d, Dim(1));
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_expand(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  Shape shape = args.dims(1);
  if (shape.size() < self.shape.size()) {
    return args.fail("expected at least " + std::to_string(self.rank()) + " sizes, found " + args.text(shape));
  }
  const size_t skip = shape.size() - self.shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < skip) {
      if (args.symbols.lower(shape[i]) < 0) return args.fail("expected sizes of at least 0, found " + args.text(shape));
      continue;
    }
    const Dim have = self.shape[i - skip];
    if (shape[i] == Dim(-1)) shape[i] = have;
    // A size that is 1 takes any other; else both are equal.
    if (have == Dim(1)) continue;
    if (!args.same_size(have, shape[i], "sizes").ok()) {
      return args.fail("expected sizes that " + args.text(self) + " can be repeated to, found " +
                       args.text(args.dims(1)));
    }
  }
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_permute(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint8_t> order, dimension_order(args, 1, self.rank()));
  Shape shape;
  for (uint8_t d : order) shape.push_back(self.shape[d]);
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_t(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.expect_rank(self, 0, 2, "an input"));
  return args.one(self.dtype, Shape(self.shape.rbegin(), self.shape.rend()));
}

Expected<Types> infer_transpose(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const int a, args.dimension(1, self.rank()));
  BERTH_ASSIGN_OR_RETURN(const int b, args.dimension(2, self.rank()));
  Shape shape = self.shape;
  if (!shape.empty()) std::swap(shape[a], shape[b]);
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_repeat(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  Shape shape = args.dims(1);
  if (shape.size() < self.shape.size()) {
    return args.fail("expected at least " + std::to_string(self.rank()) + " repeats, found " + args.text(shape));
  }
  const size_t skip = shape.size() - self.shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (args.symbols.lower(shape[i]) < 0) return args.fail("expected repeats of at least 0, found " + args.text(shape));
    if (i >= skip) shape[i] = args.symbols.mul(shape[i], self.shape[i - skip]);
  }
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_flip(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_TRY(args.dimensions(1, self.rank()));
  return args.one(self.dtype, self.shape);
}

Expected<Types> infer_roll(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  if (args.dims(2).empty() ? args.dims(1).size() != 1 : args.dims(1).size() != args.dims(2).size()) {
    return args.fail("expected a shift for each dimension, found " + std::to_string(args.dims(1).size()) + " for " +
                     std::to_string(args.dims(2).size()));
  }
  for (Dim d : args.dims(2)) {
    if (!d.is_constant()) return args.fail("expected a dimension that is a number, found " + args.text(d));
    BERTH_TRY(args.wrapped(d.value, self.rank()));
  }
  return args.one(self.dtype, self.shape);
}

// Pairs (before, after), from the last dimension backwards.
Expected<Types> infer_pad_nd(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  const DimList& pad = args.dims(1);
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.shape.size()) {
    return args.fail("expected a pair of numbers for each of at most " + std::to_string(self.rank()) +
                     " dimensions, found " + std::to_string(pad.size()) + " numbers");
  }
  Shape shape = self.shape;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Dim& size = shape[shape.size() - 1 - i];
    size = args.symbols.add(size, args.symbols.add(pad[2 * i], pad[2 * i + 1]));
    if (args.symbols.upper(size) < 0) {
      return args.fail("expected padding that leaves sizes of at least 0, found " + args.text(size));
    }
  }
  return args.one(self.dtype, std::move(shape));
}

Expected<Types> infer_cat(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const std::vector<const TensorType*> tensors = args.tensors(0);
  if (tensors.empty()) return args.fail("expected at least one tensor, found none");
  // ATen skips tensors of shape [0], whatever the rank of the others.
  const auto counts = [](const TensorType* t) { return t->shape != Shape{Dim(0)}; };
  const auto first = std::find_if(tensors.begin(), tensors.end(), counts);
  const TensorType& leader = first == tensors.end() ? *tensors[0] : **first;
  BERTH_TRY(args.expect_rank(leader, 1, kMaxRank, "tensors"));
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, leader.rank()));
  Promotion promotion;
  Shape shape = leader.shape;
  Dim& joined = shape[d];
  joined = Dim(0);
  for (const TensorType* t : tensors) {
    promotion.tensor(*t);
    if (!counts(t)) continue;
    if (t->rank() != leader.rank()) {
      return args.fail("expected tensors of one rank, found " + args.text(leader) + " and " + args.text(*t));
    }
    for (int i = 0; i < leader.rank(); ++i) {
      if (i == d) continue;
      auto size = args.same_size(shape[i], t->shape[i], "sizes");
      if (!size.ok()) {
        return args.fail("expected tensors that differ in dimension " + std::to_string(d) + " alone, found " +
                         args.text(leader) + " and " + args.text(*t));
      }
      shape[i] = *size;
    }
    joined = args.symbols.add(joined, t->shape[d]);
  }
  return args.one(promotion.result(), std::move(shape));
}

Expected<Types> infer_stack(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const std::vector<const TensorType*> tensors = args.tensors(0);
  if (tensors.empty()) return args.fail("expected at least one tensor, found none");
  BERTH_ASSIGN_OR_RETURN(const int d, args.dimension(1, tensors[0]->rank() + 1));
  Promotion promotion;
  Shape shape = tensors[0]->shape;
  for (const TensorType* t : tensors) {
    promotion.tensor(*t);
    if (t->rank() != tensors[0]->rank()) {
      return args.fail("expected tensors of one shape, found " + args.text(*tensors[0]) + " and " + args.text(*t));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      BERTH_ASSIGN_OR_RETURN(shape[i], args.same_size(shape[i], t->shape[i], "sizes of the tensors"));
    }
  }
  shape.insert(shape.begin() + d, Dim(static_cast<int64_t>(tensors.size())));
  return args.one(promotion.result(), std::move(shape));
}

Expected<Types> infer_copy(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const Shape shape, args.broadcast(self.shape, args.tensor(1).shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape.size() == self.shape.size() && args.same_size(shape[i], self.shape[i], "sizes").ok()) continue;
    return args.fail("expected a source that can be repeated to " + args.text(self) + ", found " +
                     args.text(args.tensor(1)));
  }
  return Types{args.elementwise(self.dtype, self.shape, {&self})};
}

Expected<Types> infer_clone(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  constexpr int64_t kContiguous = 0;
  constexpr int64_t kPreserve = 1;
  if (args.none(1)) return Types{args.elementwise(self.dtype, self.shape, {&self})};
  BERTH_ASSIGN_OR_RETURN(const int64_t format, args.integer(1));
  if (format == kContiguous) return args.one(self.dtype, self.shape);
  if (format == kPreserve) return Types{args.elementwise(self.dtype, self.shape, {&self})};
  return args.fail(Error::kNotSupported, "expected the memory format contiguous (0) or preserve (1), found " +
                                             std::to_string(format) + "; use _clone_dim_order instead");
}

Expected<Types> infer_clone_dim_order(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  TensorType result = args.elementwise(self.dtype, self.shape, {&self});
  if (!args.none(2)) {
    BERTH_ASSIGN_OR_RETURN(result.dim_order, dimension_order(args, 2, self.rank()));
  }
  return Types{std::move(result)};
}

Expected<Types> infer_to_dim_order_copy(const ShapeQuery& query) {
  const ShapeArgs args(query);
  BERTH_ASSIGN_OR_RETURN(Types types, infer_clone_dim_order(query));
  TensorType& result = std::get<TensorType>(types[0]);
  BERTH_ASSIGN_OR_RETURN(result.dtype, args.dtype(3, result.dtype));
  return types;
}

Expected<Types> infer_bit_cast(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(1, self.dtype));
  if (element_size(dtype) != element_size(self.dtype)) {
    return args.fail(Error::kInvalidType, "expected a dtype of the same size, found " + std::string(to_string(dtype)) +
                                              " for " + args.text(self));
  }
  return args.one(dtype, self.shape);
}

// As clone, with another dtype.
Expected<Types> infer_to_copy(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  BERTH_ASSIGN_OR_RETURN(const DType dtype, args.dtype(3, self.dtype));
  constexpr int64_t kPreserve = 1;
  int64_t format = kPreserve;
  if (!args.none(2)) {
    BERTH_ASSIGN_OR_RETURN(format, args.integer(2));
  }
  if (format == kPreserve) return Types{args.elementwise(dtype, self.shape, {&self})};
  if (format == 0) return args.one(dtype, self.shape);
  return args.fail(Error::kNotSupported, "expected the memory format contiguous (0) or preserve (1), found " +
                                             std::to_string(format) + "; use _to_dim_order_copy instead");
}

Expected<Types> infer_view_as_real(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(0);
  if (!is_complex(self.dtype)) return args.fail("expected complex numbers, found " + args.text(self));
  Shape shape = self.shape;
  shape.push_back(Dim(2));
  const DType part = self.dtype == DType::kComplex32   ? DType::kF16
                     : self.dtype == DType::kComplex64 ? DType::kF32
                                                       : DType::kF64;
  return args.one(part, std::move(shape));
}

}  // namespace berth::ir
