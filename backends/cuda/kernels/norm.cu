// What looks at a whole row before it writes it: softmax, layer and group normalisation; and batch normalisation with
// given statistics, running sums.
#include <cmath>
#include <limits>

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/ops.h"
#include "backends/cuda/kernels/place.h"
#include "backends/cuda/kernels/row_norm.h"
#include "backends/cuda/kernels/spread.h"
#include "base/result.h"
#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/reduce.h"

namespace berth::cuda {
namespace {

using portable::resize_out;
using portable::Sizes;
using portable::Walk;

// A tensor that may be none, as the device reads it: null gives `otherwise`.
struct Optional {
  const void* base = nullptr;
  DType dtype = DType::kF32;

  Optional() = default;
  explicit Optional(const Tensor* tensor) {
    if (tensor == nullptr) return;
    base = tensor->raw();
    dtype = tensor->dtype();
  }
  BERTH_HD double at(int64_t index, double otherwise) const {
    return base == nullptr ? otherwise : load<double>(base, dtype, index);
  }
};

// --- Softmax: the largest element and the sum of exp(x - largest), both at once.

template <typename T>
struct SoftmaxBody {
  struct State {
    T largest;
    T sum;
  };
  struct Row {
    int64_t out;
    int64_t self;
  };
  using Written = State;  // of `log`, the sum's logarithm
  static constexpr bool kWrites = true;

  const void* self;
  void* out;
  DType self_dtype;
  DType out_dtype;
  bool log;
  int64_t length;
  int64_t out_step;
  int64_t self_step;
  T lowest;  // -infinity
  Places<2> rows;

  BERTH_HD Row row(int64_t i) const {
    int64_t offsets[2];
    rows.at(i, offsets);
    return {offsets[0], offsets[1]};
  }
  BERTH_HD State start() const { return {lowest, T(0)}; }
  BERTH_HD T element(const Row& row, int64_t k) const { return load<T>(self, self_dtype, row.self + k * self_step); }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const { merge(state, {element(row, k), T(1)}); }
  // exp(x - largest). A state that has seen nothing but -infinity is not scaled until something is larger; a NaN and
  // the difference of two positive infinities must reach the sum.
  BERTH_HD T scale(T x, T largest) const { return x == largest && largest == lowest ? T(1) : ops::exp_of(x - largest); }
  BERTH_HD void merge(State& state, const State& other) const {
    if (other.sum == T(0)) return;
    const T largest = state.largest >= other.largest ? state.largest : other.largest;
    state.sum = (state.sum == T(0) ? T(0) : state.sum * scale(state.largest, largest)) +
                other.sum * scale(other.largest, largest);
    state.largest = largest;
  }
  BERTH_HD void finish(const Row&, const State&) const {}
  BERTH_HD Written written(const State& total) const {
    return {total.largest, log ? ops::log_of(total.sum) : total.sum};
  }
  BERTH_HD void write(const Row& row, int64_t k, const Written& total) const {
    const T x = element(row, k) - total.largest;
    const T y = log ? x - total.sum : ops::exp_of(x) / total.sum;
    store(out, out_dtype, row.out + k * out_step, y);
  }
};

template <typename T>
Error run_softmax_typed(KernelContext& context, const Tensor& self, Tensor& out, int dim, bool log) {
  const Tensor* tensors[] = {&out, &self};
  const Walk rows = portable::walk_dims(tensors, ~(uint32_t{1} << dim));
  const Walk row = portable::walk_dims(tensors, uint32_t{1} << dim);
  const SoftmaxBody<T> body{self.raw(),     out.raw(),   self.dtype(),
                            out.dtype(),    log,         row.count,
                            row.step(0),    row.step(1), -std::numeric_limits<T>::infinity(),
                            Places<2>(rows)};
  return for_rows(context, rows.count, row.step(1) != 1 && rows.step(1) == 1, body);
}

template <typename Args>
Error run_softmax(KernelContext& context, const Args& args, bool log) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  if (!portable::normalize_dim(args.dim, self.rank(), &dim)) {
    return context.fail(Error::kInvalidArgument, "softmax's dimension is out of range");
  }
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "softmax takes floating-point tensors only");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, self.sizes()));
  if (out.numel() == 0) return Error::kOk;
  return self.dtype() == DType::kF64 ? run_softmax_typed<double>(context, self, out, dim, log)
                                     : run_softmax_typed<float>(context, self, out, dim, log);
}

// --- Mean and variance of a row, then x * scale + shift.

struct NormBody {
  using State = Spread;
  struct Row {
    int64_t self;
    int64_t out;
    int64_t mean;
    int64_t rstd;
    int64_t channel;  // of the first element; groups only
  };
  struct Written {
    double mean;
    double rstd;
  };
  static constexpr bool kWrites = true;

  const void* self;
  void* out;
  void* mean;
  void* rstd;
  DType self_dtype;
  DType out_dtype;
  DType mean_dtype;
  DType rstd_dtype;
  Optional weight;
  Optional bias;
  double eps;
  int64_t length;
  int64_t groups;  // 0: weight and bias are one an element of the row; else one a channel
  int64_t group_channels;
  int64_t plane;
  Places<4> rows;      // self, out, mean, rstd
  Places<2> elements;  // self, out

  BERTH_HD Row row(int64_t i) const {
    int64_t at[4];
    rows.at(i, at);
    return {at[0], at[1], at[2], at[3], groups == 0 ? 0 : divide(i, groups).rest * group_channels};
  }
  BERTH_HD State start() const { return {}; }
  BERTH_HD void take(State& state, const Row& row, int64_t k) const {
    int64_t at[2];
    elements.at(k, at);
    state.take(load<double>(self, self_dtype, row.self + at[0]));
  }
  BERTH_HD void merge(State& state, const State& other) const { state.merge(other); }
  BERTH_HD double deviation(const State& total) const { return 1 / ops::sqrt_of(total.squares / total.count + eps); }
  BERTH_HD void finish(const Row& row, const State& total) const {
    store(mean, mean_dtype, row.mean, total.mean);
    store(rstd, rstd_dtype, row.rstd, deviation(total));
  }
  BERTH_HD Written written(const State& total) const { return {total.mean, deviation(total)}; }
  BERTH_HD void write(const Row& row, int64_t k, const Written& total) const {
    int64_t at[2];
    elements.at(k, at);
    const int64_t parameter = groups == 0 ? k : row.channel + divide(k, plane).quotient;
    const double x = load<double>(self, self_dtype, row.self + at[0]);
    const double y = (x - total.mean) * total.rstd * weight.at(parameter, 1) + bias.at(parameter, 0);
    store(out, out_dtype, row.out + at[1], y);
  }
};

Error require_floating(KernelContext& context, Span<const Tensor* const> tensors) {
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr && !is_floating(tensor->dtype())) {
      return context.fail(Error::kInvalidArgument, "a normalisation takes floating-point tensors only");
    }
  }
  return Error::kOk;
}

NormBody norm_body(const Tensor& input, Tensor& out, Tensor& mean, Tensor& rstd, const Tensor* weight,
                   const Tensor* bias, double eps) {
  NormBody body{};
  body.self = input.raw();
  body.out = out.raw();
  body.mean = mean.raw();
  body.rstd = rstd.raw();
  body.self_dtype = input.dtype();
  body.out_dtype = out.dtype();
  body.mean_dtype = mean.dtype();
  body.rstd_dtype = rstd.dtype();
  body.weight = Optional(weight);
  body.bias = Optional(bias);
  body.eps = eps;
  return body;
}

Error check_affine(KernelContext& context, const Tensor& input, int leading, Span<const Tensor* const> affines) {
  for (const Tensor* affine : affines) {
    if (affine == nullptr) continue;
    bool same = affine->rank() == input.rank() - leading;
    for (int i = 0; same && i < affine->rank(); ++i) same = affine->size(i) == input.size(leading + i);
    if (!same || !affine->is_contiguous()) {
      return context.fail(Error::kInvalidArgument,
                          "weight and bias must be contiguous and have the sizes of normalized_shape");
    }
  }
  return Error::kOk;
}

// Without `in` where something is not f32, or lies in another order than the rows. REQUIRES: results have their sizes.
RowNorm row_norm_of(const arguments::native_layer_norm_out& args) {
  const auto is_plain = [](const Tensor& tensor) { return tensor.dtype() == DType::kF32 && tensor.is_contiguous(); };
  for (const Tensor* tensor : {&args.input, static_cast<const Tensor*>(&args.out0),
                               static_cast<const Tensor*>(&args.out1), static_cast<const Tensor*>(&args.out2)}) {
    if (!is_plain(*tensor) || tensor->numel() == 0) return {};
  }
  for (const Tensor* affine : {args.weight, args.bias}) {
    if (affine != nullptr && !is_plain(*affine)) return {};
  }
  return {args.input.data<float>(),
          args.out0.data<float>(),
          args.out1.data<float>(),
          args.out2.data<float>(),
          args.weight == nullptr ? nullptr : args.weight->data<float>(),
          args.bias == nullptr ? nullptr : args.bias->data<float>(),
          args.input.numel() / args.out1.numel(),
          args.eps};
}

}  // namespace

Error softmax_out(KernelContext& context, const arguments::softmax_out& args) {
  return run_softmax(context, args, false);
}
Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args) {
  return run_softmax(context, args, true);
}

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args) {
  const Tensor& input = args.input;
  const IntList shape = args.normalized_shape;
  const Tensor* affines[] = {args.weight, args.bias};
  Tensor& out = args.out0;
  Tensor& mean = args.out1;
  Tensor& rstd = args.out2;
  const int leading = input.rank() - static_cast<int>(shape.size());
  if (leading < 0 || leading == input.rank()) {
    return context.fail(Error::kInvalidArgument,
                        "normalized_shape must have from one to all of the input's dimensions");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != input.size(leading + static_cast<int>(i))) {
      return context.fail(Error::kInvalidArgument, "normalized_shape must be the last sizes of the input");
    }
  }
  BERTH_RETURN_IF_ERROR(check_affine(context, input, leading, affines));
  const Tensor* tensors[] = {&input, &out, &mean, &rstd, affines[0], affines[1]};
  BERTH_RETURN_IF_ERROR(require_floating(context, tensors));
  Sizes sizes;
  for (int d = 0; d < input.rank(); ++d) portable::push_size(&sizes, d < leading ? input.size(d) : 1);
  BERTH_RETURN_IF_ERROR(resize_out(context, out, input.sizes()));
  BERTH_RETURN_IF_ERROR(resize_out(context, mean, sizes.span()));
  BERTH_RETURN_IF_ERROR(resize_out(context, rstd, sizes.span()));
  if (const RowNorm norm = row_norm_of(args); norm.in != nullptr && norm.length > 0) {
    Error error = Error::kOk;
    if (launch_row_norm(context, norm, mean.numel(), &error)) return error;
  }
  Walk rows(4);
  Walk elements(2);
  for (int d = 0; d < input.rank(); ++d) {
    const int64_t strides[] = {input.stride(d), out.stride(d), mean.stride(d), rstd.stride(d)};
    if (d < leading) rows.add(input.size(d), strides);
    if (d >= leading) elements.add(input.size(d), strides);
  }
  NormBody body = norm_body(input, out, mean, rstd, affines[0], affines[1], args.eps);
  body.length = elements.count;
  body.rows = Places<4>(rows);
  body.elements = Places<2>(elements);
  return for_rows(context, rows.count, false, body);
}

Error native_group_norm_out(KernelContext& context, const arguments::native_group_norm_out& args) {
  const Tensor& input = args.input;
  const Tensor* weight = args.weight;
  const Tensor* bias = args.bias;
  const int64_t groups = args.group;
  Tensor& out = args.out0;
  Tensor& mean = args.out1;
  Tensor& rstd = args.out2;
  const bool match = input.rank() >= 2 && input.size(0) == args.N && input.size(1) == args.C && groups > 0 &&
                     groups <= INT32_MAX && input.size(1) % groups == 0;
  if (!match) {
    return context.fail(Error::kInvalidArgument, "N and C must be the input's sizes, and groups must divide C");
  }
  for (const Tensor* affine : {weight, bias}) {
    if (affine != nullptr && (affine->rank() != 1 || affine->size(0) != input.size(1))) {
      return context.fail(Error::kInvalidArgument, "weight and bias must have one element a channel");
    }
  }
  const Tensor* tensors[] = {&input, &out, &mean, &rstd, weight, bias};
  BERTH_RETURN_IF_ERROR(require_floating(context, tensors));
  const int32_t sizes[] = {static_cast<int32_t>(input.size(0)), static_cast<int32_t>(groups)};
  BERTH_RETURN_IF_ERROR(resize_out(context, out, input.sizes()));
  BERTH_RETURN_IF_ERROR(resize_out(context, mean, sizes));
  BERTH_RETURN_IF_ERROR(resize_out(context, rstd, sizes));
  if (input.size(0) * input.size(1) == 0) return Error::kOk;
  const int64_t group_channels = input.size(1) / groups;
  Walk rows(4);
  const int64_t images[] = {input.stride(0), out.stride(0), mean.stride(0), rstd.stride(0)};
  const int64_t blocks[] = {group_channels * input.stride(1), group_channels * out.stride(1), mean.stride(1),
                            rstd.stride(1)};
  rows.add(input.size(0), images);
  rows.add(groups, blocks);
  Walk elements(2);
  int64_t plane = 1;
  for (int d = 1; d < input.rank(); ++d) {
    const int64_t strides[] = {input.stride(d), out.stride(d)};
    elements.add(d == 1 ? group_channels : input.size(d), strides);
    if (d > 1) plane *= input.size(d);
  }
  NormBody body = norm_body(input, out, mean, rstd, weight, bias, args.eps);
  body.length = elements.count;
  body.groups = groups;
  body.group_channels = group_channels;
  body.plane = plane;
  body.rows = Places<4>(rows);
  body.elements = Places<2>(elements);
  return for_rows(context, rows.count, false, body);
}

// --- Batch normalisation with the running statistics.

namespace {

// x * scale + shift of one channel.
struct ScaleAndShift {
  double scale;
  double shift;
};

struct ChannelStatistics {
  Optional weight;
  Optional bias;
  Optional mean;
  Optional variance;
  double eps;

  BERTH_HD ScaleAndShift of(int64_t channel) const {
    const double scale = weight.at(channel, 1) / ops::sqrt_of(variance.at(channel, 1) + eps);
    return {scale, bias.at(channel, 0) - mean.at(channel, 0) * scale};
  }
};

// A division and a root in double for each channel, not for each element.
struct ChannelBody {
  ChannelStatistics statistics;
  ScaleAndShift* channels;

  BERTH_HD void operator()(int64_t channel) const { channels[channel] = statistics.of(channel); }
};

struct BatchNormBody {
  const void* self;
  void* out;
  DType self_dtype;
  DType out_dtype;
  ChannelStatistics statistics;
  const ScaleAndShift* channels;  // null: there is no room for them
  Places<3> places;               // out, self, channel

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[3];
    places.at(i, at);
    const ScaleAndShift channel = channels == nullptr ? statistics.of(at[2]) : channels[at[2]];
    store(out, out_dtype, at[0], load<double>(self, self_dtype, at[1]) * channel.scale + channel.shift);
  }
};

}  // namespace

Error native_batch_norm_legit_no_training_out(KernelContext& context,
                                              const arguments::native_batch_norm_legit_no_training_out& args) {
  const Tensor& input = args.input;
  const Tensor* parameters[] = {args.weight, args.bias, &args.running_mean, &args.running_var};
  Tensor& out = args.out0;
  if (input.rank() < 2) {
    return context.fail(Error::kInvalidArgument, "batch_norm takes tensors of at least two dimensions");
  }
  for (const Tensor* parameter : parameters) {
    if (parameter == nullptr) continue;
    if (parameter->rank() != 1 || parameter->size(0) != input.size(1) || !is_floating(parameter->dtype())) {
      return context.fail(Error::kInvalidArgument,
                          "weight, bias and statistics must be floating and have one element a channel");
    }
  }
  const Tensor* tensors[] = {&input, &out};
  BERTH_RETURN_IF_ERROR(require_floating(context, tensors));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, input.sizes()));
  const int32_t none[] = {0};
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out1, none));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out2, none));
  Walk walk(3);
  for (const uint8_t d : out.dim_order()) {
    const int64_t strides[] = {out.stride(d), input.stride(d), d == 1 ? 1 : 0};
    walk.add(out.size(d), strides);
  }
  const ChannelStatistics statistics{Optional(parameters[0]), Optional(parameters[1]), Optional(parameters[2]),
                                     Optional(parameters[3]), args.eps};
  const Queue queue = queue_of(context);
  const int64_t room = static_cast<int64_t>(queue.scratch_bytes / sizeof(ScaleAndShift));
  auto* const channels = input.size(1) <= room ? static_cast<ScaleAndShift*>(queue.scratch) : nullptr;
  if (channels != nullptr && out.numel() > 0) {
    BERTH_RETURN_IF_ERROR(for_each(context, input.size(1), ChannelBody{statistics, channels}));
  }
  const BatchNormBody body{input.raw(), out.raw(), input.dtype(), out.dtype(), statistics, channels, Places<3>(walk)};
  return for_each(context, out.numel(), body);
}

// --- Running sums, a thread for each line; of few long lines, one for each part of a line, in three launches: the sum
// of each part, what goes before each part, the running sums from there on. The sizes alone say how many parts there
// are.

namespace {

template <typename T, typename S>
struct RunningSumBody {
  const void* self;
  void* out;
  DType self_dtype;
  DType through;
  DType out_dtype;
  int64_t size;
  int64_t out_step;
  int64_t self_step;
  Places<2> lines;  // out, self

  // Part i % parts of line i / parts, of `part` elements; the last one may be shorter.
  int64_t parts;
  int64_t part;
  S* sums;  // before each part; null for whole lines

  BERTH_HD int64_t begin_of(int64_t i) const { return i % parts * part; }
  BERTH_HD int64_t end_of(int64_t i) const {
    const int64_t end = begin_of(i) + part;
    return end < size ? end : size;
  }
  BERTH_HD S element(int64_t line, int64_t k) const {
    return static_cast<S>(rounded(load<T>(self, self_dtype, line + k * self_step), through));
  }

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[2];
    lines.at(i / parts, at);
    S sum = sums == nullptr ? S(0) : sums[i];
    for (int64_t k = begin_of(i); k < end_of(i); ++k) {
      sum += element(at[1], k);
      if constexpr (std::is_same_v<S, uint64_t>) {
        store(out, out_dtype, at[0] + k * out_step, static_cast<int64_t>(sum));
      } else {
        store(out, out_dtype, at[0] + k * out_step, sum);
      }
    }
  }
};

template <typename T, typename S>
struct PartSumBody {
  RunningSumBody<T, S> body;

  BERTH_HD void operator()(int64_t i) const {
    int64_t at[2];
    body.lines.at(i / body.parts, at);
    S sum = 0;
    for (int64_t k = body.begin_of(i); k < body.end_of(i); ++k) sum += body.element(at[1], k);
    body.sums[i] = sum;
  }
};

// The parts' sums become what goes before each part.
template <typename S>
struct BeforePartsBody {
  S* sums;
  int64_t parts;

  BERTH_HD void operator()(int64_t line) const {
    S before = 0;
    for (int64_t i = line * parts; i < (line + 1) * parts; ++i) {
      const S sum = sums[i];
      sums[i] = before;
      before += sum;
    }
  }
};

// A line's root, so that neither launch is long: sums of parts, and of what is before them. 1 where lines are many or
// short.
int64_t parts_of_line(const Queue& queue, int64_t lines, int64_t size, size_t sum_bytes) {
  constexpr int64_t kLong = 4096;
  if (size < kLong || lines > kEnoughParts || queue.scratch == nullptr) return 1;
  int64_t parts = 1;
  while (parts < 4096 && parts * parts < size) parts *= 2;
  return lines * parts * static_cast<int64_t>(sum_bytes) <= static_cast<int64_t>(queue.scratch_bytes) ? parts : 1;
}

template <typename T, typename S>
Error run_sums(KernelContext& context, const Tensor& self, DType common, int dim, Tensor& out) {
  const Tensor* tensors[] = {&out, &self};
  const Walk lines = portable::walk_dims(tensors, ~(uint32_t{1} << dim));
  const bool scalar = self.rank() == 0;
  const bool rounds = (common == DType::kF16 || common == DType::kBF16) && self.dtype() != common;
  const int64_t size = scalar ? 1 : self.size(dim);
  const Queue queue = queue_of(context);
  const int64_t parts = parts_of_line(queue, lines.count, size, sizeof(S));
  const RunningSumBody<T, S> body{self.raw(),
                                  out.raw(),
                                  self.dtype(),
                                  rounds ? common : kUnrounded,
                                  out.dtype(),
                                  size,
                                  scalar ? 1 : out.stride(dim),
                                  scalar ? 1 : self.stride(dim),
                                  Places<2>(lines),
                                  parts,
                                  (size + parts - 1) / parts,
                                  parts > 1 ? static_cast<S*>(queue.scratch) : nullptr};
  if (parts > 1) {
    BERTH_RETURN_IF_ERROR(for_each(context, lines.count * parts, PartSumBody<T, S>{body}));
    BERTH_RETURN_IF_ERROR(for_each(context, lines.count, BeforePartsBody<S>{body.sums, parts}));
  }
  return for_each(context, lines.count * parts, body);
}

}  // namespace

Error cumsum_out(KernelContext& context, const arguments::cumsum_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  int dim = 0;
  if (!portable::normalize_dim(args.dim, self.rank(), &dim)) {
    return context.fail(Error::kInvalidArgument, "the dimension to sum along is out of range");
  }
  if (!portable::is_real(self.dtype()) || !portable::is_real(out.dtype())) return portable::unsupported_dtype(context);
  DType common = DType::kF32;
  BERTH_RETURN_IF_ERROR(portable::read_sum_dtype(context, self, args.dtype, &common));
  if (!portable::can_cast(common, out.dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, self.sizes()));
  if (out.numel() == 0) return Error::kOk;
  switch (portable::compute_dtype(common)) {
    case DType::kF32: return run_sums<float, double>(context, self, common, dim, out);
    case DType::kF64: return run_sums<double, double>(context, self, common, dim, out);
    default: return run_sums<int64_t, uint64_t>(context, self, common, dim, out);
  }
}

}  // namespace berth::cuda
