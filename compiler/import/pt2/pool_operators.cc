// Poolings, fixed windows and adaptive ones.
#include <algorithm>

#include "compiler/import/lowering/pooling.h"
#include "compiler/import/pt2/operators.h"
#include "compiler/import/pt2/spatial.h"

namespace berth::pt2 {
namespace {

using lowering::Window;

constexpr int64_t kMaxAdaptive = 4096;

/// An input without a batch dimension gets one, and loses it again at the end.
struct Pooled {
  ValueId x;
  size_t rank = 0;
  bool batched = true;
};

Pooled read_input(NodeContext& n, size_t rank) {
  Pooled p{n.tensor("self"), rank, true};
  p.batched = n.rank(p.x) != static_cast<int>(rank) + 1;
  if (!p.batched) p.x = n.pad_rank(p.x, static_cast<int>(rank) + 2);
  if (n.ok() && n.rank(p.x) != static_cast<int>(rank) + 2) {
    n.invalid("needs [N, C, spatial…], found " + n.type_text(p.x));
  }
  return p;
}

ValueId without_batch(NodeContext& n, const Pooled& p, ValueId y) {
  const std::vector<Dim> shape = n.shape(y);
  if (p.batched || shape.empty()) return y;
  return n.view(y, std::vector<Dim>(shape.begin() + 1, shape.end()));
}

Window read_window(NodeContext& n, size_t rank) {
  Window window;
  window.kernel = spatial(n, "kernel_size", rank, {}, 1);
  window.strides = spatial(n, "stride", rank, window.kernel, 1);
  window.dilations = spatial(n, "dilation", rank, {1}, 1);
  for (int64_t pad : spatial(n, "padding", rank, {0}, 0)) {
    window.begins.emplace_back(pad);
    window.ends.emplace_back(pad);
  }
  window.ceil = n.truth("ceil_mode", false);
  return window;
}

template <size_t rank>
void import_max_pool(NodeContext& n) {
  const Pooled p = read_input(n, rank);
  const Window window = read_window(n, rank);
  if (!n.ok()) return;
  const lowering::MaxPool pool = lowering::max_pool(n, p.x, window);
  if (!n.ok()) return;
  n.output(without_batch(n, p, pool.values));
  if (n.output_count() < 2) return;
  if (pool.indices.valid()) {
    n.output(1, without_batch(n, p, pool.indices));
  } else {
    n.unknown_output(1, "is the places of the largest elements, which are not known in three dimensions");
  }
}

// With ceil_mode a window may be larger than all there is; it ends where the padding ends, as PyTorch divides by that.
void fit(NodeContext& n, ValueId x, Window& window) {
  for (size_t i = 0; n.ok() && window.ceil && i < window.kernel.size(); ++i) {
    const Dim padded = n.symbols().add(n.dim(x, static_cast<int>(i) + 2), Dim(2 * window.begins[i].value));
    if (padded.is_constant() && padded.value >= 1) window.kernel[i] = std::min(window.kernel[i], padded.value);
  }
}

template <size_t rank>
void import_avg_pool(NodeContext& n) {
  const Pooled p = read_input(n, rank);
  Window window = read_window(n, rank);
  fit(n, p.x, window);
  if (!n.ok()) return;
  const bool include = n.truth("count_include_pad", true);
  n.output(without_batch(n, p, lowering::average_pool(n, p.x, window, include, n.integer("divisor_override", 0))));
}

/// What an adaptive pooling makes of one dimension: result i is made of elements from floor(i in / out) to before
/// ceil((i + 1) in / out).
struct Adaptive {
  int64_t in = 0, out = 0;
  int64_t first(int64_t i) const { return i * in / out; }
  int64_t last(int64_t i) const { return ((i + 1) * in + out - 1) / out; }
  bool even() const { return out > 0 && in % out == 0; }
};

// The average along `axis` is a matrix product with the weights of each element.
ValueId average_axis(NodeContext& n, ValueId x, int axis, const Adaptive& a) {
  if (!n.ok() || a.in == a.out) return x;
  if (a.out == 1) return n.op(OpId::mean_out, {x, DimList{Dim(axis)}, true});
  std::vector<double> weights(a.in * a.out, 0);
  for (int64_t i = 0; i < a.out; ++i) {
    for (int64_t k = a.first(i); k < a.last(i); ++k) {
      weights[k * a.out + i] = 1 / static_cast<double>(a.last(i) - a.first(i));
    }
  }
  const ValueId matrix = n.view(n.numbers(n.dtype(x), weights, 1, 0), {Dim(a.in), Dim(a.out)});
  const int rank = n.rank(x);
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[axis], order.back());
  const ValueId last = n.permute(x, order);
  std::vector<Dim> shape = n.shape(last);
  if (!n.ok()) return {};
  const ValueId rows = n.view(last, {n.product(shape, 0, rank - 1), Dim(a.in)});
  shape.back() = Dim(a.out);
  return n.permute(n.view(n.op(OpId::mm_out, {rows, matrix}), shape), order);
}

ValueId largest_axis(NodeContext& n, ValueId x, int axis, const Adaptive& a) {
  if (!n.ok() || a.in == a.out) return x;
  ValueList parts;
  for (int64_t i = 0; i < a.out && n.ok(); ++i) {
    const ValueId part = n.slice(x, axis, Dim(a.first(i)), Dim(a.last(i)));
    parts.push_back(n.op(OpId::amax_out, {part, DimList{Dim(axis)}, true}));
  }
  if (!n.ok()) return {};
  return parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(axis)});
}

std::vector<Adaptive> read_adaptive(NodeContext& n, const Pooled& p) {
  const DimList sizes = n.dims("output_size");
  std::vector<Adaptive> axes;
  if (n.ok() && sizes.size() != p.rank && sizes.size() != 1)
    n.invalid("'output_size' does not have one number for each dimension");
  for (size_t i = 0; i < p.rank && n.ok(); ++i) {
    const Dim size = n.dim(p.x, static_cast<int>(i) + 2);
    const Dim wanted = sizes[sizes.size() == 1 ? 0 : i];
    Adaptive a;
    if (wanted == size) {
      a = {1, 1};
    } else if (wanted == Dim(1)) {
      a = {2, 1};  // whatever the size is
    } else {
      a = {n.fixed(size, "a size that is pooled adaptively"), n.fixed(wanted, "'output_size'")};
      if (n.ok() && (a.in < 1 || a.out < 1 || a.in > kMaxAdaptive || a.out > kMaxAdaptive)) {
        n.unsupported("an adaptive pooling of this size");
      }
    }
    axes.push_back(a);
  }
  return axes;
}

// Windows that are all alike are an ordinary pooling.
bool as_window(NodeContext& n, const Pooled& p, const std::vector<Adaptive>& axes, Window* window) {
  for (size_t i = 0; i < p.rank; ++i) {
    const Dim size = n.dim(p.x, static_cast<int>(i) + 2);
    if (!axes[i].even() || !size.is_constant()) return false;
    const int64_t step = axes[i].in == axes[i].out ? 1 : axes[i].out == 1 ? size.value : axes[i].in / axes[i].out;
    if (step < 1) return false;
    window->kernel.push_back(step);
    window->strides.push_back(step);
    window->dilations.push_back(1);
    window->begins.emplace_back(0);
    window->ends.emplace_back(0);
  }
  return true;
}

// Windows that depend on a size at run time: the operator for pictures knows them. False where there are none.
bool average_open(NodeContext& n, const Pooled& p) {
  DimList sizes = n.dims("output_size");
  if (!n.ok() || p.rank > 2 || sizes.size() != p.rank) return false;
  bool open = false;
  for (size_t i = 0; i < p.rank; ++i) {
    const Dim size = n.dim(p.x, static_cast<int>(i) + 2);
    const bool fixed = size.is_constant() && sizes[i].is_constant();
    open = open || (!fixed && sizes[i] != size && sizes[i] != Dim(1));
  }
  if (!open) return false;
  std::vector<Dim> shape = n.shape(p.x);
  ValueId x = p.x;
  if (p.rank == 1) {
    x = n.view(x, {shape[0], shape[1], Dim(1), shape[2]});
    sizes.insert(sizes.begin(), Dim(1));
  }
  const ValueId y = n.op(OpId::adaptive_avg_pool2d_out, {x, sizes});
  n.output(without_batch(n, p, p.rank == 1 ? n.view(y, {shape[0], shape[1], sizes[1]}) : y));
  return true;
}

template <size_t rank>
void import_adaptive_average(NodeContext& n) {
  const Pooled p = read_input(n, rank);
  if (average_open(n, p)) return;
  const std::vector<Adaptive> axes = read_adaptive(n, p);
  Window window;
  if (!n.ok()) return;
  bool all = true;
  DimList spatial_axes;
  for (size_t i = 0; i < rank; ++i) {
    all = all && axes[i].out == 1 && axes[i].in == 2;
    spatial_axes.emplace_back(static_cast<int64_t>(i) + 2);
  }
  if (all) return n.output(without_batch(n, p, n.op(OpId::mean_out, {p.x, spatial_axes, true})));
  if (as_window(n, p, axes, &window)) {
    return n.output(without_batch(n, p, lowering::average_pool(n, p.x, window, true)));
  }
  ValueId y = p.x;
  for (size_t i = 0; i < rank; ++i) y = average_axis(n, y, static_cast<int>(i) + 2, axes[i]);
  n.output(without_batch(n, p, y));
}

template <size_t rank>
void import_adaptive_max(NodeContext& n) {
  const Pooled p = read_input(n, rank);
  const std::vector<Adaptive> axes = read_adaptive(n, p);
  Window window;
  if (!n.ok()) return;
  if (as_window(n, p, axes, &window)) {
    const lowering::MaxPool pool = lowering::max_pool(n, p.x, window);
    n.output(without_batch(n, p, pool.values));
    if (pool.indices.valid()) return n.output(1, without_batch(n, p, pool.indices));
  } else {
    ValueId y = p.x;
    for (size_t i = 0; i < rank; ++i) {
      const bool whole = axes[i].out == 1 && axes[i].in == 2;
      const int axis = static_cast<int>(i) + 2;
      y = whole ? n.op(OpId::amax_out, {y, DimList{Dim(axis)}, true}) : largest_axis(n, y, axis, axes[i]);
    }
    n.output(without_batch(n, p, y));
  }
  n.unknown_output(1, "is the places of the largest elements, which are not known for windows of several sizes");
}

constexpr OperatorRow kPoolRows[] = {
    {"_adaptive_avg_pool2d", import_adaptive_average<2>},
    {"_adaptive_avg_pool3d", import_adaptive_average<3>},
    {"adaptive_avg_pool1d", import_adaptive_average<1>},
    {"adaptive_avg_pool2d", import_adaptive_average<2>},
    {"adaptive_avg_pool3d", import_adaptive_average<3>},
    {"adaptive_max_pool1d", import_adaptive_max<1>},
    {"adaptive_max_pool2d", import_adaptive_max<2>},
    {"adaptive_max_pool3d", import_adaptive_max<3>},
    {"avg_pool1d", import_avg_pool<1>},
    {"avg_pool2d", import_avg_pool<2>},
    {"avg_pool3d", import_avg_pool<3>},
    {"max_pool1d", import_max_pool<1>},
    {"max_pool1d_with_indices", import_max_pool<1>},
    {"max_pool2d", import_max_pool<2>},
    {"max_pool2d_with_indices", import_max_pool<2>},
    {"max_pool3d", import_max_pool<3>},
    {"max_pool3d_with_indices", import_max_pool<3>},
};

}  // namespace

OperatorTable pool_operators() { return kPoolRows; }

}  // namespace berth::pt2
