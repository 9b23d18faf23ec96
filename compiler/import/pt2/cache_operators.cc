// Operators of language models that write their caches in place, from executorch.extension.llm.custom_ops.
#include "compiler/import/lowering/cached_attention.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

constexpr const char* kCache[] = {"cache"};
constexpr const char* kTwoCaches[] = {"key_cache", "value_cache"};

// A whole number, which may be read from a tensor.
IrArgument number_argument(NodeContext& n, std::string_view name) {
  const Argument* a = n.argument(name);
  if (a == nullptr) {
    n.invalid("argument '" + std::string(name) + "' is missing");
    return None();
  }
  const bool named = a->kind == ArgumentKind::kSymInt && !a->names[0].empty();
  const auto found = named ? n.scope().find(a->names[0]) : n.scope().end();
  if (found == n.scope().end() || !found->second.unknown.empty()) return n.value(*a, name);
  return found->second.value;
}

lowering::CachedAttention attention_of(NodeContext& n) {
  lowering::CachedAttention a;
  a.query = n.tensor("query");
  a.start = number_argument(n, "start_pos");
  if (n.has("attn_mask")) a.mask = n.tensor("attn_mask");
  a.causal = n.truth("is_causal", false);
  a.scale = n.number("scale", 0);
  return a;
}

void import_custom_sdpa(NodeContext& n) {
  lowering::CachedAttention a = attention_of(n);
  a.keys = n.tensor("key");
  a.values = n.tensor("value");
  n.output(lowering::cached_attention(n, a));
}

void import_sdpa_with_kv_cache(NodeContext& n) {
  lowering::CachedAttention a = attention_of(n);
  a.keys = lowering::put_rows(n, n.tensor("key_cache"), n.tensor("key"), a.start);
  a.values = lowering::put_rows(n, n.tensor("value_cache"), n.tensor("value"), a.start);
  n.write("key_cache", a.keys);
  n.write("value_cache", a.values);
  n.output(lowering::cached_attention(n, a));
}

// The result of what only writes is a tensor of one element, which means nothing.
void nothing(NodeContext& n, ValueId cache) { n.output(n.splat(n.dtype(cache), {Dim(1)}, 0)); }

void import_update_cache(NodeContext& n) {
  const ValueId cache = n.tensor("cache");
  n.write("cache", lowering::put_rows(n, cache, n.tensor("value"), number_argument(n, "start_pos")));
  nothing(n, cache);
}

void import_update_cache_with_indices(NodeContext& n) {
  const ValueId cache = n.tensor("cache");
  n.write("cache", lowering::put_rows_at(n, cache, n.tensor("value"), n.tensor("indices")));
  nothing(n, cache);
}

constexpr OperatorRow kCacheRows[] = {
    {"llama::custom_sdpa", import_custom_sdpa},
    {"llama::sdpa_with_kv_cache", import_sdpa_with_kv_cache},
    {"llama::update_cache", import_update_cache},
    {"llama::update_cache_with_indices", import_update_cache_with_indices},
};

}  // namespace

OperatorTable cache_operators() { return kCacheRows; }

Span<const char* const> written_arguments(const std::string& target) {
  std::string space;
  const std::string name = operator_name(target, &space);
  const std::string base = name.substr(0, name.find('.'));
  if (space != "llama") return {};
  if (base == "sdpa_with_kv_cache") return kTwoCaches;
  if (base == "update_cache" || base == "update_cache_with_indices") return kCache;
  return {};
}

}  // namespace berth::pt2
