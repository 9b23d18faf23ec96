#include "compiler/fuse/attention_scores.h"

#include <algorithm>

namespace berth::fuse {

using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

namespace {

bool is_scaled_product(const Context& context, ValueId value, int sums);

std::optional<size_t> scores_of_sum(const Context& context, const Node& sum, int sums) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const ValueId term = value_argument(sum, i);
    if (!term.valid() || context.type(term).shape != context.type(sum.results[0]).shape) continue;
    if (is_scaled_product(context, term, sums)) return i;
  }
  return std::nullopt;
}

// Whether `value` is a product of matrices behind views, numbers that scale it and at most `sums` sums.
bool is_scaled_product(const Context& context, ValueId value, int sums) {
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps && value.valid(); ++step) {
    const Node* node = context.maker(value);
    if (node == nullptr) return false;
    if (node->is(OpId::bmm_out)) return true;
    if (node->op->is_reshape()) {
      value = value_argument(*node, 0);
    } else if (const auto scaled = read_scaled(context, *node)) {
      value = scaled->from;
    } else {
      return sums > 0 && node->is(OpId::add_out) && scores_of_sum(context, *node, sums - 1).has_value();
    }
  }
  return false;
}

}  // namespace

ValueId exchanged_rows(const Context& context, const Node& node) {
  const std::vector<int64_t> order = passes::permutation(context.method(), node);
  const int64_t rank = static_cast<int64_t>(order.size());
  if (rank < 2) return {};
  for (int64_t i = 0; i < rank; ++i) {
    if (order[i] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return {};
  }
  return value_argument(node, 0);
}

std::optional<Scaled> read_scaled(const Context& context, const Node& node) {
  const bool product = node.is(OpId::mul_out) || node.is(OpId::mul_Scalar_out);
  const bool quotient = node.is(OpId::div_out) || node.is(OpId::div_Scalar_out);
  if (!product && !quotient) return std::nullopt;
  const size_t number = quotient || context.number(node.args[1]) ? 1 : 0;
  const auto factor = context.number(node.args[number]);
  if (!factor) return std::nullopt;
  return Scaled{value_argument(node, 1 - number), product ? *factor : 1 / *factor};
}

std::optional<size_t> scores_of_sum(const Context& context, const Node& sum) {
  // A mask may be a product with another mask.
  const auto plain = scores_of_sum(context, sum, 0);
  return plain ? plain : scores_of_sum(context, sum, 1);
}

bool stretches_to_heads(const Context& context, const ScoreSizes& sizes, const std::vector<Dim>& shape, ValueId mask) {
  if (!mask.valid() || shape.size() < 3) return false;
  if (shape[shape.size() - 2] != sizes.queries || shape.back() != sizes.keys) return false;
  const std::vector<Dim> before(shape.begin(), shape.end() - 2);
  if (before == std::vector<Dim>{sizes.batch, sizes.heads}) return true;
  if (before == std::vector<Dim>{context.symbols().mul(sizes.batch, sizes.heads)}) return true;
  const std::vector<Dim>& own = context.type(mask).shape;
  for (size_t d = 0; d + 2 < own.size(); ++d) {
    if (own[d] != Dim(1)) return false;
  }
  return true;
}

std::vector<Dim> shape_over_heads(const Context& context, const ScoreSizes& sizes, const std::vector<Dim>& shape,
                                  ValueId mask) {
  const std::vector<Dim>& own = context.type(mask).shape;
  if (shape.size() < 3 || own.size() > shape.size()) return {};
  const size_t batch = shape.size() - 3;  // how many dimensions
  const std::vector<Dim> each = {sizes.heads, sizes.queries, sizes.keys};
  if (!std::equal(shape.begin() + batch, shape.end(), each.begin())) return {};
  std::vector<Dim> whole(shape.size() - own.size(), 1);
  whole.insert(whole.end(), own.begin(), own.end());
  const bool of_batch = std::equal(shape.begin(), shape.begin() + batch, whole.begin());
  if (!of_batch && std::any_of(whole.begin(), whole.begin() + batch, [](Dim size) { return size != Dim(1); }))
    return {};
  std::vector<Dim> result = {of_batch ? sizes.batch : Dim(1)};
  result.insert(result.end(), whole.begin() + batch, whole.end());
  return result;
}

const Node* softmax_of_nan_guard(const Context& context, const Node& node) {
  if (!node.is(OpId::where_self_out)) return nullptr;
  const ValueId shares = value_argument(node, arg::where_self_out::other);
  const ValueId condition = value_argument(node, arg::where_self_out::condition);
  if (!shares.valid() || !condition.valid()) return nullptr;
  const Node* softmax = context.maker(shares);
  const Node* nan = context.maker(condition);
  if (softmax == nullptr || !softmax->is(OpId::softmax_out) || nan == nullptr || !nan->is(OpId::isnan_out))
    return nullptr;
  if (value_argument(*nan, 0) != shares || context.number(node.args[arg::where_self_out::self]) != 0.0) return nullptr;
  return softmax;
}

const Node* softmax_of_amax_guard(const Context& context, const Node& node) {
  if (!node.is(OpId::where_self_out)) return nullptr;
  const ValueId condition = value_argument(node, arg::where_self_out::condition);
  if (!condition.valid()) return nullptr;
  const Node* none = made_by(context, behind_views(context, condition), OpId::eq_Scalar_out);
  const Node* most = none == nullptr ? nullptr : made_by(context, value_argument(*none, 0), OpId::amax_out);
  const Node* softmax = made_by(context, value_argument(node, arg::where_self_out::other), OpId::softmax_out);
  if (most == nullptr || softmax == nullptr) return nullptr;
  if (context.number(none->args[arg::eq_Scalar_out::other]) != kHiddenScore) return nullptr;
  if (context.number(node.args[arg::where_self_out::self]) != 0.0) return nullptr;
  if (most->args[arg::amax_out::self] != softmax->args[arg::softmax_out::self]) return nullptr;
  const auto* dims = std::get_if<ir::DimList>(&most->args[arg::amax_out::dim]);
  std::vector<Dim> rows = context.type(softmax->results[0]).shape;
  const int64_t last = static_cast<int64_t>(rows.size()) - 1;
  if (dims == nullptr || dims->size() != 1 || (dims->front() != Dim(-1) && dims->front() != Dim(last))) return nullptr;
  // Each row has its own, and not each column.
  rows.back() = Dim(1);
  return context.type(condition).shape == rows ? softmax : nullptr;
}

}  // namespace berth::fuse
