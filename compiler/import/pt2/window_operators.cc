// Windows taken apart and put together again, and other operators that are sums and products of shifted views.
#include <algorithm>

#include "compiler/import/lowering/convolution.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

using lowering::Convolution;
using lowering::Window;

constexpr int64_t kMaxWindowNumber = int64_t{1} << 16;

/// Two numbers from `low` up.
std::vector<int64_t> two(NodeContext& n, std::string_view name, int64_t low) {
  std::vector<int64_t> numbers = n.integers(name);
  if (numbers.size() == 1) numbers.push_back(numbers[0]);
  bool fits = numbers.size() == 2;
  for (int64_t number : numbers) fits = fits && number >= low && number <= kMaxWindowNumber;
  if (!fits) n.invalid("argument '" + std::string(name) + "' must be two numbers from " + std::to_string(low) + " up");
  numbers.resize(2, 1);
  return numbers;
}

struct Windows {
  std::vector<int64_t> kernel, dilation, padding, stride;
};

Windows read_windows(NodeContext& n) {
  return {two(n, "kernel_size", 1), two(n, "dilation", 1), two(n, "padding", 0), two(n, "stride", 1)};
}

/// `x` with a batch dimension, and whether it had one.
ValueId batched(NodeContext& n, ValueId x, int rank, bool* had) {
  *had = n.rank(x) == rank;
  if (n.ok() && n.rank(x) != rank && n.rank(x) != rank - 1) n.invalid("does not take " + n.type_text(x));
  return n.ok() && !*had ? n.pad_rank(x, rank) : x;
}

void output_batched(NodeContext& n, ValueId y, bool had) {
  std::vector<Dim> shape = n.shape(y);
  if (n.ok() && !had) y = n.view(y, std::vector<Dim>(shape.begin() + 1, shape.end()));
  n.output(y);
}

// im2col: each window of [N, C, H, W] is a column of [N, C * kernel, windows].
void import_im2col(NodeContext& n) {
  bool had = true;
  ValueId x = batched(n, n.tensor("self"), 4, &had);
  const Windows w = read_windows(n);
  if (!n.ok()) return;
  const DimList pads = {Dim(w.padding[1]), Dim(w.padding[1]), Dim(w.padding[0]), Dim(w.padding[0])};
  x = n.op(OpId::constant_pad_nd_out, {x, pads, Dim(0)});
  for (size_t d = 0; d < 2; ++d) {
    const int64_t extent = w.dilation[d] * (w.kernel[d] - 1) + 1;
    x = n.op(OpId::unfold_copy_out, {x, Dim(static_cast<int64_t>(2 + d)), Dim(extent), Dim(w.stride[d])});
    if (w.dilation[d] == 1) continue;
    x = n.op(OpId::slice_copy_Tensor_out,
             {x, Dim(static_cast<int64_t>(4 + d)), Dim(0), Dim(extent), Dim(w.dilation[d])});
  }
  x = n.permute(x, {0, 1, 4, 5, 2, 3});
  if (!n.ok()) return;
  const std::vector<Dim> shape = n.shape(x);
  output_batched(n, n.view(x, {shape[0], n.product(shape, 1, 4), n.product(shape, 4, 6)}), had);
}

// col2im, where windows overlap their sum: a transposed convolution by the kernel that puts each element in its place.
void import_col2im(NodeContext& n) {
  bool had = true;
  const ValueId x = batched(n, n.tensor("self"), 3, &had);
  const Windows w = read_windows(n);
  const std::vector<int64_t> size = two(n, "output_size", 1);
  const int64_t cells = w.kernel[0] * w.kernel[1];
  const int64_t columns = n.fixed(n.dim(x, 1), "the number of rows of 'self'");
  constexpr int64_t kMaxKernel = int64_t{1} << 22;
  if (!n.ok()) return;
  if (cells > kMaxKernel || columns % cells != 0 || columns * cells > kMaxKernel) {
    return n.unsupported("is read for " + std::to_string(columns) + " rows only after run_decompositions()");
  }
  DimList stride, padding, dilation, more, blocks;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t reach = size[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    if (reach < 0) return n.invalid("the output is smaller than a window");
    blocks.emplace_back(reach / w.stride[d] + 1);
    more.emplace_back(reach % w.stride[d]);
    stride.emplace_back(w.stride[d]);
    padding.emplace_back(w.padding[d]);
    dilation.emplace_back(w.dilation[d]);
  }
  const ValueId image = n.view(x, {n.dim(x, 0), Dim(columns), blocks[0], blocks[1]});
  std::vector<double> places(columns * cells, 0);
  for (int64_t c = 0; c < columns; ++c) places[c * cells + c % cells] = 1;
  const ValueId flat = n.numbers(n.dtype(x), places, 1, 0);
  const ValueId kernel = n.view(flat, {Dim(columns), Dim(1), Dim(w.kernel[0]), Dim(w.kernel[1])});
  output_batched(
      n,
      n.op(OpId::convolution_out, {image, kernel, None(), stride, padding, dilation, true, more, Dim(columns / cells)}),
      had);
}

// x[1:] - x[:-1], so many times; with what is put before and behind. No times is the tensor itself, without either;
// more times than there are elements leave none.
void import_diff(NodeContext& n) {
  ValueId x = n.tensor("self");
  const int axis = n.axis(n.integer("dim", -1), n.rank(x));
  const int64_t times = n.integer("n", 1);
  constexpr int64_t kMostTimes = 64;
  if (times < 0) return n.invalid("argument 'n' must be at least 0, found " + std::to_string(times));
  if (times > kMostTimes) return n.unsupported("differences of differences are read up to 64 times");
  if (times == 0) return n.output(x);
  ValueList parts;
  if (n.has("prepend")) parts.push_back(n.tensor("prepend"));
  parts.push_back(x);
  if (n.has("append")) parts.push_back(n.tensor("append"));
  if (parts.size() > 1) x = n.op(OpId::cat_out, {parts, Dim(axis)});
  for (int64_t i = 0; i < times && n.ok() && n.dim(x, axis) != Dim(0); ++i) {
    const Dim size = n.dim(x, axis);
    const ValueId later = n.slice(x, axis, 1, size);
    const ValueId earlier = n.slice(x, axis, 0, n.symbols().add(size, -1));
    const bool truth = n.dtype(x) == DType::kBool;
    x = truth ? n.op(OpId::logical_xor_out, {later, earlier}) : n.op(OpId::sub_out, {later, earlier, Dim(1)});
  }
  n.output(x);
}

// How many boundaries lie before each number: a comparison with every one of them, summed. Boundaries of several
// dimensions are those of the rows of `x`.
void count_before(NodeContext& n, ValueId x, ValueId boundaries, bool right) {
  if (n.rank(boundaries) > 1) boundaries = n.op(OpId::unsqueeze_copy_out, {boundaries, Dim(-2)});
  std::vector<Dim> wide = n.shape(x);
  wide.emplace_back(1);
  const ValueId each = n.view(x, wide);
  // By what is not behind, so that a NaN lies behind all.
  const ValueId behind = n.op(right ? OpId::gt_Tensor_out : OpId::ge_Tensor_out, {boundaries, each});
  const ValueId before = n.op(OpId::logical_not_out, {behind});
  const DType type = n.truth("out_int32", false) ? DType::kI32 : DType::kI64;
  n.output(n.op(OpId::sum_IntList_out, {n.cast(before, type), DimList{Dim(n.rank(x))}, false, number_of(type)}));
}

bool is_right(NodeContext& n) {
  return n.truth("right", false) || (n.has("side") && n.text("side", "left") == "right");
}

void import_bucketize(NodeContext& n) {
  const ValueId boundaries = n.tensor("boundaries");
  count_before(n, n.tensor("self", boundaries), boundaries, is_right(n));
}

void import_searchsorted(NodeContext& n) {
  if (n.has("sorter")) return n.unsupported("argument 'sorter' is not read; sort the sequence before");
  const ValueId sequence = n.tensor("sorted_sequence");
  count_before(n, n.tensor("self", sequence), sequence, is_right(n));
}

// The k-th smallest is the last of the k smallest.
void import_kthvalue(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = n.axis(n.integer("dim", -1), n.rank(x));
  const int64_t k = n.integer("k", 1);
  const bool keep = n.truth("keepdim", false);
  std::vector<ValueId> found = n.ops(OpId::topk_values, {x, Dim(k), Dim(axis), false, true});
  for (ValueId& v : found) {
    if (!keep) v = n.op(OpId::select_copy_int_out, {v, Dim(axis), Dim(k - 1)});
    if (keep) v = n.slice(v, axis, Dim(k - 1), k);
  }
  n.outputs(found);
}

// The places of a triangle, row by row: [2, places].
template <bool lower>
void import_triangle(NodeContext& n) {
  const int64_t rows = n.integer("row", 0), columns = n.integer("col", 0), offset = n.integer("offset", 0);
  constexpr int64_t kMost = int64_t{1} << 20;
  if (!n.ok()) return;
  if (rows < 0 || columns < 0 || rows > kMost || columns > kMost || rows * columns > kMost) {
    return n.unsupported("of more than 2^20 places");
  }
  std::vector<int64_t> down, across;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      if (lower ? c - r > offset : c - r < offset) continue;
      down.push_back(r);
      across.push_back(c);
    }
  }
  const Dim count(static_cast<int64_t>(down.size()));
  down.insert(down.end(), across.begin(), across.end());
  n.output(n.cast(n.view(n.ints(down), {Dim(2), count}), n.dtype("dtype", DType::kI64)));
}

constexpr OperatorRow kWindowRows[] = {
    {"bucketize", import_bucketize},
    {"col2im", import_col2im},
    {"diff", import_diff},
    {"im2col", import_im2col},
    {"kthvalue", import_kthvalue},
    {"searchsorted", import_searchsorted},
    {"tril_indices", import_triangle<true>},
    {"triu_indices", import_triangle<false>},
};

}  // namespace

OperatorTable window_operators() { return kWindowRows; }

}  // namespace berth::pt2
