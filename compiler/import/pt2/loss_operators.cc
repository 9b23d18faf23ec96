// Losses, as people leave them in what they export: element by element, then reduced. Class weights, labels that are
// smoothed or ignored, and class probabilities are left to run_decompositions().
#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// ATen's numbers of the argument 'reduction'.
enum LossReduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

ValueId reduced(NodeContext& n, ValueId x, int64_t reduction) {
  if (reduction == kNone) return x;
  DimList axes;
  for (int d = 0; d < n.rank(x); ++d) axes.emplace_back(d);
  return n.op(reduction == kMean ? OpId::mean_out : OpId::sum_IntList_out, {x, axes, false, None()});
}

void finish(NodeContext& n, ValueId loss) { n.output(reduced(n, loss, n.integer("reduction", kMean))); }

ValueId mul(NodeContext& n, ValueId a, double b) { return n.op(OpId::mul_Scalar_out, {a, b}); }
ValueId distance(NodeContext& n) { return n.op(OpId::abs_out, {sub(n, n.tensor("self"), n.tensor("target"))}); }

void import_mse(NodeContext& n) {
  const ValueId d = sub(n, n.tensor("self"), n.tensor("target"));
  finish(n, mul(n, d, d));
}

void import_l1(NodeContext& n) { finish(n, distance(n)); }

/// d * d * square below `limit`, d * slope - offset from there on.
void bent(NodeContext& n, double limit, double square, double slope, double offset) {
  const ValueId d = distance(n);
  const ValueId low = mul(n, mul(n, d, d), square);
  const ValueId high = n.op(OpId::sub_Scalar_out, {mul(n, d, slope), offset, Dim(1)});
  finish(n, n.op(OpId::where_self_out, {n.op(OpId::lt_Scalar_out, {d, limit}), low, high}));
}

void import_smooth_l1(NodeContext& n) {
  const double beta = n.number("beta", 1);
  if (beta > 0) return bent(n, beta, 0.5 / beta, 1, 0.5 * beta);
  import_l1(n);
}

void import_huber(NodeContext& n) {
  const double delta = n.number("delta", 1);
  bent(n, delta, 0.5, delta, 0.5 * delta * delta);
}

ValueId weighted(NodeContext& n, ValueId loss) { return n.has("weight") ? mul(n, loss, n.tensor("weight")) : loss; }

// -(t log x + (1 - t) log(1 - x)), logarithms not below -100.
void import_bce(NodeContext& n) {
  const ValueId x = n.tensor("self"), t = n.tensor("target");
  const auto log_of = [&](ValueId y) { return n.op(OpId::clamp_out, {n.op(OpId::log_out, {y}), -100.0, None()}); };
  const auto rest = [&](ValueId y) { return n.op(OpId::rsub_Scalar_out, {y, 1.0}); };
  const ValueId sum = add(n, mul(n, t, log_of(x)), mul(n, rest(t), log_of(rest(x))));
  finish(n, weighted(n, n.op(OpId::neg_out, {sum})));
}

// (1 - t) x + w (log(1 + exp(-|x|)) + max(-x, 0)), w = 1 + (p - 1) t
void import_bce_with_logits(NodeContext& n) {
  const ValueId x = n.tensor("self"), t = n.tensor("target");
  const ValueId minus = n.op(OpId::neg_out, {x});
  const ValueId small = n.op(OpId::exp_out, {n.op(OpId::neg_out, {n.op(OpId::abs_out, {x})})});
  ValueId softplus = add(n, n.op(OpId::log1p_out, {small}), n.op(OpId::relu_out, {minus}));
  if (n.has("pos_weight")) {
    const ValueId more = n.op(OpId::sub_Scalar_out, {n.tensor("pos_weight"), 1.0, Dim(1)});
    softplus = mul(n, softplus, n.op(OpId::add_Scalar_out, {mul(n, more, t), 1.0, Dim(1)}));
  }
  finish(n, weighted(n, add(n, mul(n, n.op(OpId::rsub_Scalar_out, {t, 1.0}), x), softplus)));
}

// t (log t - x), 0 where t is; or, of logarithms, exp(t) (t - x).
void import_kl(NodeContext& n) {
  const ValueId x = n.tensor("self"), t = n.tensor("target");
  if (n.truth("log_target", false)) return finish(n, mul(n, n.op(OpId::exp_out, {t}), sub(n, t, x)));
  const ValueId loss = mul(n, t, sub(n, n.op(OpId::log_out, {t}), x));
  const ValueId none = n.op(OpId::eq_Scalar_out, {t, 0.0});
  finish(n, n.op(OpId::masked_fill_Scalar_out, {loss, none, 0.0}));
}

bool is_plain(NodeContext& n) {
  const bool plain = !n.has("weight") && n.integer("ignore_index", -100) < 0 && n.number("label_smoothing", 0) == 0;
  if (!plain) n.unsupported("with weights, smoothed or ignored labels is read only after run_decompositions()");
  return plain;
}

// What is ignored has the label -100, unless the model says otherwise: such labels count for nothing.
void pick(NodeContext& n, ValueId logs) {
  const ValueId labels = n.tensor("target");
  const int rank = n.rank(logs);
  if (!n.ok() || !is_plain(n)) return;
  if (rank < 1 || rank > 2 || n.rank(labels) != rank - 1 || is_floating(n.dtype(labels))) {
    return n.unsupported("of " + n.type_text(logs) + " and " + n.type_text(labels) +
                         " is read only after run_decompositions()");
  }
  const int64_t ignored = n.integer("ignore_index", -100);
  const ValueId counts = n.op(OpId::ne_Scalar_out, {labels, Dim(ignored)});
  const ValueId valid =
      n.op(OpId::where_self_out,
           {counts, labels, n.op(OpId::full_like_out, {labels, Dim(0), None(), number_of(n.dtype(labels))})});
  const ValueId index = n.op(OpId::unsqueeze_copy_out, {valid, Dim(rank - 1)});
  const ValueId found = n.op(OpId::gather_out, {logs, Dim(rank - 1), index, false});
  const ValueId weight = n.cast(counts, n.dtype(logs));
  const ValueId loss =
      mul(n, n.op(OpId::neg_out, {n.op(OpId::squeeze_copy_dims_out, {found, DimList{Dim(rank - 1)}})}), weight);
  const int64_t reduction = n.integer("reduction", kMean);
  if (reduction != kMean) return n.output(reduced(n, loss, reduction));
  n.output(n.op(OpId::div_out, {reduced(n, loss, kSum), reduced(n, weight, kSum)}));
}

void import_nll(NodeContext& n) { pick(n, n.tensor("self")); }

void import_cross_entropy(NodeContext& n) {
  const ValueId x = n.tensor("self");
  pick(n, n.op(OpId::log_softmax_out, {x, Dim(n.rank(x) - 1), false}));
}

constexpr OperatorRow kLossRows[] = {
    {"binary_cross_entropy", import_bce},
    {"binary_cross_entropy_with_logits", import_bce_with_logits},
    {"cross_entropy_loss", import_cross_entropy},
    {"huber_loss", import_huber},
    {"kl_div", import_kl},
    {"l1_loss", import_l1},
    {"mse_loss", import_mse},
    {"nll_loss", import_nll},
    {"nll_loss_nd", import_nll},
    {"smooth_l1_loss", import_smooth_l1},
};

}  // namespace

OperatorTable loss_operators() { return kLossRows; }

}  // namespace berth::pt2
