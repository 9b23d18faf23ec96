#include "compiler/import/lowering/cached_attention.h"

#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/lowering/matmul.h"

namespace berth::lowering {
namespace {

// The whole number that `number` is, as a tensor without dimensions.
ValueId in_tensor(Lowering& n, const Argument& number) {
  const ValueId* value = std::get_if<ValueId>(&number);
  if (value == nullptr) return n.op(OpId::full_out, {DimList{}, number, number_of(DType::kI64)});
  return n.view(n.cast(*value, DType::kI64), {});
}

// 0 to `count` - 1.
ValueId numbers_to(Lowering& n, Dim count) {
  return n.op(OpId::arange_start_out, {Dim(0), count, Dim(1), number_of(DType::kI64)});
}

// The places of `count` rows, the first at `start`.
ValueId places_from(Lowering& n, const Argument& start, Dim count) {
  return add(n, numbers_to(n, count), in_tensor(n, start));
}

bool check_rows(Lowering& n, ValueId cache, ValueId rows) {
  if (!n.ok()) return false;
  if (n.rank(cache) != 4 || n.rank(rows) != 4) {
    n.invalid("needs a cache and rows of 4 dimensions, found " + n.type_text(cache) + " and " + n.type_text(rows));
    return false;
  }
  bool fits = n.dtype(cache) == n.dtype(rows);
  for (const int d : {0, 2, 3}) fits = fits && n.dim(cache, d) == n.dim(rows, d);
  if (!fits) n.invalid("rows of " + n.type_text(rows) + " do not fit in a cache of " + n.type_text(cache));
  return fits;
}

// [batch, rows, groups, features] → [batch, heads, rows, features], in f32.
ValueId by_heads(Lowering& n, ValueId cache, Dim heads) {
  const ValueId x = n.permute(n.cast(cache, DType::kF32), {0, 2, 1, 3});
  std::vector<Dim> shape = n.shape(x);
  if (!n.ok() || shape[1] == heads) return x;
  const int64_t groups = n.fixed(shape[1], "the number of heads of keys");
  const int64_t all = n.fixed(heads, "the number of heads");
  if (n.ok() && (groups < 1 || all % groups != 0)) {
    n.invalid(std::to_string(all) + " heads do not share " + std::to_string(groups) + " heads of keys evenly");
  }
  if (!n.ok()) return x;
  std::vector<Dim> wide = {shape[0], shape[1], Dim(1), shape[2], shape[3]};
  const ValueId apart = n.view(x, wide);
  wide[2] = Dim(all / groups);
  shape[1] = heads;
  return n.view(n.expand(apart, wide), shape);
}

// Whether a query sees a row: [queries or 1, rows].
ValueId rows_seen(Lowering& n, const CachedAttention& a, Dim queries, Dim rows) {
  ValueId last = places_from(n, a.start, queries);
  if (!a.causal) {
    const Dim end = n.symbols().sub(queries, Dim(1));
    last = n.expand(add(n, in_tensor(n, a.start), in_tensor(n, Argument(end))), {queries});
  }
  return n.op(OpId::le_Tensor_out, {n.view(numbers_to(n, rows), {Dim(1), rows}), n.view(last, {queries, Dim(1)})});
}

bool check_attention(Lowering& n, const CachedAttention& a) {
  if (!n.ok()) return false;
  if (n.rank(a.query) != 4 || n.rank(a.keys) != 4 || n.shape(a.keys) != n.shape(a.values)) {
    n.invalid("needs [batch, rows, heads, features] of queries, and keys and values of the same sizes");
  }
  const DType type = n.dtype(a.query);
  if (n.dtype(a.keys) != type || n.dtype(a.values) != type)
    n.invalid("queries, keys and values differ in element type");
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16) {
    n.unsupported(std::string("elements of ") + to_string(type) + "; those of f32, f16 and bf16 are supported");
  }
  if (n.dim(a.query, 0) != n.dim(a.keys, 0) || n.dim(a.query, 3) != n.dim(a.keys, 3)) {
    n.invalid("queries of " + n.type_text(a.query) + " do not fit to keys of " + n.type_text(a.keys));
  }
  if (!a.mask.valid() || !n.ok()) return n.ok();
  const std::vector<Dim> wanted = {n.dim(a.query, 1), n.dim(a.keys, 1)};
  if (a.causal) n.unsupported("a mask together with is_causal");
  if (!is_floating(n.dtype(a.mask))) n.unsupported("a mask of " + n.type_text(a.mask) + "; expected numbers to add");
  if (n.shape(a.mask) != wanted) {
    n.invalid("expected a mask [queries, rows of the cache], found " + n.type_text(a.mask));
  }
  return n.ok();
}

}  // namespace

ValueId put_rows(Lowering& n, ValueId cache, ValueId rows, const Argument& start) {
  if (!check_rows(n, cache, rows)) return {};
  const ValueId places = places_from(n, start, n.dim(rows, 1));
  return n.op(OpId::index_put_out, {cache, ValueList{ValueId(), places}, rows, false});
}

ValueId put_rows_at(Lowering& n, ValueId cache, ValueId rows, ValueId places) {
  if (!check_rows(n, cache, rows)) return {};
  const Dim batch = n.dim(rows, 0);
  if (n.shape(places) != std::vector<Dim>{batch, n.dim(rows, 1)}) {
    n.invalid("expected a place for each row, found " + n.type_text(places));
    return {};
  }
  if (batch == Dim(1)) {
    const ValueId flat = n.view(places, {n.dim(rows, 1)});
    return n.op(OpId::index_put_out, {cache, ValueList{ValueId(), flat}, rows, false});
  }
  const ValueId batches = n.view(numbers_to(n, batch), {batch, Dim(1)});
  return n.op(OpId::index_put_out, {cache, ValueList{batches, places}, rows, false});
}

ValueId cached_attention(Lowering& n, const CachedAttention& a) {
  if (!check_attention(n, a)) return {};
  const Dim queries = n.dim(a.query, 1);
  const Dim heads = n.dim(a.query, 2);
  const int64_t features = n.fixed(n.dim(a.query, 3), "the number of features");
  if (n.ok() && features < 1) n.invalid("attention over no features");
  if (!n.ok()) return {};
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(features));
  const ValueId query = n.op(OpId::mul_Scalar_out, {n.permute(n.cast(a.query, DType::kF32), {0, 2, 1, 3}), scale});
  const ValueId keys = n.op(OpId::transpose_copy_int_out, {by_heads(n, a.keys, heads), Dim(-2), Dim(-1)});
  ValueId scores = matmul(n, query, keys);
  if (a.mask.valid()) {
    scores = add(n, scores, n.cast(a.mask, DType::kF32));
  } else {
    const ValueId seen = rows_seen(n, a, queries, n.dim(a.keys, 1));
    scores = n.op(OpId::where_self_out, {seen, scores, n.splat(DType::kF32, {}, -HUGE_VAL)});
  }
  const ValueId result = matmul(n, attention_weights(n, scores, false), by_heads(n, a.values, heads));
  return n.cast(n.permute(result, {0, 2, 1, 3}), n.dtype(a.query));
}

}  // namespace berth::lowering
