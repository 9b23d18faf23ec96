// Normalisations and softmax, before decomposition and after it.
#include <algorithm>
#include <cmath>

#include "compiler/import/lowering/batch_statistics.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

Dim product_from(NodeContext& n, ValueId x, int first) { return n.product(n.shape(x), first, n.rank(x)); }

// Every result beyond the first is what the gradient needs.
void only_first(NodeContext& n, ValueId y) {
  n.output(y);
  for (size_t i = 1; i < n.output_count(); ++i) n.unknown_output(i, "is what training needs");
}

// Normalised by the batch itself, in every channel: what instance norms without statistics become. The mean and the
// reciprocal of the deviation are results too; running statistics that it would change are not.
void import_batch_statistics(NodeContext& n) {
  const ValueId x = n.tensor("input");
  const lowering::BatchStatistics batch = lowering::batch_statistics(n, x, n.number("eps", 1e-5));
  if (!n.ok()) return;
  ValueId y = batch.normal;
  if (n.has("weight")) y = n.op(OpId::mul_out, {y, n.view(n.tensor("weight"), batch.channels)});
  if (n.has("bias")) y = n.op(OpId::add_out, {y, n.view(n.tensor("bias"), batch.channels)});
  n.output(y);
  for (size_t i = 1; i < n.output_count(); ++i) {
    if (i > 2) {
      n.unknown_output(i, "is what training needs");
    } else {
      n.output(i, n.view(i == 1 ? batch.mean : batch.scale, {batch.channels[1]}));
    }
  }
}

void import_batch_norm(NodeContext& n) {
  // Without running statistics it goes by the batch in eval mode too.
  if (!n.has("running_mean") || !n.has("running_var")) return import_batch_statistics(n);
  if (n.truth("training", false) || n.truth("train", false)) {
    return n.unsupported("training changes the running statistics; export the model in eval mode");
  }
  const ValueId x = n.tensor("input");
  const ValueId y = n.op(OpId::native_batch_norm_legit_no_training_out,
                         {x, n.optional_tensor("weight"), n.optional_tensor("bias"), n.tensor("running_mean"),
                          n.tensor("running_var"), n.number("momentum", 0.1), n.number("eps", 1e-5)});
  only_first(n, y);
}

// Here the new running statistics are results, and an error only where the model reads them.
void import_functional_batch_norm(NodeContext& n) {
  return n.truth("training", false) ? import_batch_statistics(n) : import_batch_norm(n);
}

// v · (g / |v|), the length taken over all dimensions but one.
void import_weight_norm(NodeContext& n) {
  const ValueId v = n.tensor("v");
  const int kept = n.axis(n.integer("dim", 0), std::max(n.rank(v), 1));
  DimList axes;
  for (int axis = 0; axis < n.rank(v); ++axis) {
    if (axis != kept) axes.emplace_back(axis);
  }
  const ValueId squares = n.op(OpId::sum_IntList_out, {n.op(OpId::mul_out, {v, v}), axes, true});
  const ValueId length = n.op(OpId::sqrt_out, {squares});
  n.output(n.op(OpId::mul_out, {v, n.op(OpId::div_out, {n.tensor("g"), length})}));
  if (n.output_count() > 1) n.output(1, length);
}

void import_layer_norm(NodeContext& n) {
  const DimList shape = n.dims("normalized_shape");
  only_first(n, n.op(OpId::native_layer_norm_out, {n.tensor("input"), shape, n.optional_tensor("weight"),
                                                   n.optional_tensor("bias"), n.number("eps", 1e-5)}));
}

ValueId group_norm(NodeContext& n, ValueId x, Dim groups, const IrArgument& weight, const IrArgument& bias) {
  if (n.ok() && n.rank(x) < 2) n.invalid("expected at least 2 dimensions, found " + n.type_text(x));
  return n.op(OpId::native_group_norm_out,
              {x, weight, bias, n.dim(x, 0), n.dim(x, 1), product_from(n, x, 2), groups, n.number("eps", 1e-5)});
}

void import_group_norm(NodeContext& n) {
  const ValueId x = n.tensor("input");
  n.output(group_norm(n, x, n.dim("num_groups", Dim(1)), n.optional_tensor("weight"), n.optional_tensor("bias")));
}

// Each channel is a group of its own; with running statistics it is a batch norm.
void import_instance_norm(NodeContext& n) {
  if (!n.truth("use_input_stats", true)) return import_batch_norm(n);
  const ValueId x = n.tensor("input");
  n.output(group_norm(n, x, n.dim(x, 1), n.optional_tensor("weight"), n.optional_tensor("bias")));
}

DType accumulate_type(DType type) { return has_16_bits(type) ? DType::kF32 : type; }

// x / sqrt(mean(x²) + eps) · weight; eps defaults to the type's smallest step.
void import_rms_norm(NodeContext& n) {
  const ValueId input = n.tensor("input");
  const DType type = n.dtype(input);
  const ValueId x = n.cast(input, accumulate_type(type));
  const size_t count = n.dims("normalized_shape").size();
  DimList axes;
  for (size_t i = 0; i < count; ++i) axes.emplace_back(-static_cast<int64_t>(count) + static_cast<int64_t>(i));
  const double eps = n.number("eps", n.dtype(x) == DType::kF64 ? 2.220446049250313e-16 : 1.1920928955078125e-07);
  const ValueId mean = n.op(OpId::mean_out, {n.op(OpId::mul_out, {x, x}), axes, true});
  const ValueId scale = n.op(OpId::rsqrt_out, {n.op(OpId::add_Scalar_out, {mean, eps})});
  ValueId y = n.op(OpId::mul_out, {x, scale});
  if (n.has("weight")) y = n.op(OpId::mul_out, {y, n.cast(n.tensor("weight"), n.dtype(x))});
  only_first(n, n.cast(y, type));
}

template <OpId id>
void import_softmax(NodeContext& n) {
  ValueId x = n.tensor("self");
  const DType type = n.dtype("dtype", n.dtype(x));
  x = n.cast(x, type);
  n.output(n.op(id, {x, n.dim("dim", Dim(-1)), false}));
}

// Softmax is taken over nothing where the whole row is -inf: zeros instead of NaN.
void import_safe_softmax(NodeContext& n) {
  ValueId x = n.tensor("self");
  x = n.cast(x, n.dtype("dtype", n.dtype(x)));
  const Dim dim = n.dim("dim", Dim(-1));
  const ValueId y = n.op(OpId::softmax_out, {x, dim, false});
  const ValueId low = n.op(OpId::eq_Scalar_out, {n.op(OpId::amax_out, {x, DimList{dim}, true}), -HUGE_VAL});
  n.output(n.op(OpId::where_self_out, {low, n.splat(n.dtype(y), {}, 0), y}));
}

void import_half_to_float(NodeContext& n, OpId id) {
  const ValueId x = n.tensor("self");
  const DType type = n.truth("half_to_float", false) ? DType::kF32 : n.dtype(x);
  n.output(n.op(id, {n.cast(x, type), n.dim("dim", Dim(-1)), false}));
}
void import_core_softmax(NodeContext& n) { import_half_to_float(n, OpId::softmax_out); }
void import_core_log_softmax(NodeContext& n) { import_half_to_float(n, OpId::log_softmax_out); }

constexpr OperatorRow kNormRows[] = {
    {"_batch_norm_no_update", import_batch_norm},
    {"_fused_rms_norm", import_rms_norm},
    {"_log_softmax", import_core_log_softmax},
    {"_native_batch_norm_legit", import_batch_norm},
    {"_native_batch_norm_legit_functional", import_functional_batch_norm},
    {"_native_batch_norm_legit.no_stats", import_batch_statistics},
    {"_native_batch_norm_legit_no_training", import_batch_norm},
    {"_safe_softmax", import_safe_softmax},
    {"_softmax", import_core_softmax},
    {"_weight_norm", import_weight_norm},
    {"_weight_norm_interface", import_weight_norm},
    {"batch_norm", import_batch_norm},
    {"group_norm", import_group_norm},
    {"instance_norm", import_instance_norm},
    {"layer_norm", import_layer_norm},
    {"log_softmax", import_softmax<OpId::log_softmax_out>},
    {"native_batch_norm", import_batch_norm},
    {"rms_norm", import_rms_norm},
    {"softmax", import_softmax<OpId::softmax_out>},
    {"special_log_softmax", import_softmax<OpId::log_softmax_out>},
    {"special_softmax", import_softmax<OpId::softmax_out>},
};

}  // namespace

OperatorTable norm_operators() { return kNormRows; }

}  // namespace berth::pt2
