#include "compiler/fuse/gather_masks.h"

#include <algorithm>

#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ScoreShape = std::vector<int64_t>;

constexpr int64_t kMostMaskElements = 1 << 20;
constexpr int kMostStepsBack = 16;

// A constant that is added to scores which have the sizes `at` there, and what is multiplied with it later.
struct Added {
  ValueId constant;
  ScoreShape at;
  std::vector<float> factor;  // of each head
};

struct Scores {
  int64_t windows = 1, heads = 1, queries = 1, keys = 1;
  std::vector<float> factor;  // of each head
  std::vector<Added> added;
  ValueId product;

  ScoreShape each() const { return {heads, queries, keys}; }
};

// The known sizes of a row-major tensor of f32; empty for others.
ScoreShape sizes_of(const Context& context, ValueId value) {
  if (!value.valid() || !is_plain(context, value) || context.type(value).dtype != DType::kF32) return {};
  ScoreShape sizes;
  for (const Dim size : context.type(value).shape) sizes.push_back(size.value);
  return sizes;
}

const ir::Constant* constant_of_floats(const Context& context, ValueId value) {
  const ir::Constant* constant = known_constant(context, value);
  return constant != nullptr && constant->type.dtype == DType::kF32 ? constant : nullptr;
}

// Whether sizes of scores end with heads, queries and keys, and those before are the windows.
bool ends_with_heads(const Scores& scores, const ScoreShape& sizes) {
  const ScoreShape each = scores.each();
  if (sizes.size() < 3 || !std::equal(each.begin(), each.end(), sizes.end() - 3)) return false;
  int64_t windows = 1;
  for (size_t d = 0; d + 3 < sizes.size(); ++d) windows *= sizes[d];
  return windows == scores.windows;
}

bool is_quotient(const Node& node) { return node.is(OpId::div_out) || node.is(OpId::div_Scalar_out); }

// Multiplies what is there of `scores` by argument `k` of `node`: a number, or one of each head.
bool multiply(const Context& context, const Node& node, size_t k, Scores* scores) {
  if (const auto number = context.number(node.args[k])) {
    const auto factor = static_cast<float>(is_quotient(node) ? 1 / *number : *number);
    for (float& of : scores->factor) of *= factor;
    return true;
  }
  const ir::Constant* constant = constant_of_floats(context, value_argument(node, k));
  if (constant == nullptr || is_quotient(node) || constant->type.rank() < 3) return false;
  ScoreShape wanted(constant->type.shape.size(), 1);
  wanted[wanted.size() - 3] = scores->heads;
  if (constant->type.shape != ir::dims(wanted)) return false;
  const std::vector<float> factors = floats_of(*constant);
  for (size_t h = 0; h < factors.size(); ++h) scores->factor[h] *= factors[h];
  return true;
}

// One step from what a softmax reads back to the product of queries and keys: what `value` is made of.
ValueId step_back(const Context& context, ValueId value, Scores* scores) {
  const Node* node = context.maker(value);
  const ScoreShape sizes = sizes_of(context, value);
  if (node == nullptr || sizes.empty() || context.uses(value) != 1) return {};
  if (node->op->is_reshape()) return value_argument(*node, 0);
  const bool sum = node->is(OpId::add_out);
  const bool product = node->is(OpId::mul_out) || node->is(OpId::mul_Scalar_out) || is_quotient(*node);
  if (!ends_with_heads(*scores, sizes) || (!sum && !product)) return {};
  if (sum && context.number(node->args[arg::add_out::alpha]) != 1.0) return {};
  for (const size_t k : {size_t{1}, size_t{0}}) {
    const ValueId other = value_argument(*node, 1 - k);
    if (sizes_of(context, other) != sizes || context.maker(other) == nullptr) continue;
    if (is_quotient(*node) && k == 0) continue;
    if (product) {
      if (multiply(context, *node, k, scores)) return other;
      continue;
    }
    const ValueId constant = value_argument(*node, k);
    if (constant_of_floats(context, constant) == nullptr ||
        context.type(constant).rank() > static_cast<int>(sizes.size()))
      continue;
    scores->added.push_back({constant, sizes, scores->factor});
    return other;
  }
  return {};
}

// What is done to the scores of a softmax; without a product where they are not those of attention.
Scores read_softmax(const Context& context, const Node& softmax) {
  Scores scores;
  const ValueId input = value_argument(softmax, arg::softmax_out::self);
  const ScoreShape sizes = sizes_of(context, input);
  const auto dim = context.number(softmax.args[arg::softmax_out::dim]);
  if (sizes.size() != 4 || std::count(sizes.begin(), sizes.end(), 0) > 0 || (dim != -1.0 && dim != 3.0)) return scores;
  scores.windows = sizes[0];
  scores.heads = sizes[1];
  scores.queries = sizes[2];
  scores.keys = sizes[3];
  scores.factor.assign(scores.heads, 1);
  ValueId value = input;
  for (int step = 0; step < kMostStepsBack && value.valid(); ++step) {
    if (made_by(context, value, OpId::bmm_out) == nullptr) {
      value = step_back(context, value, &scores);
      continue;
    }
    const ScoreShape product = {scores.windows * scores.heads, scores.queries, scores.keys};
    if (sizes_of(context, value) == product && context.uses(value) == 1) scores.product = value;
    break;
  }
  return scores;
}

// Adds a constant to the sum of all, [windows or 1, heads or 1, queries, keys].
void add_to(const Context& context, const Scores& scores, const Added& added, const ScoreShape& sum_sizes,
            std::vector<float>* sum) {
  const ir::Constant& constant = *constant_of_floats(context, added.constant);
  const std::vector<float> elements = floats_of(constant);
  // The distance between elements of the constant for each dimension of the scores.
  const size_t rank = added.at.size(), missing = rank - constant.type.shape.size();
  ScoreShape strides(rank, 0);
  int64_t stride = 1;
  for (size_t d = rank; d-- > missing;) {
    const int64_t size = constant.type.shape[d - missing].value;
    if (size != 1) strides[d] = stride;
    stride *= size;
  }
  size_t to = 0;
  for (int64_t w = 0; w < sum_sizes[0]; ++w) {
    int64_t window = 0, left = w;
    for (size_t d = rank - 3; d-- > 0; left /= added.at[d]) window += left % added.at[d] * strides[d];
    for (int64_t h = 0; h < sum_sizes[1]; ++h) {
      for (int64_t i = 0; i < scores.queries; ++i) {
        for (int64_t j = 0; j < scores.keys; ++j) {
          const int64_t at = window + h * strides[rank - 3] + i * strides[rank - 2] + j * strides[rank - 1];
          (*sum)[to++] += added.factor[h] * elements[at];
        }
      }
    }
  }
}

bool is_uniform(const std::vector<float>& factor) {
  return std::all_of(factor.begin(), factor.end(), [&](float f) { return f == factor.front(); });
}

// How many windows and heads the sum of all constants tells apart.
ScoreShape sizes_of_sum(const Context& context, const Scores& scores) {
  ScoreShape sizes = {1, 1, scores.queries, scores.keys};
  for (const Added& added : scores.added) {
    const std::vector<Dim>& own = context.type(added.constant).shape;
    for (size_t d = 0; d < own.size(); ++d) {
      if (own[d] == Dim(1)) continue;
      if (own.size() - d > 3) sizes[0] = scores.windows;
      if (own.size() - d == 3) sizes[1] = scores.heads;
    }
    if (!is_uniform(added.factor)) sizes[1] = scores.heads;
  }
  return sizes;
}

// The queries, [windows * heads, queries, size], times the factor of their head.
Expected<ValueId> scaled_queries(Context& context, ir::Builder& build, const Scores& scores, ValueId queries,
                                 const std::string& source) {
  if (is_uniform(scores.factor) && scores.factor.front() == 1) return queries;
  const std::vector<Dim> rows = context.type(queries).shape;
  const std::vector<Dim> each = {Dim(scores.windows), Dim(scores.heads), Dim(scores.queries), rows[2]};
  BERTH_ASSIGN_OR_RETURN(const ValueId heads, with_shape(context, build, queries, each, source));
  const ValueId factor = float_constant(build, {scores.heads, 1, 1}, scores.factor, "factor");
  BERTH_ASSIGN_OR_RETURN(const ValueId scaled, build.one(OpId::mul_out, {heads, factor}, source));
  return with_shape(context, build, scaled, rows, source);
}

Expected<passes::Action> visit_softmax(Context& context, ir::Builder& build, NodeId id) {
  const Node softmax = context.node(id);
  if (!softmax.is(OpId::softmax_out)) return passes::Action::keep();
  const Scores scores = read_softmax(context, softmax);
  const bool by_head = scores.product.valid() && !is_uniform(scores.factor);
  if (!scores.product.valid() || (scores.added.size() < 2 && !by_head)) return passes::Action::keep();
  const ScoreShape sum_sizes = sizes_of_sum(context, scores);
  if (sum_sizes[0] * sum_sizes[1] * sum_sizes[2] * sum_sizes[3] > kMostMaskElements) return passes::Action::keep();
  std::vector<float> sum(sum_sizes[0] * sum_sizes[1] * sum_sizes[2] * sum_sizes[3], 0);
  for (const Added& added : scores.added) add_to(context, scores, added, sum_sizes, &sum);

  const std::string source = softmax.source;
  std::vector<Argument> factors = context.maker(scores.product)->args;
  BERTH_ASSIGN_OR_RETURN(
      factors[arg::bmm_out::self],
      scaled_queries(context, build, scores, value_argument(*context.maker(scores.product), 0), source));
  BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(OpId::bmm_out, std::move(factors), source));
  BERTH_ASSIGN_OR_RETURN(ValueId given,
                         with_shape(context, build, product,
                                    ir::dims({scores.windows, scores.heads, scores.queries, scores.keys}), source));
  if (!scores.added.empty()) {
    const ValueId mask = float_constant(build, sum_sizes, sum, "mask");
    BERTH_ASSIGN_OR_RETURN(given, build.one(OpId::add_out, {given, mask, Dim(1)}, source));
  }
  std::vector<Argument> args = softmax.args;
  args[arg::softmax_out::self] = given;
  BERTH_ASSIGN_OR_RETURN(const ValueId result, build.one(OpId::softmax_out, std::move(args), source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> gather_masks(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(visit_softmax); });
}

}  // namespace berth::fuse
