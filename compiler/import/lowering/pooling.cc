#include "compiler/import/lowering/pooling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace berth::lowering {
namespace {

/// Whether the kernels can pad an axis by themselves.
bool pads_inside(const Window& window, size_t axis) {
  const Dim begin = window.begins[axis];
  return begin.is_constant() && begin == window.ends[axis] && begin.value >= 0 &&
         2 * begin.value <= window.kernel[axis];
}

bool pads_inside(const Window& window) {
  if (window.rank() > 2) return false;
  for (size_t i = 0; i < window.rank(); ++i) {
    if (!pads_inside(window, i)) return false;
  }
  return true;
}

int64_t reach(const Window& window, size_t axis) { return (window.kernel[axis] - 1) * window.dilations[axis] + 1; }

/// The number of windows in a dimension of `size` elements. With `ceil`, a last window may hang over the padded end,
/// but not start behind the elements.
int64_t window_count(const Window& window, size_t axis, int64_t size) {
  const int64_t begin = window.begins[axis].value;
  const int64_t stride = window.strides[axis];
  const int64_t room = size + begin + window.ends[axis].value - reach(window, axis);
  if (room < 0) return 0;
  int64_t count = (room + (window.ceil ? stride - 1 : 0)) / stride + 1;
  if (window.ceil && (count - 1) * stride >= size + begin) --count;
  return count;
}

/// A pooling of [N, C, H, W].
struct Pooling2d {
  DimList kernel, strides, padding, dilations;  // of the two dimensions
};
using Pool2d = ValueId (*)(Lowering& n, ValueId x, const Pooling2d& p);

ValueId max_2d(Lowering& n, ValueId x, const Pooling2d& p) {
  return n.op(OpId::max_pool2d_with_indices_out, {x, p.kernel, p.strides, p.padding, p.dilations});
}

// Dilated sums are convolutions of each plane with ones.
ValueId sum_2d(Lowering& n, ValueId x, const Pooling2d& p) {
  if (p.dilations == DimList{Dim(1), Dim(1)}) {
    return n.op(OpId::avg_pool2d_out, {x, p.kernel, p.strides, p.padding, false, true, Dim(1)});
  }
  const std::vector<Dim> shape = n.shape(x);
  if (shape.size() != 4) return {};
  const ValueId planes = n.view(x, {n.product(shape, 0, 2), Dim(1), shape[2], shape[3]});
  const ValueId ones = n.splat(n.dtype(x), {Dim(1), Dim(1), p.kernel[0], p.kernel[1]}, 1.0);
  const DimList none{Dim(0), Dim(0)};
  const ValueId sums =
      n.op(OpId::convolution_out, {planes, ones, None(), p.strides, p.padding, p.dilations, false, none, Dim(1)});
  return n.view(sums, {shape[0], shape[1], n.dim(sums, 2), n.dim(sums, 3)});
}

/// `pool` over the spatial dimensions of `x`; what the kernels cannot pad is padded with `padding` before.
ValueId pool_windows(Lowering& n, ValueId x, const Window& w, double padding, Pool2d pool) {
  Window outside = w;
  std::vector<Dim> inside;
  for (size_t i = 0; i < w.rank(); ++i) {
    inside.push_back(pads_inside(w, i) ? w.begins[i] : Dim(0));
    if (pads_inside(w, i)) outside.begins[i] = outside.ends[i] = Dim(0);
  }
  x = pad_spatial(n, x, outside, padding);
  const std::vector<Dim> s = n.shape(x);
  if (!n.ok() || s.size() != w.rank() + 2) return {};
  // Over dimensions `a` and `b`; -1: over one of size 1.
  const auto over = [&](ValueId image, int a, int b) {
    Pooling2d p;
    for (const int i : {a, b}) {
      p.kernel.emplace_back(i < 0 ? 1 : w.kernel[i]);
      p.strides.emplace_back(i < 0 ? 1 : w.strides[i]);
      p.padding.push_back(i < 0 ? Dim(0) : inside[i]);
      p.dilations.emplace_back(i < 0 ? 1 : w.dilations[i]);
    }
    return pool(n, image, p);
  };
  if (w.rank() == 2) return over(x, 0, 1);
  if (w.rank() == 1) {
    const ValueId y = over(n.view(x, {s[0], s[1], Dim(1), s[2]}), -1, 0);
    return n.view(y, {s[0], s[1], n.dim(y, 3)});
  }
  const ValueId flat = over(n.view(x, {s[0], n.symbols().mul(s[1], s[2]), s[3], s[4]}), 1, 2);
  const Dim area = n.symbols().mul(n.dim(flat, 2), n.dim(flat, 3));
  const ValueId y = over(n.view(flat, {s[0], s[1], s[2], area}), 0, -1);
  return n.view(y, {s[0], s[1], n.dim(y, 2), n.dim(flat, 2), n.dim(flat, 3)});
}

/// One dimension becomes two, for the kernels' own arguments.
DimList pair(const DimList& numbers, Dim first) { return numbers.size() == 1 ? DimList{first, numbers[0]} : numbers; }
DimList pair(const std::vector<int64_t>& numbers) { return pair(ir::dims(numbers), Dim(1)); }

ValueId as_images(Lowering& n, ValueId x) {
  return n.rank(x) == 3 ? n.view(x, {n.dim(x, 0), n.dim(x, 1), Dim(1), n.dim(x, 2)}) : x;
}

ValueId as_input(Lowering& n, ValueId y, ValueId x) {
  return n.rank(x) == 3 ? n.view(y, {n.dim(y, 0), n.dim(y, 1), n.dim(y, 3)}) : y;
}

double lowest(DType dtype) {
  switch (dtype) {
    case DType::kI8: return -128;
    case DType::kI16: return -32768;
    case DType::kI32: return -2147483648.0;
    case DType::kI64: return -9223372036854775808.0;
    default: return is_floating(dtype) ? -HUGE_VAL : 0;
  }
}

/// How many elements each window of one dimension holds: those of the tensor, or those and its padding.
std::vector<float> counts_of(const Window& window, size_t axis, int64_t size, bool include_padding) {
  const int64_t begin = window.begins[axis].value;
  const int64_t low = include_padding ? 0 : begin;
  const int64_t high = begin + size + (include_padding ? window.ends[axis].value : 0);
  std::vector<float> counts;
  for (int64_t i = 0; i < window_count(window, axis, size); ++i) {
    float count = 0;
    for (int64_t k = 0; k < window.kernel[axis]; ++k) {
      const int64_t place = i * window.strides[axis] + k * window.dilations[axis];
      if (place >= low && place < high) count += 1;
    }
    counts.push_back(count);
  }
  return counts;
}

/// The divisors of the averages, a constant [1, 1, spatial…] of f32, for sizes that are numbers.
ValueId divisors(Lowering& n, ValueId x, const Window& window, bool include_padding) {
  std::vector<float> all{1};
  ir::TensorType type;
  type.shape = {Dim(1), Dim(1)};
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t size = n.dim(x, static_cast<int>(axis) + 2).value;
    const int64_t work = window_count(window, axis, size) * window.kernel[axis];
    if (work < 0 || work > (1 << 24)) n.unsupported("a pooled dimension this large needs equal padding");
    if (!n.ok()) return {};
    const std::vector<float> counts = counts_of(window, axis, size, include_padding);
    if (all.size() * counts.size() > (size_t{1} << 24)) n.unsupported("a pooled tensor this large needs equal padding");
    if (!n.ok()) return {};
    std::vector<float> next;
    for (float a : all) {
      for (float c : counts) next.push_back(a * c);
    }
    all = std::move(next);
    type.shape.emplace_back(static_cast<int64_t>(counts.size()));
  }
  std::vector<uint8_t> bytes(all.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
  return n.cast(n.constant(std::move(type), ir::Blob::owned(std::move(bytes))), n.dtype(x));
}

bool is_open(Lowering& n, ValueId x, const Window& window, size_t axis) {
  const Dim size = n.dim(x, static_cast<int>(axis) + 2);
  return !size.is_constant() || !window.begins[axis].is_constant() || !window.ends[axis].is_constant();
}

/// The same divisors where sizes are open: the sums over the windows of as many ones. `whole` is `window` without ceil.
ValueId open_divisors(Lowering& n, ValueId x, const Window& window, Window whole, bool include_padding) {
  DimList shape = n.shape(x);
  std::fill_n(shape.begin(), 2, Dim(1));
  ValueId ones = n.op(OpId::full_out, {shape, 1.0, number_of(n.dtype(x))});
  if (include_padding) {
    ones = pad_spatial(n, ones, window, 1);
    whole.begins.assign(whole.rank(), Dim(0));
    for (size_t i = 0; i < whole.rank(); ++i) whole.ends[i] = n.symbols().sub(whole.ends[i], window.ends[i]);
  }
  return sum_pool(n, ones, whole);
}

}  // namespace

Window resolve_ceil(Lowering& n, ValueId x, Window window) {
  for (size_t i = 0; i < window.rank() && window.ceil; ++i) {
    const int64_t stride = window.strides[i];
    if (is_open(n, x, window, i)) {
      // A stride less one of padding is enough for the last window, and what it does not need no other does.
      if (n.symbols().upper(window.ends[i]) + stride > reach(window, i)) {
        n.unsupported(
            "with ceil_mode and sizes that are not fixed, padding and stride together may not exceed the "
            "window; give the input a fixed shape with --input-shape");
      }
      window.ends[i] = n.symbols().add(window.ends[i], Dim(stride - 1));
      continue;
    }
    const int64_t size = n.dim(x, static_cast<int>(i) + 2).value;
    const int64_t count = window_count(window, i, size);
    const int64_t end = (count - 1) * stride + reach(window, i) - size - window.begins[i].value;
    window.ends[i] = Dim(std::max(end, int64_t{0}));
  }
  window.ceil = false;
  return window;
}

MaxPool max_pool(Lowering& n, ValueId x, const Window& window) {
  if (window.rank() > 3) n.unsupported("more than three spatial dimensions are not supported");
  if (!n.ok()) return {};
  if (pads_inside(window)) {
    const std::vector<ValueId> results =
        n.ops(OpId::max_pool2d_with_indices_out, {as_images(n, x), pair(window.kernel), pair(window.strides),
                                                  pair(window.begins, Dim(0)), pair(window.dilations), window.ceil});
    if (!n.ok()) return {};
    return {as_input(n, results[0], x), as_input(n, results[1], x)};
  }
  const Window whole = resolve_ceil(n, x, window);
  return {pool_windows(n, x, whole, lowest(n.dtype(x)), max_2d), {}};
}

ValueId average_pool(Lowering& n, ValueId x, const Window& window, bool include_padding, int64_t divisor) {
  if (window.rank() > 3) n.unsupported("more than three spatial dimensions are not supported");
  if (!n.ok()) return {};
  bool dilated = false;
  for (int64_t d : window.dilations) dilated = dilated || d != 1;
  if (!dilated && pads_inside(window)) {
    const Argument override = divisor == 0 ? Argument(None()) : Argument(Dim(divisor));
    const ValueId y = n.op(OpId::avg_pool2d_out, {as_images(n, x), pair(window.kernel), pair(window.strides),
                                                  pair(window.begins, Dim(0)), window.ceil, include_padding, override});
    return as_input(n, y, x);
  }
  const Window whole = resolve_ceil(n, x, window);
  const ValueId sums = sum_pool(n, x, whole);
  if (!n.ok()) return {};
  if (divisor != 0) return n.op(OpId::div_Scalar_out, {sums, static_cast<double>(divisor)});
  const bool uniform = !window.padded() || (include_padding && !window.ceil);
  double area = 1;
  for (int64_t k : window.kernel) area *= static_cast<double>(k);
  if (uniform && !window.ceil) return n.op(OpId::div_Scalar_out, {sums, area});
  bool open = false;
  for (size_t i = 0; i < window.rank(); ++i) open = open || is_open(n, x, window, i);
  return n.op(OpId::div_out, {sums, open ? open_divisors(n, x, window, whole, include_padding)
                                         : divisors(n, x, window, include_padding)});
}

ValueId sum_pool(Lowering& n, ValueId x, const Window& window) { return pool_windows(n, x, window, 0, sum_2d); }

}  // namespace berth::lowering
