// Tensors in pieces.
#include <algorithm>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr int64_t kMaxPieces = 1 << 16;

void pieces(NodeContext& n, ValueId x, int axis, const std::vector<int64_t>& sizes) {
  if (!n.ok()) return;
  if (sizes.size() == 1) return n.outputs({x});
  n.outputs(n.ops(OpId::split_with_sizes_copy_out, {x, ir::dims(sizes), Dim(axis)}));
}

// Pieces of `size`, the last one smaller. With a symbolic size the file says how many there are.
void split_evenly(NodeContext& n, ValueId x, int axis, int64_t size) {
  if (!n.ok()) return;
  if (size < 1) return n.invalid("pieces of " + std::to_string(size) + " elements");
  const Dim whole = n.dim(x, axis);
  size = std::min(size, lowering::kMaxExtent);
  if (!whole.is_constant()) {
    std::vector<ValueId> parts;
    const size_t count = n.output_count();
    for (size_t i = 0; i < count && n.ok(); ++i) {
      const Dim start(static_cast<int64_t>(i) * size);
      parts.push_back(n.slice(x, axis, start, i + 1 == count ? whole : Dim(start.value + size)));
    }
    return n.outputs(parts);
  }
  if (whole.value / size > kMaxPieces) return n.unsupported("more than " + std::to_string(kMaxPieces) + " pieces");
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < whole.value; at += size) sizes.push_back(std::min(size, whole.value - at));
  if (sizes.empty()) sizes.push_back(0);
  pieces(n, x, axis, sizes);
}

int split_axis(NodeContext& n, ValueId x) { return n.axis(n.integer("dim", 0), n.rank(x)); }

void import_split(NodeContext& n) {
  const ValueId x = n.tensor("self");
  split_evenly(n, x, split_axis(n, x), n.integer("split_size", 1));
}

void import_split_sizes(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = split_axis(n, x);
  const DimList sizes = n.dims(n.argument("split_sizes") != nullptr ? "split_sizes" : "split_size");
  if (!n.ok()) return;
  const bool numbers = std::all_of(sizes.begin(), sizes.end(), [](Dim d) { return d.is_constant(); });
  if (numbers && n.dim(x, axis).is_constant()) {
    if (sizes.size() == 1) return n.outputs({x});
    return n.outputs(n.ops(OpId::split_with_sizes_copy_out, {x, sizes, Dim(axis)}));
  }
  std::vector<ValueId> parts;
  Dim start(0);
  for (Dim size : sizes) {
    const Dim end = n.symbols().add(start, size);
    parts.push_back(n.slice(x, axis, start, end));
    start = end;
  }
  n.outputs(parts);
}

void import_chunk(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = split_axis(n, x);
  const int64_t chunks = n.integer("chunks", 1);
  const Dim whole = n.dim(x, axis);
  if (n.ok() && (chunks < 1 || chunks > lowering::kMaxExtent)) return n.invalid("this many chunks");
  if (!n.ok()) return;
  if (whole.is_constant()) return split_evenly(n, x, axis, std::max<int64_t>((whole.value + chunks - 1) / chunks, 1));
  const Dim size = n.symbols().ceil_div(whole, Dim(chunks));
  std::vector<ValueId> parts;
  const size_t count = n.output_count();
  for (size_t i = 0; i < count && n.ok(); ++i) {
    const Dim start = n.symbols().mul(size, Dim(static_cast<int64_t>(i)));
    parts.push_back(n.slice(x, axis, start, i + 1 == count ? whole : n.symbols().add(start, size)));
  }
  n.outputs(parts);
}

// Pieces that differ by at most one, or between the indices.
void split_at(NodeContext& n, ValueId x, int axis) {
  const int64_t whole = n.fixed(n.dim(x, axis), "a size that is split");
  std::vector<int64_t> ends = n.integers("indices");
  if (n.has("sections")) {
    const int64_t sections = n.integer("sections", 1);
    if (n.ok() && (sections < 1 || sections > kMaxPieces)) return n.invalid("this many sections");
    int64_t at = 0;
    for (int64_t i = 0; i + 1 < sections && n.ok(); ++i) {
      at += whole / sections + (i < whole % sections ? 1 : 0);
      ends.push_back(at);
    }
  }
  if (!n.ok()) return;
  ends.push_back(whole);
  std::vector<int64_t> sizes;
  int64_t at = 0;
  for (int64_t end : ends) {
    if (end < 0) end += whole;
    end = std::clamp<int64_t>(end, at, whole);
    sizes.push_back(end - at);
    at = end;
  }
  pieces(n, x, axis, sizes);
}

void import_tensor_split(NodeContext& n) {
  const ValueId x = n.tensor("self");
  split_at(n, x, split_axis(n, x));
}

// hsplit, vsplit and dsplit, which name their dimension.
template <int kAxis>
void import_split_along(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = kAxis == 1 && n.rank(x) == 1 ? 0 : kAxis;
  if (n.ok() && axis >= n.rank(x)) return n.invalid("the tensor has too few dimensions");
  if (n.ok()) split_at(n, x, axis);
}

void import_unbind(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = split_axis(n, x);
  std::vector<ValueId> parts;
  if (n.ok() && n.dim(x, axis) != Dim(static_cast<int64_t>(n.output_count()))) {
    return n.invalid("has " + std::to_string(n.output_count()) + " results for " + n.type_text(x));
  }
  for (size_t i = 0; i < n.output_count() && n.ok(); ++i) {
    parts.push_back(n.op(OpId::select_copy_int_out, {x, Dim(axis), Dim(static_cast<int64_t>(i))}));
  }
  n.outputs(parts);
}

constexpr OperatorRow kSplitRows[] = {
    {"chunk", import_chunk},
    {"dsplit", import_split_along<2>},
    {"hsplit", import_split_along<1>},
    {"split", import_split},
    {"split.sizes", import_split_sizes},
    {"split_with_sizes", import_split_sizes},
    {"tensor_split", import_tensor_split},
    {"unbind", import_unbind},
    {"unsafe_chunk", import_chunk},
    {"unsafe_split", import_split},
    {"unsafe_split_with_sizes", import_split_sizes},
    {"vsplit", import_split_along<0>},
};

}  // namespace

OperatorTable split_operators() { return kSplitRows; }

}  // namespace berth::pt2
