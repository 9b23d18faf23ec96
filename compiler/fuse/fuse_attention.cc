#include "compiler/fuse/fuse_attention.h"

#include <cmath>

#include "compiler/fuse/attention_scores.h"
#include "compiler/fuse/channel_heads.h"
#include "compiler/fuse/moved.h"
#include "compiler/fuse/strided.h"
#include "compiler/ir/same_product.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// A number that softmax makes 0 of, beside any that models have.
constexpr float kHidden = -1e30f;

// Rows of tokens in which a head's columns lie.
struct Rows {
  ValueId base;
  Dim tokens;
  int64_t width = 0;
  int64_t column = 0;
  double scale = 1;
  std::optional<ChannelHeads> channels;  // where the base is [batch, width, tokens], as convolutions give it
};

// What is added to the scores, or hides some, and the shape in which it stretches to [batch, heads, queries, keys].
struct Mask {
  ValueId value;
  std::vector<Dim> shape;
};

constexpr size_t kMostMasks = 2;

struct Match {
  Dim batch = 1, queries = 1, keys = 1;
  int64_t heads = 1, head_size = 1;
  double scale = 1;
  std::vector<Mask> masks;  // at most kMostMasks; the last is added first, and the first alone may be of truths
  bool causal = false;
  bool by_channels = false;  // the result
  Rows query, key, value;
};

bool equal(const Context& context, Dim a, const ir::DimList& product) {
  return ir::same_product(context.symbols(), {a}, product);
}

// The batch and the heads of [batch * heads, tokens, size] elements that `moved` enumerates as tokens, heads, size, or
// as heads, size, tokens.
bool read_order(const Context& context, const Strided& moved, const std::vector<Dim>& sizes, Match* match) {
  const std::vector<Axis> axes = axes_of(moved);
  const bool batched = axes.size() == 4;
  if (axes.size() != 3 && !batched) return false;
  const Axis* const each = &axes[batched ? 1 : 0];
  match->by_channels = each[1].stride == Dim(1) && each[2].stride != Dim(1);
  const Axis& token = each[match->by_channels ? 2 : 0];
  const Axis& head = each[match->by_channels ? 0 : 1];
  const Axis& column = each[match->by_channels ? 1 : 2];
  const Dim tokens = sizes[1], size = sizes[2];
  if (!head.size.is_constant() || !size.is_constant()) return false;
  match->batch = batched ? axes[0].size : 1;
  match->heads = head.size.value;
  match->queries = tokens;
  match->head_size = size.value;
  if (!equal(context, sizes[0], {match->batch, head.size}) || moved.offset != Dim(0)) return false;
  if (batched && !equal(context, axes[0].stride, {head.size, tokens, size})) return false;
  return token.size == tokens && token.stride == size && equal(context, head.stride, {tokens, size}) &&
         column.size == size && column.stride == Dim(1);
}

// `value`, [batch * heads, tokens, size] or with the last two turned, as columns of rows of tokens.
bool read_rows(const Context& context, const Match& match, ValueId value, bool turned, Dim tokens, Rows* rows) {
  if (!is_row_major(context, value)) return false;
  if (match.batch != Dim(1)) {
    const Node* view = context.maker(value);
    if (view == nullptr || !view->op->is_reshape()) return false;
    value = value_argument(*view, 0);
    if (!value.valid() || !is_row_major(context, value)) return false;
  }
  Strided from = strided(context, value, true);
  const size_t token = turned ? 3 : 2;
  const size_t column = turned ? 2 : 3;
  const std::vector<Dim> sizes = {match.batch, match.heads, turned ? match.head_size : tokens,
                                  turned ? tokens : match.head_size};
  if (from.sizes != sizes && !regroup(context.symbols(), sizes, &from)) return false;
  const ir::TensorType& base = context.type(from.base);
  if (base.dtype != DType::kF32 || !base.is_contiguous()) return false;
  rows->base = from.base;
  rows->tokens = tokens;
  rows->scale = from.scale;
  if (match.head_size != 1 && from.strides[column] != Dim(1)) {
    rows->channels = channel_heads(context, from, turned);
    if (!rows->channels || rows->channels->stride != match.head_size) return false;
    rows->width = rows->channels->width;
    rows->column = rows->channels->first;
    return true;
  }
  std::optional<Dim> width = from.strides[token];
  if (tokens == Dim(1)) {
    Dim elements = 1;
    for (const Dim size : base.shape) elements = context.symbols().mul(elements, size);
    width = quotient(context.symbols(), elements, match.batch);
  }
  if (!width || !width->is_constant() || !from.offset.is_constant()) return false;
  rows->column = from.offset.value;
  rows->width = width->value;
  if (match.heads != 1 && from.strides[1] != Dim(match.head_size)) return false;
  if (match.batch != Dim(1) && !equal(context, from.strides[0], {tokens, *width})) return false;
  if (!ir::same_product(context.symbols(), base.shape, {match.batch, tokens, *width})) return false;
  return rows->column + match.heads * match.head_size <= rows->width;
}

// Torch's exporters replace rows of nothing but -inf by zeros: where(not any(not (scores == -inf)), 0, softmax), or as
// softmax_of_nan_guard() or softmax_of_amax_guard() have it. What then reads the scores, and the softmax.
struct Guard {
  bool is_there = false;
  int score_readers = 1;
  int softmax_readers = 1;
};

const Node* behind_guard(const Context& context, const Node* node, Guard* guard) {
  if (node == nullptr || !node->is(OpId::where_self_out)) return node;
  if (const Node* softmax = softmax_of_nan_guard(context, *node)) {
    *guard = {true, 1, 2};
    return softmax;
  }
  if (const Node* softmax = softmax_of_amax_guard(context, *node)) {
    *guard = {true, 2, 1};
    return softmax;
  }
  const Node* none = made_by(context, value_argument(*node, arg::where_self_out::condition), OpId::logical_not_out);
  const Node* any = none == nullptr
                        ? nullptr
                        : made_by(context, value_argument(*none, arg::logical_not_out::self), OpId::any_dims_out);
  const Node* seen =
      any == nullptr ? nullptr : made_by(context, value_argument(*any, arg::any_dims_out::self), OpId::logical_not_out);
  const Node* hidden = seen == nullptr
                           ? nullptr
                           : made_by(context, value_argument(*seen, arg::logical_not_out::self), OpId::eq_Scalar_out);
  if (hidden == nullptr || context.number(hidden->args[arg::eq_Scalar_out::other]) != kHiddenScore) return nullptr;
  const Node* zeros = made_by(context, value_argument(*node, arg::where_self_out::self), OpId::full_like_out);
  const bool zero = zeros != nullptr ? context.number(zeros->args[arg::full_like_out::fill_value]) == 0.0
                                     : context.number(node->args[arg::where_self_out::self]) == 0.0;
  const Node* softmax = made_by(context, value_argument(*node, arg::where_self_out::other), OpId::softmax_out);
  if (!zero || softmax == nullptr || softmax->args[arg::softmax_out::self] != hidden->args[arg::eq_Scalar_out::self])
    return nullptr;
  *guard = {true, 2, 1};
  return softmax;
}

enum class MaskKind { kOther, kZero, kCausal };

// What a constant mask of [.., queries, keys] does.
MaskKind kind_of(const Context& context, const Match& match, const Mask& of, bool* some_row_hidden) {
  *some_row_hidden = true;
  const ir::Constant* constant = known_constant(context, of.value);
  if (constant == nullptr) return MaskKind::kOther;
  const bool truths = constant->type.dtype == DType::kBool;
  if (!truths && constant->type.dtype != DType::kF32) return MaskKind::kOther;
  const int64_t numel = ir::max_numel(constant->type, {});
  if (constant->type.rank() < 2 || constant->type.shape.back() != match.keys ||
      constant->type.shape[constant->type.shape.size() - 2] != match.queries) {
    return MaskKind::kOther;
  }
  const int64_t queries = match.queries.value, keys = match.keys.value;
  std::vector<float> mask;
  if (truths) {
    const auto hidden_score = static_cast<float>(kHiddenScore);
    for (const uint8_t truth : constant->blob.to_vector()) mask.push_back(truth != 0 ? 0 : hidden_score);
  } else {
    mask = floats_of(*constant);
  }
  *some_row_hidden = false;
  // Beside a mask that hides all that a query sees, what has finite scores is seen.
  const float least = match.masks.size() > 1 ? static_cast<float>(kHiddenScore) : kHidden;
  bool zero = true;
  bool causal = numel == queries * keys && queries == keys;
  for (int64_t row = 0; row < numel / keys; ++row) {
    bool seen = false;
    for (int64_t j = 0; j < keys; ++j) {
      const float x = mask[row * keys + j];
      zero = zero && x == 0;
      seen = seen || x > kHidden;
      causal = causal && (j <= row % queries ? x == 0 : x <= least);
    }
    *some_row_hidden = *some_row_hidden || !seen;
  }
  return zero ? MaskKind::kZero : causal ? MaskKind::kCausal : MaskKind::kOther;
}

// Adds a mask of scores that have `shape` there to those of the match.
bool read_mask(const Context& context, const std::vector<Dim>& shape, ValueId mask, Match* match) {
  const ScoreSizes sizes = {match->batch, match->heads, match->queries, match->keys};
  const std::vector<Dim>& own = context.type(mask).shape;
  const bool stretches = own.size() <= 4 && stretches_to_heads(context, sizes, shape, mask);
  // The first of three dimensions may be heads, or batch and heads in one.
  const std::vector<Dim> over_heads =
      stretches && own.size() != 3 ? std::vector<Dim>() : shape_over_heads(context, sizes, shape, mask);
  if (!stretches && over_heads.empty()) return false;
  match->masks.push_back({mask, over_heads.empty() ? own : over_heads});
  return true;
}

// From the scores under the softmax back to the product, with scale and mask on the way.
const Node* read_scores(const Context& context, ValueId value, int readers, Match* match) {
  bool first = true;
  for (int depth = 0; depth < 16; ++depth) {
    if (!value.valid() || context.uses(value) != (first ? readers : 1)) return nullptr;
    first = false;
    const Node* node = context.maker(value);
    if (node == nullptr) return nullptr;
    if (node->is(OpId::bmm_out)) return node;
    if (node->op->is_reshape()) {
      value = value_argument(*node, 0);
      continue;
    }
    ValueId from;
    if (node->is(OpId::where_self_out)) {
      if (!match->masks.empty() || match->scale != 1) return nullptr;
      if (context.number(node->args[arg::where_self_out::other]) != kHiddenScore) return nullptr;
      const ValueId mask = value_argument(*node, arg::where_self_out::condition);
      from = value_argument(*node, arg::where_self_out::self);
      // What is computed may be a limit of the keys, which berth::grouped_attention knows.
      const ir::Constant* truths = context.constant(Argument(mask));
      if (truths == nullptr || truths->type.dtype != DType::kBool) return nullptr;
      if (!read_mask(context, context.type(value).shape, mask, match)) return nullptr;
    } else if (node->is(OpId::add_out)) {
      const auto scores = scores_of_sum(context, *node);
      if (!scores || match->masks.size() == kMostMasks || match->scale != 1) return nullptr;
      if (context.number(node->args[arg::add_out::alpha]) != 1.0) return nullptr;
      const ValueId mask = value_argument(*node, 1 - *scores);
      from = value_argument(*node, *scores);
      // Truths that are added are ones.
      if (!mask.valid() || context.type(mask).dtype != DType::kF32) return nullptr;
      if (!read_mask(context, context.type(value).shape, mask, match)) return nullptr;
    } else {
      const auto scaled = read_scaled(context, *node);
      if (!scaled) return nullptr;
      match->scale *= scaled->factor;
      from = scaled->from;
    }
    if (!from.valid() || context.type(from).shape != context.type(node->results[0]).shape) return nullptr;
    value = from;
  }
  return nullptr;
}

// Whether the mask stretches to [batch, heads, queries, keys] as it did to the scores that it was added to.
bool mask_fits(const Context& context, const Match& match, const Mask& mask) {
  const ir::TensorType& type = context.type(mask.value);
  const bool known = type.dtype == DType::kF32 || type.dtype == DType::kBool;
  const size_t rank = mask.shape.size();
  if (!known || rank > 4 || !type.is_contiguous()) return false;
  const std::vector<Dim> scores = {match.batch, match.heads, match.queries, match.keys};
  for (size_t i = 0; i < rank; ++i) {
    const Dim size = mask.shape[i];
    const Dim wanted = scores[4 - rank + i];
    if (size != Dim(1) && size != wanted) return false;
    // Of scores with batch and heads in one dimension, only what is the same for all of them.
    if (rank == 3 && i == 0 && match.batch != Dim(1) && size != Dim(1)) return false;
  }
  return true;
}

// Drops masks of zeros, and those of later tokens, which `causal` says. Whether a query may see no key at all.
bool drop_known_masks(const Context& context, Match* match) {
  std::vector<Mask> kept;
  bool some_row_hidden = false;
  for (const Mask& mask : match->masks) {
    bool hidden = false;
    const MaskKind kind = kind_of(context, *match, mask, &hidden);
    some_row_hidden = some_row_hidden || hidden;
    match->causal = match->causal || kind == MaskKind::kCausal;
    if (kind == MaskKind::kOther) kept.push_back(mask);
  }
  // What each of two leaves visible the other may hide.
  if (match->masks.size() > 1) some_row_hidden = true;
  match->masks = kept;
  return some_row_hidden;
}

Reason find(const Context& context, const Node& last, Match* match, bool* is_candidate) {
  *is_candidate = false;
  if (!is_row_major(context, last.results[0])) return Reason::kShape;
  const Strided moved = strided(context, last.results[0], false);
  const Node* weighted = made_by(context, moved.base, OpId::bmm_out);
  if (weighted == nullptr || context.uses(moved.base) != 1) return Reason::kReadElsewhere;
  Guard guard;
  const ValueId shares = through_views(context, value_argument(*weighted, 0));
  const Node* softmax = behind_guard(context, context.maker(shares), &guard);
  if (softmax == nullptr || !softmax->is(OpId::softmax_out)) return Reason::kShape;
  *is_candidate = true;
  const ir::TensorType& out = context.type(moved.base);
  if (out.dtype != DType::kF32) return Reason::kDType;
  const int64_t rank = context.type(softmax->results[0]).rank();
  const auto dim = context.number(softmax->args[arg::softmax_out::dim]);
  if (dim != -1.0 && dim != static_cast<double>(rank - 1)) return Reason::kOrder;
  if (!read_order(context, moved, out.shape, match)) return Reason::kOrder;
  if (context.uses(shares) != 1 || context.uses(softmax->results[0]) != guard.softmax_readers)
    return Reason::kReadElsewhere;
  match->keys = context.type(softmax->results[0]).shape.back();
  const Node* scores = read_scores(context, value_argument(*softmax, 0), guard.score_readers, match);
  if (scores == nullptr) return Reason::kReadElsewhere;
  // Views may have joined the keys of several queries.
  if (context.type(scores->results[0]).shape[2] != match->keys) return Reason::kOrder;
  for (const Mask& mask : match->masks) {
    if (!mask_fits(context, *match, mask)) return Reason::kShape;
  }
  if (drop_known_masks(context, match) && guard.is_there) return Reason::kOrder;
  const bool rows = read_rows(context, *match, value_argument(*scores, 0), false, match->queries, &match->query) &&
                    read_rows(context, *match, value_argument(*scores, 1), true, match->keys, &match->key) &&
                    read_rows(context, *match, value_argument(*weighted, 1), false, match->keys, &match->value);
  if (!rows || match->value.scale != 1) return Reason::kOrder;
  return Reason::kFused;
}

Expected<ValueId> rows_value(Context& context, ir::Builder& build, const Match& match, const Rows& rows,
                             const std::string& source) {
  if (rows.channels) return rows_of_channels(context, build, *rows.channels, match.batch, rows.tokens, source);
  return with_shape(context, build, rows.base, {match.batch, rows.tokens, Dim(rows.width)}, source);
}

Expected<passes::Action> fuse_product(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (!node.is(OpId::permute_copy_out) && !node.is(OpId::transpose_copy_int_out)) return passes::Action::keep();
  Match match;
  bool is_candidate = false;
  const Reason reason = find(context, node, &match, &is_candidate);
  const bool truths = !match.masks.empty() && context.type(match.masks.front().value).dtype == DType::kBool;
  const bool biased = match.masks.size() > 1;
  if (reason == Reason::kFused && (truths || biased) && !takes_bytes(context.target(id))) return passes::Action::keep();
  if (is_candidate) context.remark(node, reason, "berth::attention");
  if (reason != Reason::kFused) return passes::Action::keep();
  const std::string source = node.source;
  const std::vector<Dim> shape = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const ValueId query, rows_value(context, build, match, match.query, source));
  ValueId key = query;
  ValueId value = query;
  const auto same = [](const Rows& a, const Rows& b) {
    const bool one_order = a.channels.has_value() == b.channels.has_value();
    return a.base == b.base && a.tokens == b.tokens && a.width == b.width && one_order;
  };
  if (!same(match.key, match.query)) {
    BERTH_ASSIGN_OR_RETURN(key, rows_value(context, build, match, match.key, source));
  }
  if (!same(match.value, match.query)) {
    BERTH_ASSIGN_OR_RETURN(value, rows_value(context, build, match, match.value, source));
  }
  std::vector<Argument> args = {query, key, value};
  if (match.masks.empty()) args.push_back(Argument());
  for (size_t i = match.masks.size(); i-- > 0;) {
    const Mask& mask = match.masks[i];
    BERTH_ASSIGN_OR_RETURN(const ValueId given, with_shape(context, build, mask.value, mask.shape, source));
    args.push_back(given);
  }
  for (const int64_t number :
       {match.heads, match.head_size, match.query.column, match.key.column, match.value.column}) {
    args.push_back(Dim(number));
  }
  args.push_back(match.scale * match.query.scale * match.key.scale);
  // A causal mask was one of the two.
  if (!biased) args.push_back(match.causal);
  BERTH_ASSIGN_OR_RETURN(
      const ValueId made,
      build.one(biased ? OpId::fused_attention_biased_out : OpId::fused_attention_out, std::move(args), source));
  ValueId ordered = made;
  if (match.by_channels) {
    BERTH_ASSIGN_OR_RETURN(ordered, permuted_by(build, made, {0, 2, 1}, source));
  }
  context.replaced(context.node(id).results[0], ordered);
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, ordered, shape, source));
  return result == ordered ? passes::Action::replace(ordered) : context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> fuse_attention(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_product); });
}

}  // namespace berth::fuse
