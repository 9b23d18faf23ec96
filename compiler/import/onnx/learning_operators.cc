// Operators of ai.onnx.ml that stand before and behind neural networks (ArrayFeatureExtractor, Binarizer, Imputer,
// LabelEncoder, Normalizer, Scaler), and linear models.
//
// Source: the pages of ONNX on ai.onnx.ml.
#include <cmath>

#include "compiler/import/lowering/matmul.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

void import_array_feature_extractor(NodeContext& n) {
  const ValueId x = n.input(0);
  const int rank = n.rank(x);
  if (n.ok() && rank < 1) return n.invalid("expected at least one dimension, found " + n.type_text(x));
  const ValueId places = n.input(1);
  const Dim count = n.product(n.shape(places), 0, n.rank(places));
  const ValueId flat = n.view(n.cast(places, DType::kI64), {count});
  const ValueId y = n.op(OpId::index_select_out, {x, Dim(rank - 1), flat});
  n.output(0, rank == 1 ? n.view(y, {Dim(1), count}) : y);
}

void import_binarizer(NodeContext& n) {
  const ValueId x = n.input(0);
  n.output(0, n.cast(n.op(OpId::gt_Scalar_out, {x, n.number("threshold", 0)}), n.dtype(x)));
}

/// One number for all, or one a feature, which is the last dimension.
ValueId of_features(NodeContext& n, const char* name, ValueId x) {
  const std::vector<double> numbers = n.numbers(name);
  if (numbers.size() == 1) return n.splat(DType::kF32, {}, numbers[0]);
  if (n.ok() && Dim(static_cast<int64_t>(numbers.size())) != n.dim(x, n.rank(x) - 1)) {
    n.invalid("attribute '" + std::string(name) + "' needs a number for each feature of " + n.type_text(x));
  }
  return n.Lowering::numbers(DType::kF32, numbers, 1, 0);
}

void import_scaler(NodeContext& n) {
  ValueId x = n.cast(n.input(0), DType::kF32);
  if (n.has_attribute("offset")) x = n.op(OpId::sub_out, {x, of_features(n, "offset", x)});
  if (n.has_attribute("scale")) x = n.op(OpId::mul_out, {x, of_features(n, "scale", x)});
  n.output(0, x);
}

/// Keys or values of a LabelEncoder, as a constant [count]; none after a failure.
ValueId labels(NodeContext& n, const std::string& what) {
  if (n.has_attribute(what + "_strings")) {
    n.unsupported("texts as " + what);
    return {};
  }
  if (n.has_attribute(what + "_int64s")) return n.ints(n.integers(what + "_int64s"));
  if (n.has_attribute(what + "_floats")) return n.Lowering::numbers(DType::kF32, n.numbers(what + "_floats"), 1, 0);
  if (const Attribute* tensor = n.attribute(what + "_tensor"); tensor != nullptr && tensor->tensors.size() == 1) {
    auto literal = n.state().literals.read(tensor->tensors[0]);
    if (literal.ok()) return n.constant(literal->type, literal->blob);
    n.fail(literal.error());
    return {};
  }
  n.invalid("attribute '" + what + "_*' is missing");
  return {};
}

/// What stands for a key that is not there, as a number of the values' type.
ValueId default_label(NodeContext& n, DType type) {
  if (n.has_attribute("default_tensor")) return n.view(n.cast(labels(n, "default"), type), {});
  if (is_floating(type)) return n.splat(type, {}, n.number("default_float", -0.0F));
  return n.splat(type, {}, static_cast<double>(n.integer("default_int64", -1)));
}

// Each element beside all keys: the place of the one that it equals.
void import_label_encoder(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId keys = labels(n, "keys");
  const ValueId values = labels(n, "values");
  if (n.ok() && (n.rank(keys) != 1 || n.shape(keys) != n.shape(values))) {
    return n.invalid("keys " + n.type_text(keys) + " and values " + n.type_text(values) + " differ");
  }
  if (!n.ok()) return;
  std::vector<Dim> beside = n.shape(x);
  beside.emplace_back(1);
  const ValueId hits = n.op(OpId::eq_Tensor_out, {n.view(x, beside), keys});
  const ValueId any = n.op(OpId::any_out, {hits, Dim(-1), false});
  const ValueId at = n.op(OpId::argmax_out, {n.cast(hits, DType::kI32), Dim(-1), false});
  const ValueId found = n.op(OpId::index_Tensor_out, {values, ValueList{at}});
  n.output(0, n.op(OpId::where_self_out, {any, found, default_label(n, n.dtype(values))}));
}

// `replaced_value_*`, or NaN where that is NaN, becomes the number of its feature.
void import_imputer(NodeContext& n) {
  const ValueId x = n.input(0);
  if (n.ok() && !is_floating(n.dtype(x))) return n.unsupported("an input of " + n.type_text(x));
  const double replaced = n.number("replaced_value_float", 0);
  const ValueId hit = std::isnan(replaced) ? n.op(OpId::isnan_out, {x}) : n.op(OpId::eq_Scalar_out, {x, replaced});
  n.output(0, n.op(OpId::where_self_out, {hit, n.cast(of_features(n, "imputed_value_floats", x), n.dtype(x)), x}));
}

// Rows divided by their largest element or by their norm; rows of norm 0 stay. As in ONNX Runtime, the largest is that
// of the numbers with their signs, not of their magnitudes: [-1, -2] becomes [1, 2].
void import_normalizer(NodeContext& n) {
  const ValueId x = n.cast(n.input(0), DType::kF32);
  const int rank = n.rank(x);
  if (n.ok() && rank != 1 && rank != 2) return n.invalid("expected 1 or 2 dimensions, found " + n.type_text(x));
  const std::string name = n.text("norm", "MAX");
  const DimList last = {Dim(-1)};
  ValueId norm;
  if (name == "MAX") norm = n.op(OpId::amax_out, {x, last, true});
  if (name == "L1") norm = n.op(OpId::sum_IntList_out, {n.op(OpId::abs_out, {x}), last, true, None()});
  if (name == "L2")
    norm = n.op(OpId::sqrt_out, {n.op(OpId::sum_IntList_out, {n.op(OpId::mul_out, {x, x}), last, true, None()})});
  if (!norm.valid()) return n.unsupported("attribute 'norm' is \"" + name + "\"");
  const ValueId none = n.op(OpId::eq_Scalar_out, {norm, 0.0});
  n.output(0, n.op(OpId::div_out, {x, n.op(OpId::where_self_out, {none, n.splat(DType::kF32, {}, 1), norm})}));
}

/// The input as f32[N, C].
ValueId samples(NodeContext& n) {
  const ValueId x = n.cast(n.input(0), DType::kF32);
  return n.rank(x) == 1 ? n.pad_rank(x, 2) : x;
}

/// C of samples [N, C]; 0 for what is not that.
int64_t feature_count(NodeContext& n, ValueId x) {
  return n.rank(x) == 2 ? n.fixed(n.dim(x, 1), "the number of features") : 0;
}

/// `x` [N, C] times 'coefficients' [`rows`, C], plus 'intercepts': [N, rows].
ValueId linear_scores(NodeContext& n, ValueId x, int64_t rows) {
  const std::vector<double> weights = n.numbers("coefficients");
  const int64_t features = feature_count(n, x);
  const std::vector<double> intercepts = n.numbers("intercepts");
  const auto count = static_cast<int64_t>(weights.size());
  if (n.ok() && (features < 1 || count % features != 0 || count / features != rows ||
                 (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != rows))) {
    n.invalid("'coefficients' or 'intercepts' do not fit the input " + n.type_text(x));
  }
  const ValueId weight = n.view(n.Lowering::numbers(DType::kF32, weights, 1, 0), {Dim(rows), Dim(features)});
  const Argument bias =
      intercepts.empty() ? Argument(None()) : Argument(n.Lowering::numbers(DType::kF32, intercepts, 1, 0));
  return lowering::linear(n, x, weight, bias);
}

ValueId post_transformed(NodeContext& n, ValueId y) {
  const std::string name = n.text("post_transform", "NONE");
  if (name == "LOGISTIC") return n.op(OpId::sigmoid_out, {y});
  if (name == "SOFTMAX") return n.op(OpId::softmax_out, {y, Dim(-1), false});
  if (name != "NONE") n.unsupported("attribute 'post_transform' is \"" + name + "\"");
  return y;
}

void import_linear_regressor(NodeContext& n) {
  const int64_t targets = n.integer("targets", 1);
  if (targets < 1) return n.invalid("attribute 'targets' must be at least 1, found " + std::to_string(targets));
  const std::string transform = n.text("post_transform", "NONE");
  if (targets == 1 && (transform == "LOGISTIC" || transform == "SOFTMAX")) {
    return n.unsupported("attribute 'post_transform' of one target, which ONNX Runtime does not heed");
  }
  n.output(0, post_transformed(n, linear_scores(n, samples(n), targets)));
}

// The label of the largest score, and the scores.
void import_linear_classifier(NodeContext& n) {
  if (n.has_attribute("classlabels_strings")) return n.unsupported("texts as labels");
  const std::vector<int64_t> classes = n.integers("classlabels_ints");
  if (n.ok() && classes.empty()) return n.invalid("there are no labels: attribute 'classlabels_ints' is missing");
  const auto count = static_cast<int64_t>(classes.size());
  if (n.ok() && count < 2) return n.invalid("expected two labels or more, found one");
  const ValueId x = samples(n);
  if (count == 2 && static_cast<int64_t>(n.numbers("coefficients").size()) == feature_count(n, x)) {
    return n.unsupported("one row of coefficients for two classes");
  }
  const ValueId scores = linear_scores(n, x, count);
  const ValueId best = n.op(OpId::argmax_out, {scores, Dim(-1), false});
  n.output(0, n.op(OpId::index_Tensor_out, {n.ints(classes), ValueList{best}}));
  n.output(1, post_transformed(n, scores));
}

constexpr OperatorRow kLearningRows[] = {
    {"ArrayFeatureExtractor", 2, 2, import_array_feature_extractor},
    {"Binarizer", 1, 1, import_binarizer},
    {"Imputer", 1, 1, import_imputer},
    {"LabelEncoder", 1, 1, import_label_encoder},
    {"LinearClassifier", 1, 1, import_linear_classifier},
    {"LinearRegressor", 1, 1, import_linear_regressor},
    {"Normalizer", 1, 1, import_normalizer},
    {"Scaler", 1, 1, import_scaler},
};

}  // namespace

OperatorTable learning_operators() { return kLearningRows; }

}  // namespace berth::onnx
