#include "compiler/fuse/fuse_grouped_attention.h"

#include <algorithm>
#include <optional>

#include "compiler/fuse/attention_scores.h"
#include "compiler/fuse/channel_heads.h"
#include "compiler/fuse/key_limits.h"
#include "compiler/fuse/moved.h"
#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

constexpr int kMostViews = 16;

struct GroupedMatch : ScoreSizes {
  DType dtype = DType::kF32;  // of queries, keys, values and result
  Dim groups = 1, size = 1, value_size = 1;
  ValueId query, key, value;  // [batch * heads, queries, size], and the caches through views
  ir::DimList key_order;      // how the dimensions of `key` are permuted first; empty: they are not
  ValueId turned_key;         // [batch * heads, size, keys], if nothing scales it on the way to `key`
  double scale = 1;
  bool guarded = false;
  ValueId mask;
  KeyLimits limits;
};

bool is_rows(const Context& context, const GroupedMatch& match, ValueId value) {
  return value.valid() && context.type(value).dtype == match.dtype && context.type(value).is_contiguous();
}

Dim all_heads(const Context& context, const GroupedMatch& match) {
  return context.symbols().mul(match.batch, match.heads);
}

// What reads the scores, and the softmax.
struct Readers {
  int scores = 1;
  int softmax = 1;
};

// The softmax that `node` is, or that it guards: rows of nothing but -inf give zeros.
const Node* under_guard(const Context& context, const Node* node, bool* guarded, Readers* readers) {
  *guarded = false;
  if (node == nullptr || !node->is(OpId::where_self_out)) return node;
  if (const Node* softmax = softmax_of_nan_guard(context, *node)) {
    *guarded = true;
    readers->softmax = 2;
    return softmax;
  }
  const Node* softmax = softmax_of_amax_guard(context, *node);
  if (softmax == nullptr) return nullptr;
  *guarded = true;
  readers->scores = 2;
  return softmax;
}

// From the scores under the softmax back to the product, with scale and mask on the way. Of a guarded softmax they are
// read twice.
const Node* read_grouped_scores(const Context& context, ValueId value, int readers, GroupedMatch* match) {
  for (int depth = 0; depth < kMostViews; ++depth, readers = 1) {
    if (!value.valid() || context.uses(value) != readers) return nullptr;
    const Node* node = context.maker(value);
    if (node == nullptr) return nullptr;
    if (node->is(OpId::bmm_out)) return node;
    const std::vector<Dim>& shape = context.type(value).shape;
    ValueId from;
    if (node->op->is_reshape()) {
      value = value_argument(*node, 0);
      continue;
    }
    if (node->is(OpId::where_self_out)) {
      if (match->mask.valid() || match->scale != 1) return nullptr;
      if (context.number(node->args[arg::where_self_out::other]) != kHiddenScore) return nullptr;
      match->mask = value_argument(*node, arg::where_self_out::condition);
      from = value_argument(*node, arg::where_self_out::self);
      if (!stretches_to_heads(context, *match, shape, match->mask)) return nullptr;
    } else if (node->is(OpId::add_out)) {
      if (match->mask.valid() || match->scale != 1) return nullptr;
      if (context.number(node->args[arg::add_out::alpha]) != 1.0) return nullptr;
      const auto scores = scores_of_sum(context, *node);
      if (!scores) return nullptr;
      from = value_argument(*node, *scores);
      match->mask = value_argument(*node, 1 - *scores);
      if (!stretches_to_heads(context, *match, shape, match->mask)) return nullptr;
      // Truths that are added are ones.
      if (context.type(match->mask).dtype == DType::kBool) return nullptr;
    } else {
      const auto scaled = read_scaled(context, *node);
      if (!scaled) return nullptr;
      match->scale *= scaled->factor;
      from = scaled->from;
    }
    if (!from.valid() || context.type(from).shape != shape) return nullptr;
    value = from;
  }
  return nullptr;
}

// What `value`, [batch * heads, keys, columns], repeats for the heads of a group: [batch, groups, keys, columns].
bool read_cache(const Context& context, const GroupedMatch& match, ValueId value, Dim columns, ValueId* cache,
                Dim* groups) {
  value = behind_views(context, value);
  *groups = match.heads;
  if (const Node* repeat = made_by(context, value, OpId::expand_copy_out)) {
    const ValueId from = value_argument(*repeat, arg::expand_copy_out::self);
    const std::vector<Dim>& one = context.type(from).shape;
    const std::vector<Dim>& all = context.type(value).shape;
    if (one.size() != 5 || all.size() != 5 || one[2] != Dim(1) || !all[1].is_constant() || !all[2].is_constant())
      return false;
    if (all != std::vector<Dim>{match.batch, all[1], all[2], match.keys, columns}) return false;
    if (one != std::vector<Dim>{match.batch, all[1], Dim(1), match.keys, columns}) return false;
    if (Dim(all[1].value * all[2].value) != match.heads) return false;
    *groups = all[1];
    value = behind_views(context, from);
  }
  *cache = value;
  return is_rows(context, match, value);
}

// What `value` is before it is multiplied by numbers, which become part of `*scale`: exporters share the scale out to
// queries and keys. Its last two dimensions stay.
ValueId unscaled(const Context& context, ValueId value, double* scale) {
  const std::vector<Dim> wanted = context.type(value).shape;
  while (true) {
    const ValueId base = behind_views(context, value);
    const Node* node = context.maker(base);
    const auto scaled = node == nullptr ? std::nullopt : read_scaled(context, *node);
    if (!scaled || !scaled->from.valid()) return value;
    const ir::TensorType& from = context.type(scaled->from);
    if (from.shape != context.type(base).shape || from.dtype != context.type(value).dtype) return value;
    if (from.rank() < 2 || !std::equal(from.shape.end() - 2, from.shape.end(), wanted.end() - 2)) return value;
    *scale *= scaled->factor;
    value = scaled->from;
  }
}

// What `value`, [batch * heads, columns, keys], is with its last two dimensions transposed.
ValueId turned_rows(const Context& context, ValueId value) {
  const std::vector<Dim> wanted = context.type(value).shape;
  value = behind_views(context, value);
  const Node* node = context.maker(value);
  if (node == nullptr) return {};
  const std::vector<Dim>& shape = context.type(value).shape;
  // A view between may have cut rows into others.
  if (shape.size() < 2 || !std::equal(shape.end() - 2, shape.end(), wanted.end() - 2)) return {};
  return exchanged_rows(context, *node);
}

// A value that one permutation makes the keys of, where `value`, [batch * heads, columns, keys], is one itself: that of
// `value` with the last two dimensions of its result exchanged.
ValueId permuted_rows(const Context& context, ValueId value, ir::DimList* order) {
  const std::vector<Dim> wanted = context.type(value).shape;
  value = behind_views(context, value);
  const Node* node = made_by(context, value, OpId::permute_copy_out);
  if (node == nullptr) return {};
  const std::vector<Dim>& shape = context.type(value).shape;
  if (shape.size() < 2 || !std::equal(shape.end() - 2, shape.end(), wanted.end() - 2)) return {};
  *order = std::get<ir::DimList>(node->args[arg::permute_copy_out::dims]);
  std::swap((*order)[order->size() - 1], (*order)[order->size() - 2]);
  return value_argument(*node, 0);
}

// Whether the node changes places of heads and keys: [b, n, g, d] becomes [b, g, n, d].
bool turns_heads(const Context& context, const Node& node) {
  return passes::permutation(context.method(), node) == std::vector<int64_t>{0, 2, 1, 3};
}

// A cache [b, n, g, d] that `value`, [b, g, n, d], is a copy of, widened perhaps; none is not valid.
ValueId rows_of_heads(const Context& context, ValueId value) {
  bool turned = false;
  bool widened = false;
  for (const Node* node = context.maker(value); node != nullptr; node = context.maker(value)) {
    const ValueId from = value_argument(*node, 0);
    if (!from.valid() || !context.type(from).is_contiguous()) break;
    if (!turned && turns_heads(context, *node)) {
      turned = true;
    } else if (!widened && node->is(OpId::to_dim_order_copy_out) && has_16_bits(context.type(from).dtype) &&
               context.type(value).dtype == DType::kF32 && context.type(from).shape == context.type(value).shape) {
      widened = true;
    } else {
      break;
    }
    value = from;
  }
  const DType dtype = context.type(value).dtype;
  return turned && (dtype == DType::kF32 || has_16_bits(dtype)) ? value : ValueId{};
}

bool grouped_mask_fits(const Context& context, const GroupedMatch& match) {
  const ir::TensorType& type = context.type(match.mask);
  if ((type.dtype != DType::kF32 && type.dtype != DType::kBool) || type.rank() > 4 || !type.is_contiguous())
    return false;
  const Dim scores[] = {match.batch, match.heads, match.queries, match.keys};
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const Dim wanted = scores[4 - type.shape.size() + i];
    if (type.shape[i] != Dim(1) && type.shape[i] != wanted) return false;
  }
  return true;
}

// Keys from the second factor of the scores, and values.
bool read_caches(const Context& context, ValueId turned_keys, ValueId values, GroupedMatch* match) {
  const ValueId turned = unscaled(context, turned_keys, &match->scale);
  match->turned_key = turned;
  ValueId keys = turned_rows(context, turned);
  Dim groups;
  if (!keys.valid()) {
    match->key = permuted_rows(context, turned, &match->key_order);
    match->groups = match->heads;
    // Keys in columns become rows by a copy, which is not worth it for one query.
    if (!match->key.valid() && match->queries != Dim(1)) {
      match->key = turned;
      for (int d = 0; d < context.type(turned).rank(); ++d) match->key_order.emplace_back(d);
      std::swap(match->key_order[match->key_order.size() - 1], match->key_order[match->key_order.size() - 2]);
    }
    if (!match->key.valid() || !is_rows(context, *match, match->key)) return false;
  } else {
    const double scale = match->scale;
    keys = unscaled(context, keys, &match->scale);
    if (match->scale != scale) match->turned_key = {};
    if (!is_rows(context, *match, keys)) return false;
    if (!read_cache(context, *match, keys, match->size, &match->key, &match->groups)) return false;
  }
  return read_cache(context, *match, values, match->value_size, &match->value, &groups) && groups == match->groups;
}

Reason find_grouped(const Context& context, const Node& weighted, GroupedMatch* match, bool* is_candidate) {
  *is_candidate = false;
  const ValueId product_shares = value_argument(weighted, 0);
  const ValueId shares = through_views(context, product_shares);
  Readers readers;
  const Node* softmax = under_guard(context, context.maker(shares), &match->guarded, &readers);
  if (softmax == nullptr || !softmax->is(OpId::softmax_out)) return Reason::kShape;
  *is_candidate = true;
  const ir::TensorType& type = context.type(softmax->results[0]);
  match->dtype = type.dtype;
  if (type.dtype != DType::kF32 && !has_16_bits(type.dtype)) return Reason::kDType;
  if (!is_rows(context, *match, weighted.results[0])) return Reason::kDType;
  const auto dim = context.number(softmax->args[arg::softmax_out::dim]);
  if (type.rank() < 3 || type.rank() > 4) return Reason::kOrder;
  if (dim != -1.0 && dim != static_cast<double>(type.rank() - 1)) return Reason::kOrder;
  const size_t first = type.rank() - 3;
  if (first == 1) match->batch = type.shape[0];
  match->heads = type.shape[first];
  // Heads of a batch whose size is not known, in one dimension: each is an image of its own.
  if (first == 0 && !match->heads.is_constant()) std::swap(match->batch, match->heads);
  match->queries = type.shape[first + 1];
  match->keys = type.shape[first + 2];
  if (!match->heads.is_constant() || match->heads == Dim(0)) return Reason::kOrder;
  const std::vector<Dim> each = {all_heads(context, *match), match->queries, match->keys};
  if (context.type(product_shares).shape != each) return Reason::kOrder;
  if (context.uses(shares) != 1 || context.uses(softmax->results[0]) != readers.softmax) return Reason::kReadElsewhere;
  const Node* scores = read_grouped_scores(context, value_argument(*softmax, 0), readers.scores, match);
  if (scores == nullptr) return Reason::kReadElsewhere;
  if (context.type(scores->results[0]).shape != each) return Reason::kOrder;
  match->query = value_argument(*scores, 0);
  match->size = context.type(match->query).shape[2];
  match->value_size = context.type(weighted.results[0]).shape[2];
  if (!is_rows(context, *match, match->query)) return Reason::kOrder;
  if (!read_caches(context, value_argument(*scores, 1), value_argument(weighted, 1), match)) return Reason::kOrder;
  if (match->mask.valid() && !grouped_mask_fits(context, *match)) return Reason::kShape;
  return Reason::kFused;
}

// Whether these hold the heads of each key side by side, so that they need not be copied apart.
bool reads_rows(const Context& context, const GroupedMatch& match, ValueId key, ValueId value) {
  if (!key.valid() || !value.valid() || context.type(key).dtype != context.type(value).dtype) return false;
  return context.type(key).shape == std::vector<Dim>{match.batch, match.keys, match.groups, match.size} &&
         context.type(value).shape == std::vector<Dim>{match.batch, match.keys, match.groups, match.value_size};
}

// Heads that lie in a convolution's channels, [batch, heads, tokens, size]: cut out of rows of tokens, which those of
// the same base share. Not valid where they lie elsewhere.
class HeadsOfChannels {
 public:
  HeadsOfChannels(Context& context, ir::Builder& build, const GroupedMatch& match, std::string source)
      : context_(context), build_(build), match_(match), source_(std::move(source)) {}

  Expected<ValueId> cut(ValueId value, Dim tokens, Dim size, bool turned) {
    if (!value.valid() || !is_row_major(context_, value)) return ValueId{};
    Strided from = strided(context_, value, false);
    const std::vector<Dim> sizes = {match_.batch, match_.heads, turned ? size : tokens, turned ? tokens : size};
    if (!regroup(context_.symbols(), sizes, &from) || !is_rows(context_, match_, from.base)) return ValueId{};
    const auto heads = channel_heads(context_, from, turned);
    const int64_t count = match_.heads.value;
    if (!heads || !cuts_heads(*heads, count) || !is_convolved(context_, heads->base)) return ValueId{};
    if (heads->base != base_ || tokens != tokens_) {
      BERTH_ASSIGN_OR_RETURN(rows_, rows_of_channels(context_, build_, *heads, match_.batch, tokens, source_));
      base_ = heads->base;
      tokens_ = tokens;
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId cut, heads_of_rows(context_, build_, *heads, count, rows_, source_));
    return permuted_by(build_, cut, {0, 2, 1, 3}, source_);
  }

 private:
  Context& context_;
  ir::Builder& build_;
  const GroupedMatch& match_;
  std::string source_;
  ValueId base_, rows_;
  Dim tokens_;
};

// Heads in channels become heads cut out of rows.
Status read_channels(Context& context, ir::Builder& build, const std::string& source, GroupedMatch* match) {
  if (match->queries == Dim(1)) return Done{};
  HeadsOfChannels heads(context, build, *match, source);
  BERTH_ASSIGN_OR_RETURN(const ValueId query, heads.cut(match->query, match->queries, match->size, false));
  if (query.valid()) match->query = query;
  if (match->groups != match->heads) return Done{};
  BERTH_ASSIGN_OR_RETURN(const ValueId key, heads.cut(match->turned_key, match->keys, match->size, true));
  if (key.valid()) {
    match->key = key;
    match->key_order.clear();
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId value, heads.cut(match->value, match->keys, match->value_size, false));
  if (value.valid()) match->value = value;
  return Done{};
}

// `limit` with an i64 for each query.
Expected<Argument> of_queries(Context& context, ir::Builder& build, const GroupedMatch& match, ValueId limit,
                              const std::string& source) {
  if (!limit.valid()) return Argument();
  BERTH_ASSIGN_OR_RETURN(const ValueId flat, with_shape(context, build, limit, {match.queries}, source));
  return Argument(flat);
}

Expected<passes::Action> fuse_grouped_product(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (!node.is(OpId::bmm_out) || !takes_bytes(context.target(id))) return passes::Action::keep();
  GroupedMatch match;
  bool is_candidate = false;
  const Reason reason = find_grouped(context, node, &match, &is_candidate);
  if (is_candidate) context.remark(node, reason, "berth::grouped_attention");
  if (reason != Reason::kFused) return passes::Action::keep();
  const bool is_bool = match.mask.valid() && context.type(match.mask).dtype == DType::kBool;
  if (is_bool && read_key_limits(context, match.mask, match.queries, match.keys, &match.limits)) match.mask = {};
  if (match.mask.valid()) context.remark(node, Reason::kMask, "berth::grouped_attention");
  const std::string source = node.source;
  const std::vector<Dim> shape = context.type(node.results[0]).shape;
  BERTH_TRY(read_channels(context, build, source, &match));
  BERTH_ASSIGN_OR_RETURN(const ValueId given,
                         with_shape(context, build, behind_views(context, match.query),
                                    {match.batch, match.heads, match.queries, match.size}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId query, wide_value(context, build, given, source));
  if (!match.key_order.empty()) {
    BERTH_ASSIGN_OR_RETURN(match.key, build.one(OpId::permute_copy_out, {match.key, match.key_order}, source));
  }
  ValueId key = match.key_order.empty() ? rows_of_heads(context, match.key) : ValueId{};
  ValueId value = rows_of_heads(context, match.value);
  const bool by_rows = reads_rows(context, match, key, value);
  if (!by_rows) {
    BERTH_ASSIGN_OR_RETURN(
        key, with_shape(context, build, match.key, {match.batch, match.groups, match.keys, match.size}, source));
    BERTH_ASSIGN_OR_RETURN(value, with_shape(context, build, match.value,
                                             {match.batch, match.groups, match.keys, match.value_size}, source));
  }
  BERTH_ASSIGN_OR_RETURN(const Argument last, of_queries(context, build, match, match.limits.last, source));
  BERTH_ASSIGN_OR_RETURN(const Argument before, of_queries(context, build, match, match.limits.before, source));
  Argument mask;
  if (match.mask.valid()) mask = match.mask;
  BERTH_ASSIGN_OR_RETURN(const ValueId made,
                         build.one(by_rows ? OpId::grouped_attention_rows_out : OpId::grouped_attention_out,
                                   {query, key, value, mask, last, before, match.scale, match.guarded}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId rounded, narrowed_value(build, made, match.dtype, source, ""));
  context.replaced(context.node(id).results[0], rounded);
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, rounded, shape, source));
  return result == rounded ? passes::Action::replace(rounded) : context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> fuse_grouped_attention(ir::Module& module, const Targets& targets,
                                                 const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(fuse_grouped_product); });
}

}  // namespace berth::fuse
