// Normalisations over statistics of the model or of the tensor itself.
#include <cmath>

#include "compiler/import/lowering/batch_statistics.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

// In training mode: by the mean and the variance of the batch, in every channel, which also move the running ones.
// What track_running_stats=False exports to, which has no others.
void import_batch_statistics(NodeContext& n) {
  const ValueId x = n.input(0);
  const DType dtype = n.dtype(x);
  const lowering::BatchStatistics batch = lowering::batch_statistics(n, x, n.number("epsilon", 1e-5f));
  if (!n.ok()) return;
  const auto per_channel = [&](size_t input) { return n.view(n.cast(n.input(input), dtype), batch.channels); };
  n.output(0, n.op(OpId::add_out, {n.op(OpId::mul_out, {batch.normal, per_channel(1)}), per_channel(2)}));
  const double momentum = n.number("momentum", 0.9f);
  for (size_t k = 1; k < 3; ++k) {
    if (!n.wants_output(k)) continue;
    const ValueId moment = n.view(k == 1 ? batch.mean : batch.variance, {batch.channels[1]});
    const ValueId now = n.cast(moment, n.dtype(n.input(k + 2)));
    const ValueId old = n.op(OpId::mul_Scalar_out, {n.input(k + 2), momentum});
    n.output(k, n.op(OpId::add_out, {old, n.op(OpId::mul_Scalar_out, {now, 1 - momentum})}));
  }
}

void import_batch_normalization(NodeContext& n) {
  if (n.integer("training_mode", 0) != 0) return import_batch_statistics(n);
  if (n.integer("spatial", 1) == 0) return n.unsupported("spatial=0 (statistics for every place) is not supported");
  const ValueId x = n.input(0);
  const DType dtype = n.dtype(x);
  ValueId parts[4];
  for (size_t i = 0; i < 4; ++i) parts[i] = n.cast(n.input(i + 1), dtype);
  n.output(0, n.op(OpId::native_batch_norm_legit_no_training_out,
                   {x, parts[0], parts[1], parts[2], parts[3], 0.1, n.number("epsilon", 1e-5f)}));
}

/// Whether `v` may be the weight of a layer norm as it is: exactly of the normalised shape.
bool fits(const NodeContext& n, ValueId v, const std::vector<Dim>& normalized) { return n.shape(v) == normalized; }

// The mean and one by the deviation of each row, which ONNX has in float32 whatever the elements are.
void give_statistics(NodeContext& n, const DimList& normalized, std::vector<ValueId> results) {
  if (!n.wants_output(1) && !n.wants_output(2)) return;
  if (n.integer("stash_type", 1) != 1) return n.unsupported("its statistics are in float32 (stash_type 1) alone");
  if (n.dtype(n.input(0)) == DType::kF16) {
    const ValueId wide = n.cast(n.input(0), DType::kF32);
    results = n.ops(OpId::native_layer_norm_out, {wide, normalized, None(), None(), n.number("epsilon", 1e-5f)});
  }
  for (size_t i = 1; n.ok() && i < 3; ++i) n.output(i, n.cast(results[i], DType::kF32));
}

void import_layer_normalization(NodeContext& n) {
  const ValueId x = n.input(0);
  const int rank = n.rank(x);
  const int axis = n.axis(n.integer("axis", -1), rank);
  if (!n.ok()) return;
  const std::vector<Dim> shape = n.shape(x);
  const std::vector<Dim> normalized(shape.begin() + axis, shape.end());
  const ValueId scale = n.input(1);
  const ValueId bias = n.has_input(2) ? n.input(2) : ValueId();
  const bool inside = fits(n, scale, normalized) && (!bias.valid() || fits(n, bias, normalized));
  const Argument weight = inside ? Argument(scale) : Argument(None());
  const Argument offset = inside && bias.valid() ? Argument(bias) : Argument(None());
  const std::vector<ValueId> results =
      n.ops(OpId::native_layer_norm_out, {x, normalized, weight, offset, n.number("epsilon", 1e-5f)});
  if (!n.ok()) return;
  ValueId y = results[0];
  if (!inside) {
    y = n.op(OpId::mul_out, {y, scale});
    if (bias.valid()) y = n.op(OpId::add_out, {y, bias});
  }
  n.output(0, y);
  give_statistics(n, normalized, results);
}

// x / (the p-norm along one axis); zero where the norm is zero.
void import_lp_normalization(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", -1), n.rank(x));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) return n.invalid("attribute 'p' must be 1 or 2");
  const ValueId part = p == 1 ? n.op(OpId::abs_out, {x}) : n.op(OpId::mul_out, {x, x});
  ValueId norm = n.op(OpId::sum_IntList_out, {part, DimList{Dim(axis)}, true});
  if (p == 2) norm = n.op(OpId::sqrt_out, {norm});
  // The norm of numbers whose squares are 0 is 0, and so is what ONNX gives for them.
  const ValueId empty = n.op(OpId::eq_Scalar_out, {norm, 0.0});
  n.output(0, n.op(OpId::div_out, {x, n.op(OpId::masked_fill_Scalar_out, {norm, empty, HUGE_VAL})}));
}

void import_mean_variance_normalization(NodeContext& n) {
  const ValueId x = n.input(0);
  DimList axes;
  for (int axis : n.axes(n.integers("axes", {0, 2, 3}), n.rank(x))) axes.emplace_back(axis);
  const ValueId centred = n.op(OpId::sub_out, {x, n.op(OpId::mean_out, {x, axes, true})});
  const ValueId variance = n.op(OpId::mean_out, {n.op(OpId::mul_out, {centred, centred}), axes, true});
  const ValueId deviation = n.op(OpId::add_Scalar_out, {n.op(OpId::sqrt_out, {variance}), 1e-9});
  n.output(0, n.op(OpId::div_out, {centred, deviation}));
}

constexpr OperatorRow kNormRows[] = {
    {"BatchNormalization", 5, 5, import_batch_normalization},
    {"LayerNormalization", 2, 3, import_layer_normalization},
    {"LpNormalization", 1, 1, import_lp_normalization},
    {"MeanVarianceNormalization", 1, 1, import_mean_variance_normalization},
};

}  // namespace

OperatorTable norm_operators() { return kNormRows; }

}  // namespace berth::onnx
