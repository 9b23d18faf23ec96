#include "compiler/import/onnx/integer_product.h"

#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/quantize.h"
#include "compiler/import/onnx/window.h"

namespace berth::onnx {
namespace {

constexpr double kExact = 1 << 24;
constexpr size_t kMaxParts = 64;

/// Where what is summed over is cut: part i is [cuts[i], cuts[i + 1]).
using Cuts = std::vector<int64_t>;

/// A weight as [outer, summed over, inner], of which each (outer or inner, never both) index is a sum of its own.
struct Weight {
  int64_t outer = 1, steps = 1, inner = 1;
  bool sums_are_outer = false;  // [out, in, kernel] of convolutions; else [batch, k, columns]
};

double magnitude(int64_t element, double zero) { return std::abs(static_cast<double>(element) - zero); }

/// How far from 0 the sum of the magnitudes of one step may grow, for each sum.
class Growth {
 public:
  Growth(const Centred& weight, const Weight& shape, std::vector<uint8_t> bytes, bool is_signed)
      : weight_(weight), shape_(shape), bytes_(std::move(bytes)), signed_(is_signed) {}

  size_t sums() const { return shape_.sums_are_outer ? shape_.outer : shape_.inner * shape_.outer; }

  void add(int64_t step, std::vector<double>& to) const {
    for (int64_t o = 0; o < shape_.outer; ++o) {
      const int64_t row = (o * shape_.steps + step) * shape_.inner;
      for (int64_t i = 0; i < shape_.inner; ++i) {
        const int64_t sum = shape_.sums_are_outer ? o : o * shape_.inner + i;
        to[sum] += magnitude(at(row + i), zero(shape_.sums_are_outer ? o : i));
      }
    }
  }

 private:
  int64_t at(int64_t i) const {
    const uint8_t byte = bytes_[i];
    return signed_ ? static_cast<int8_t>(byte) : byte;
  }
  double zero(int64_t i) const { return weight_.zero.size() == 1 ? weight_.zero[0] : weight_.zero[i]; }

  const Centred& weight_;
  Weight shape_;
  std::vector<uint8_t> bytes_;
  bool signed_;
};

/// Cuts by what the elements may be: `step` is what one step can add. Empty where no cut helps.
Cuts even_cuts(double step, int64_t steps) {
  if (steps < 1) return {0, steps};
  const int64_t most = static_cast<int64_t>(kExact / std::max(step, 1.0));
  if (most < 1 || (steps + most - 1) / most > static_cast<int64_t>(kMaxParts)) return {};
  Cuts cuts;
  for (int64_t at = 0; at < steps; at += most) cuts.push_back(at);
  cuts.push_back(steps);
  return cuts;
}

/// Cuts by what a known weight's elements are, times `most`.
Cuts known_cuts(const Growth& growth, int64_t steps, double most) {
  Cuts cuts{0};
  std::vector<double> sums(growth.sums(), 0.0);
  std::vector<double> next;
  for (int64_t step = 0; step < steps; ++step) {
    next = sums;
    growth.add(step, next);
    const auto beyond = [&](double sum) { return sum * most > kExact; };
    if (std::any_of(next.begin(), next.end(), beyond)) {
      std::fill(sums.begin(), sums.end(), 0.0);
      growth.add(step, sums);
      if (std::any_of(sums.begin(), sums.end(), beyond) || cuts.size() == kMaxParts) return {};
      cuts.push_back(step);
    } else {
      sums.swap(next);
    }
  }
  cuts.push_back(steps);
  return cuts;
}

/// A known weight's bytes, unless they say nothing more than their type does.
std::optional<Growth> growth_of(NodeContext& n, const Centred& weight, const Weight& shape) {
  const ir::Constant* constant = n.constant_of(weight.integers);
  const size_t slices = shape.sums_are_outer ? shape.outer : shape.inner;
  if (constant == nullptr || constant->blob.is_splat() || constant->blob.size() == 0) return std::nullopt;
  if (weight.zero.empty() || (weight.zero.size() != 1 && weight.zero.size() != slices)) {
    return std::nullopt;
  }
  return Growth(weight, shape, constant->blob.to_vector(), constant->type.dtype == DType::kI8);
}

Cuts cuts_of(NodeContext& n, const Centred& x, const Centred& weight, const Weight& shape, double a_step) {
  const Cuts even = even_cuts(x.most * weight.most * a_step, shape.steps);
  if (even.size() == 2) return even;
  const std::optional<Growth> growth = growth_of(n, weight, shape);
  return growth.has_value() ? known_cuts(*growth, shape.steps, x.most) : even;
}

/// The sum of what `part(begin, end)` gives for every part.
template <typename Part>
ValueId sum_of_parts(NodeContext& n, const Cuts& cuts, bool as_f32, Part&& part) {
  if (cuts.size() == 2 && as_f32) return part(cuts[0], cuts[1]);
  ValueId sum;
  for (size_t i = 0; i + 1 < cuts.size() && n.ok(); ++i) {
    const ValueId one = n.cast(part(cuts[i], cuts[i + 1]), DType::kI32);
    sum = sum.valid() ? n.op(OpId::add_out, {sum, one}) : one;
  }
  return as_f32 ? n.cast(sum, DType::kF32) : sum;
}

ValueId through_f64(NodeContext& n, ValueId sums, bool as_f32) {
  const ValueId whole = n.cast(sums, DType::kI32);
  return as_f32 ? n.cast(whole, DType::kF32) : whole;
}

}  // namespace

Centred centred(NodeContext& n, ValueId x, size_t zero_point, const std::vector<Dim>& shape) {
  Centred c;
  c.integers = x;
  Limits limits{0, 255};
  if (n.ok() && n.dtype(x) != DType::kU8 && n.dtype(x) != DType::kI8) {
    n.unsupported("expected 8-bit integers, found " + n.type_text(x));
  }
  if (n.ok()) limits_of(n.dtype(x), &limits);
  c.value = n.cast(x, DType::kF32);
  if (!n.has_input(zero_point)) {
    c.zero = {0};
  } else {
    const std::optional<Known> known = n.known(zero_point);
    if (known.has_value() && known->is_constant() && !known->floating()) {
      for (const Number& number : known->elements) c.zero.push_back(static_cast<double>(number.whole.value));
    }
    const bool nothing = !c.zero.empty() && std::all_of(c.zero.begin(), c.zero.end(), [](double z) { return z == 0; });
    const ValueId zero = nothing ? ValueId() : n.cast(n.view(n.input(zero_point), shape), DType::kF32);
    if (zero.valid()) c.value = n.op(OpId::sub_out, {c.value, zero});
  }
  if (!c.zero.empty()) c.most = 0;
  for (const double zero : c.zero) {
    c.most = std::max({c.most, magnitude(limits.low, zero), magnitude(limits.high, zero)});
  }
  return c;
}

ValueId integer_matmul(NodeContext& n, const Centred& a, const Centred& b, bool as_f32) {
  const int rank_a = n.rank(a.value);
  const int rank_b = n.rank(b.value);
  if (n.ok() && (rank_a < 1 || rank_b < 1)) n.invalid("expected matrices");
  const int b_axis = std::max(rank_b - 2, 0);
  const Dim k = n.dim(b.value, b_axis);
  if (n.ok() && n.dim(a.value, rank_a - 1) != k) {
    n.invalid("inner dimensions do not fit: " + n.type_text(a.value) + " and " + n.type_text(b.value));
  }
  if (!n.ok()) return {};
  Cuts cuts;
  if (k.is_constant()) {
    Weight shape;
    shape.steps = k.value;
    const bool fixed = n.is_constant(b.integers);
    for (int i = 0; fixed && i < b_axis; ++i) shape.outer *= n.dim(b.value, i).value;
    for (int i = b_axis + 1; fixed && i < rank_b; ++i) shape.inner *= n.dim(b.value, i).value;
    cuts = cuts_of(n, a, b, shape, 1);
  }
  if (cuts.empty()) {
    const ValueId wide = lowering::matmul(n, n.cast(a.value, DType::kF64), n.cast(b.value, DType::kF64));
    return through_f64(n, wide, as_f32);
  }
  return sum_of_parts(n, cuts, as_f32, [&](int64_t begin, int64_t end) {
    if (begin == 0 && Dim(end) == k) return lowering::matmul(n, a.value, b.value);
    return lowering::matmul(n, n.slice(a.value, rank_a - 1, begin, end), n.slice(b.value, b_axis, begin, end));
  });
}

ValueId integer_convolution(NodeContext& n, const Centred& x, const Centred& weight, ValueId bias, bool as_f32) {
  const int64_t groups = n.integer("group", 1);
  const int rank = n.rank(weight.value);
  if (n.ok() && (groups < 1 || groups > INT32_MAX)) n.invalid("attribute 'group' must be at least 1, at most 2^31 - 1");
  if (n.ok() && (rank < 3 || n.rank(x.value) != rank)) {
    n.invalid("the weight " + n.type_text(weight.value) + " and the input " + n.type_text(x.value) +
              " must have the same number of dimensions, at least 3");
  }
  std::vector<int64_t> kernel;
  Weight shape;
  shape.sums_are_outer = true;
  for (int i = 2; i < rank; ++i) kernel.push_back(n.fixed(n.dim(weight.value, i), "the kernel's size"));
  shape.outer = n.fixed(n.dim(weight.value, 0), "the number of output channels");
  shape.steps = n.fixed(n.dim(weight.value, 1), "the number of input channels");
  const Window window = read_window(n, x.value, kernel);
  double elements = 1;
  for (int64_t size : kernel) elements *= static_cast<double>(size);
  if (n.ok() && n.dim(x.value, 1) != n.symbols().mul(Dim(shape.steps), Dim(groups))) {
    n.invalid("the weight " + n.type_text(weight.value) + " does not fit the channels of " + n.type_text(x.value));
  }
  if (!n.ok()) return {};
  for (int64_t size : kernel) shape.inner *= n.is_constant(weight.integers) ? size : 1;
  Cuts cuts = cuts_of(n, x, weight, shape, elements);
  if (cuts.size() > 2 && groups != 1) cuts.clear();
  ValueId sums;
  const bool whole = bias.valid() || !as_f32;
  if (cuts.empty()) {
    const ValueId wide_x = n.cast(x.value, DType::kF64);
    const ValueId wide = n.cast(weight.value, DType::kF64);
    sums = through_f64(n, lowering::convolution(n, {wide_x, wide, None(), groups}, window), !whole);
  } else {
    sums = sum_of_parts(n, cuts, !whole, [&](int64_t begin, int64_t end) {
      if (cuts.size() == 2) return lowering::convolution(n, {x.value, weight.value, None(), groups}, window);
      return lowering::convolution(
          n, {n.slice(x.value, 1, begin, end), n.slice(weight.value, 1, begin, end), None(), 1}, window);
    });
  }
  if (bias.valid()) {
    std::vector<Dim> along(rank, Dim(1));
    along[1] = Dim(shape.outer);
    sums = n.op(OpId::add_out, {sums, n.view(n.cast(bias, DType::kI32), along)});
  }
  return as_f32 ? n.cast(sums, DType::kF32) : sums;
}

}  // namespace berth::onnx
