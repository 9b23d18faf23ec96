// Reductions to one number an output: sums, products, means, extremes, variances, and where the extremes are.
#include <limits>

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "backends/cuda/kernels/spread.h"
#include "base/result.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/reduce.h"

namespace berth::cuda {
namespace {

using portable::can_cast;
using portable::compute_dtype;
using portable::is_real;
using portable::ReducedDims;
using portable::Walk;

enum class Fold : uint8_t { kSum, kProd, kMax, kMin, kAny };

// Which elements go into which output.
struct Layout {
  Places<2> outputs;  // out, self
  Places<1> elements;
  int64_t rows = 1;
  int64_t length = 1;
  bool rows_are_neighbours = false;
};

Layout layout_of(const Tensor& self, const Tensor& out, const ReducedDims& dims) {
  const Walk outer = portable::outer_walk(self, out, dims);
  // In the row-major order of the dimensions, by which an index counts.
  const Walk inner = portable::inner_walk(self, dims.mask, true);
  Layout layout;
  layout.outputs = Places<2>(outer);
  layout.elements = Places<1>(inner);
  layout.rows = outer.count;
  layout.length = inner.count;
  layout.rows_are_neighbours = inner.step(0) != 1 && outer.step(1) == 1;
  return layout;
}

// The offsets of a row in out and in self.
struct RowPlace {
  int64_t out;
  int64_t self;
};

BERTH_HD inline RowPlace row_place(const Places<2>& outputs, int64_t row) {
  int64_t offsets[2];
  outputs.at(row, offsets);
  return {offsets[0], offsets[1]};
}

BERTH_HD inline double combine(Fold fold, double s, double x) {
  switch (fold) {
    case Fold::kSum: return s + x;
    case Fold::kProd: return s * x;
    // Once NaN, a state stays so.
    case Fold::kMax: return x > s || x != x ? x : s;
    case Fold::kMin: return x < s || x != x ? x : s;
    case Fold::kAny: return s != 0 || x != 0 ? 1 : 0;
  }
  return s;
}

BERTH_HD inline int64_t combine(Fold fold, int64_t s, int64_t x) {
  switch (fold) {
    case Fold::kSum: return static_cast<int64_t>(static_cast<uint64_t>(s) + static_cast<uint64_t>(x));
    case Fold::kProd: return static_cast<int64_t>(static_cast<uint64_t>(s) * static_cast<uint64_t>(x));
    case Fold::kMax: return x > s ? x : s;
    case Fold::kMin: return x < s ? x : s;
    case Fold::kAny: return s != 0 || x != 0 ? 1 : 0;
  }
  return s;
}

// T is the type that elements are loaded as, S that of the state: double, or int64_t for whole numbers.
template <typename T, typename S>
struct FoldBody {
  using State = S;
  using Row = RowPlace;
  static constexpr bool kWrites = false;

  const void* self;
  void* out;
  DType self_dtype;
  DType through;
  DType out_dtype;
  Fold fold;
  S identity;
  double scale;
  int64_t length;
  Places<2> outputs;
  Places<1> elements;

  BERTH_HD Row row(int64_t i) const { return row_place(outputs, i); }
  BERTH_HD State start() const { return identity; }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const {
    const T x = rounded(load<T>(self, self_dtype, row.self + elements.at(k)), through);
    state = combine(fold, state, static_cast<S>(x));
  }
  BERTH_HD void merge(State& state, const State& other) const { state = combine(fold, state, other); }
  BERTH_HD void finish(const Row& row, State total) const {
    if constexpr (std::is_same_v<S, double>) total *= scale;
    store(out, out_dtype, row.out, total);
  }
};

double real_identity(Fold fold) {
  const double infinity = std::numeric_limits<double>::infinity();
  return fold == Fold::kProd ? 1 : fold == Fold::kMax ? -infinity : fold == Fold::kMin ? infinity : 0;
}
int64_t whole_identity(Fold fold) {
  using Limits = std::numeric_limits<int64_t>;
  return fold == Fold::kProd ? 1 : fold == Fold::kMax ? Limits::min() : fold == Fold::kMin ? Limits::max() : 0;
}

template <typename T, typename S>
Error run_fold(KernelContext& context, const Tensor& self, const Layout& layout, DType common, Fold fold, S identity,
               double scale, Tensor& out) {
  const bool rounds = (common == DType::kF16 || common == DType::kBF16) && self.dtype() != common;
  const FoldBody<T, S> body{self.raw(),    out.raw(),      self.dtype(),   rounds ? common : kUnrounded,
                            out.dtype(),   fold,           identity,       scale,
                            layout.length, layout.outputs, layout.elements};
  return for_rows(context, layout.rows, layout.rows_are_neighbours, body);
}

// Each element is converted to `common` first; the state times `scale` is stored. `result` is the dtype by PyTorch's
// rules.
Error run_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims, DType common, DType result,
                    Fold fold, double scale, Tensor& out) {
  if (!is_real(self.dtype()) || self.dtype() == DType::kU64 || !is_real(common) || !is_real(out.dtype())) {
    return portable::unsupported_dtype(context);
  }
  if (!can_cast(result, out.dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  const Layout layout = layout_of(self, out, dims);
  const double real = real_identity(fold);
  switch (compute_dtype(common)) {
    case DType::kF32: return run_fold<float, double>(context, self, layout, common, fold, real, scale, out);
    case DType::kF64: return run_fold<double, double>(context, self, layout, common, fold, real, scale, out);
    default: return run_fold<int64_t, int64_t>(context, self, layout, common, fold, whole_identity(fold), scale, out);
  }
}

int64_t reduced_elements(const Tensor& self, uint32_t mask, int64_t* kept) {
  int64_t reduced = 1;
  *kept = 1;
  for (int d = 0; d < self.rank(); ++d) ((mask >> d & 1u) != 0 ? reduced : *kept) *= self.size(d);
  return reduced;
}

Error run_sum(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
              Fold fold, Tensor& out) {
  DType common = DType::kF32;
  BERTH_RETURN_IF_ERROR(portable::read_sum_dtype(context, self, dtype, &common));
  return run_reduction(context, self, dims, common, common, fold, 1, out);
}

Error run_mean(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
               Tensor& out) {
  DType common = self.dtype();
  if (dtype.has_value()) BERTH_RETURN_IF_ERROR(portable::read_sum_dtype(context, self, dtype, &common));
  if (!is_floating(common)) {
    return context.fail(Error::kInvalidArgument, "mean is of floating-point numbers; pass dtype for whole ones");
  }
  int64_t kept = 1;
  const int64_t count = reduced_elements(self, dims.mask, &kept);
  return run_reduction(context, self, dims, common, common, Fold::kSum, 1 / static_cast<double>(count), out);
}

Error check_not_empty(KernelContext& context, const Tensor& self, uint32_t mask) {
  int64_t kept = 1;
  if (reduced_elements(self, mask, &kept) != 0 || kept == 0) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
}

Error run_extreme(KernelContext& context, const Tensor& self, const ReducedDims& dims, Fold fold, Tensor& out) {
  BERTH_RETURN_IF_ERROR(check_not_empty(context, self, dims.mask));
  return run_reduction(context, self, dims, self.dtype(), self.dtype(), fold, 1, out);
}

template <typename Args>
Error run_extreme_dims(KernelContext& context, const Args& args, Fold fold) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  return run_extreme(context, self, dims, fold, args.out);
}

Error run_any(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  return run_reduction(context, self, dims, self.dtype(), DType::kBool, Fold::kAny, 1, out);
}

// --- Where the extremes are.

template <typename S>
struct Best {
  S value;
  int64_t index;
};

template <typename S>
struct BestBody {
  using State = Best<S>;
  using Row = RowPlace;
  static constexpr bool kWrites = false;

  const void* self;
  void* values;  // may be null
  int64_t* indices;
  DType self_dtype;
  DType values_dtype;
  bool largest;
  int64_t length;
  Places<2> outputs;
  Places<1> elements;

  // Nothing is better than a NaN; of equals the first one counts. An index of -1 stands for no element.
  BERTH_HD bool is_better(const State& a, const State& b) const {
    if (a.index < 0 || b.index < 0) return a.index >= 0;
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.index < b.index);
    if (a.value == b.value) return a.index < b.index;
    return largest ? a.value > b.value : a.value < b.value;
  }

  BERTH_HD Row row(int64_t i) const { return row_place(outputs, i); }
  BERTH_HD State start() const { return {S(0), -1}; }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const {
    merge(state, {load<S>(self, self_dtype, row.self + elements.at(k)), k});
  }
  BERTH_HD void merge(State& state, const State& other) const {
    if (is_better(other, state)) state = other;
  }
  BERTH_HD void finish(const Row& row, const State& total) const {
    indices[row.out] = total.index;
    if (values != nullptr) store(values, values_dtype, row.out, total.value);
  }
};

struct Outputs {
  Tensor* values;  // may be null
  Tensor* indices;
};

template <typename S>
Error run_best(KernelContext& context, const Tensor& self, const Layout& layout, bool largest, const Outputs& outputs) {
  const BestBody<S> body{self.raw(),
                         outputs.values == nullptr ? nullptr : outputs.values->raw(),
                         outputs.indices->data<int64_t>(),
                         self.dtype(),
                         outputs.values == nullptr ? DType::kF32 : outputs.values->dtype(),
                         largest,
                         layout.length,
                         layout.outputs,
                         layout.elements};
  return for_rows(context, layout.rows, layout.rows_are_neighbours, body);
}

Error run_index_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims, bool largest,
                          const Outputs& outputs) {
  if (!is_real(self.dtype()) || self.dtype() == DType::kU64) return portable::unsupported_dtype(context);
  if (outputs.indices->dtype() != DType::kI64) {
    return context.fail(Error::kInvalidArgument, "the tensor of indices must be i64");
  }
  if (outputs.values != nullptr && !can_cast(self.dtype(), outputs.values->dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  BERTH_RETURN_IF_ERROR(check_not_empty(context, self, dims.mask));
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, *outputs.indices));
  if (outputs.values != nullptr) {
    BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, *outputs.values));
    if (!portable::same_layout(*outputs.values, *outputs.indices)) {
      return context.fail(Error::kInvalidArgument, "values and indices must have the same dimension order");
    }
  }
  const Layout layout = layout_of(self, *outputs.indices, dims);
  switch (compute_dtype(self.dtype())) {
    case DType::kF32: return run_best<float>(context, self, layout, largest, outputs);
    case DType::kF64: return run_best<double>(context, self, layout, largest, outputs);
    default: return run_best<int64_t>(context, self, layout, largest, outputs);
  }
}

template <typename Args>
Error run_arg(KernelContext& context, const Args& args, bool largest) {
  const Tensor& self = args.self;
  if (self.dtype() == DType::kBool) return portable::unsupported_dtype(context);
  ReducedDims dims = {portable::all_dims(self), args.keepdim};
  if (args.dim.has_value()) {
    dims.mask = 0;
    BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, *args.dim, self, &dims.mask));
  }
  return run_index_reduction(context, self, dims, largest, {nullptr, &args.out});
}

template <typename Args>
Error run_with_indices(KernelContext& context, const Args& args, bool largest, const Outputs& outputs) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, args.self, &dims.mask));
  return run_index_reduction(context, args.self, dims, largest, outputs);
}

}  // namespace

Error sum_IntList_out(KernelContext& context, const arguments::sum_IntList_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  return run_sum(context, self, dims, args.dtype, Fold::kSum, args.out);
}

Error prod_int_out(KernelContext& context, const arguments::prod_int_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, self, &dims.mask));
  return run_sum(context, self, dims, args.dtype, Fold::kProd, args.out);
}

Error prod_out(KernelContext& context, const arguments::prod_out& args) {
  const Tensor& self = args.self;
  return run_sum(context, self, {portable::all_dims(self), false}, args.dtype, Fold::kProd, args.out);
}

Error mean_out(KernelContext& context, const arguments::mean_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  return run_mean(context, self, dims, args.dtype, args.out);
}

Error mean_dtype_out(KernelContext& context, const arguments::mean_dtype_out& args) {
  const Tensor& self = args.self;
  return run_mean(context, self, {portable::all_dims(self), false}, args.dtype, args.out);
}

Error amax_out(KernelContext& context, const arguments::amax_out& args) {
  return run_extreme_dims(context, args, Fold::kMax);
}
Error amin_out(KernelContext& context, const arguments::amin_out& args) {
  return run_extreme_dims(context, args, Fold::kMin);
}

Error max_unary_out(KernelContext& context, const arguments::max_unary_out& args) {
  const Tensor& self = args.self;
  return run_extreme(context, self, {portable::all_dims(self), false}, Fold::kMax, args.out);
}
Error min_unary_out(KernelContext& context, const arguments::min_unary_out& args) {
  const Tensor& self = args.self;
  return run_extreme(context, self, {portable::all_dims(self), false}, Fold::kMin, args.out);
}

Error any_all_out(KernelContext& context, const arguments::any_all_out& args) {
  const Tensor& self = args.self;
  return run_any(context, self, {portable::all_dims(self), false}, args.out);
}

Error any_out(KernelContext& context, const arguments::any_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dim(context, args.dim, self, &dims.mask));
  return run_any(context, self, dims, args.out);
}

// Unlike in other reductions, an empty list here reduces nothing.
Error any_dims_out(KernelContext& context, const arguments::any_dims_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (!args.dim.has_value() || !args.dim->empty()) {
    BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  }
  return run_any(context, self, dims, args.out);
}

Error argmax_out(KernelContext& context, const arguments::argmax_out& args) { return run_arg(context, args, true); }
Error argmin_out(KernelContext& context, const arguments::argmin_out& args) { return run_arg(context, args, false); }
Error max_dim_max(KernelContext& context, const arguments::max_dim_max& args) {
  return run_with_indices(context, args, true, {&args.max, &args.max_values});
}
Error min_dim_min(KernelContext& context, const arguments::min_dim_min& args) {
  return run_with_indices(context, args, false, {&args.min, &args.min_indices});
}

// --- Variance.

namespace {

struct VarianceBody {
  using State = Spread;
  using Row = RowPlace;
  static constexpr bool kWrites = false;

  const void* self;
  void* out;
  DType self_dtype;
  DType out_dtype;
  double divisor;
  int64_t length;
  Places<2> outputs;
  Places<1> elements;

  BERTH_HD Row row(int64_t i) const { return row_place(outputs, i); }
  BERTH_HD State start() const { return {}; }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const {
    state.take(load<double>(self, self_dtype, row.self + elements.at(k)));
  }
  BERTH_HD void merge(State& state, const State& other) const { state.merge(other); }
  BERTH_HD void finish(const Row& row, const State& total) const {
    store(out, out_dtype, row.out, total.squares / divisor);
  }
};

Error run_var(KernelContext& context, const Tensor& self, const ReducedDims& dims, double correction, Tensor& out) {
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "var takes floating-point tensors only");
  }
  BERTH_RETURN_IF_ERROR(portable::resize_reduced(context, self, dims, out));
  const Layout layout = layout_of(self, out, dims);
  const double freedom = static_cast<double>(layout.length) - correction;
  const VarianceBody body{self.raw(),    out.raw(),      self.dtype(),   out.dtype(), freedom > 0 ? freedom : 0,
                          layout.length, layout.outputs, layout.elements};
  return for_rows(context, layout.rows, layout.rows_are_neighbours, body);
}

double read_correction(const EValue& correction) { return correction.is_none() ? 1 : correction.scalar_to<double>(); }

}  // namespace

Error var_out(KernelContext& context, const arguments::var_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  return run_var(context, self, dims, args.unbiased ? 1 : 0, args.out);
}

Error var_correction_out(KernelContext& context, const arguments::var_correction_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, self, &dims.mask));
  return run_var(context, self, dims, read_correction(args.correction), args.out);
}

Error var_mean_correction_out(KernelContext& context, const arguments::var_mean_correction_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(portable::read_reduced_dims(context, args.dim, args.self, &dims.mask));
  BERTH_RETURN_IF_ERROR(run_var(context, args.self, dims, read_correction(args.correction), args.out0));
  return run_mean(context, args.self, dims, std::nullopt, args.out1);
}

}  // namespace berth::cuda
