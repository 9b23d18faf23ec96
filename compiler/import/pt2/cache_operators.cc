// Operators of language models that write their caches in place, from executorch.extension.llm.custom_ops; and how
// torch.export functionalises them: auto_functionalized(operator, arguments…), whose results are the operator's own and
// then the new values of what it writes.
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

const Argument* argument_of(const Node& node, const std::string& name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

/// The call that a functionalised node stands for, and the tensors that it writes, in the order of the node's results.
struct Call {
  Node node;
  std::vector<std::string> written;
};

// auto_functionalized has written arguments under their own names.
void add_written(const Node& from, Span<const char* const> written, Call* call) {
  for (const char* name : written) {
    const Argument* a = argument_of(from, name);
    if (a != nullptr && a->kind == ArgumentKind::kTensor) call->written.push_back(a->names[0]);
  }
}

// auto_functionalized_v2 has them as indices into a list of bases, of which each may be a view.
Status add_bases(const Node& from, Span<const char* const> written, Call* call) {
  const Argument* bases = argument_of(from, "_all_bases");
  if (bases == nullptr || bases->kind != ArgumentKind::kTensors) {
    return Failure{Error::kInvalidProgram, "", "has no list of what it writes"};
  }
  call->written = bases->names;
  for (const char* name : written) {
    const std::string prefix = std::string("_") + name + "_";
    for (const NamedArgument& input : from.inputs) {
      const bool plain = input.name == prefix + "base_index" || input.name == prefix + "alias";
      if (!starts_with(input.name, prefix) || plain) continue;
      return Failure{Error::kNotSupported, "",
                     std::string("writes a view as its argument '") + name + "'; give it the whole tensor"};
    }
    const Argument* index = argument_of(from, prefix + "base_index");
    const bool known = index != nullptr && index->kind == ArgumentKind::kInt && index->ints[0] >= 0 &&
                       static_cast<uint64_t>(index->ints[0]) < bases->names.size();
    if (!known) return Failure{Error::kInvalidProgram, "", std::string("does not say what its '") + name + "' is"};
    Argument base;
    base.kind = ArgumentKind::kTensor;
    base.names = {bases->names[index->ints[0]]};
    call->node.inputs.push_back({name, base});
  }
  return Done{};
}

Expected<Call> call_of(const Node& from, const std::string& target) {
  const Span<const char* const> written = written_arguments(target);
  Call call;
  call.node = from;
  call.node.target = target;
  call.node.inputs.clear();
  call.node.outputs.clear();
  for (const NamedArgument& input : from.inputs) {
    if (input.value.kind != ArgumentKind::kOperator && !starts_with(input.name, "_")) call.node.inputs.push_back(input);
  }
  if (argument_of(from, "_all_bases") == nullptr) {
    add_written(from, written, &call);
  } else {
    BERTH_TRY(add_bases(from, written, &call));
  }
  return call;
}

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

const std::string* functionalized_target(const Node& node) {
  if (!starts_with(node.target, "torch.ops.higher_order.auto_functionalized")) return nullptr;
  for (const NamedArgument& input : node.inputs) {
    if (input.value.kind == ArgumentKind::kOperator) return &input.value.text;
  }
  return nullptr;
}

void import_functionalized(NodeContext& n) {
  const std::string* target = functionalized_target(n.node());
  if (target == nullptr) return n.invalid("names no operator");
  const Importer importer = find_importer(*target, n.state().module.operators.get());
  if (importer.import == nullptr || written_arguments(*target).empty()) {
    return n.unsupported("Berth does not have the operator " + *target);
  }
  Expected<Call> call = call_of(n.node(), *target);
  if (!call.ok()) return n.fail(call.error().code, call.error().message);
  if (call->written.size() > n.output_count()) return n.invalid("has fewer results than it writes tensors");
  const size_t own = n.output_count() - call->written.size();
  for (size_t i = 0; i < own; ++i) {
    Argument result;
    result.kind = ArgumentKind::kTensor;
    result.names = {n.output_name(i)};
    call->node.outputs.push_back(std::move(result));
  }
  // What it writes keeps its value: the new one is a result.
  std::vector<Operand> before;
  for (const std::string& name : call->written) before.push_back(n.scope()[name]);
  NodeContext within(n.state(), n.builder(), n.scope(), n.graph(), call->node);
  importer.import(within);
  if (!within.ok()) return n.fail_with(within.failure());
  std::vector<IrArgument> after;
  for (size_t i = 0; i < before.size(); ++i) {
    Operand& operand = n.scope()[call->written[i]];
    after.push_back(operand.value);
    operand = before[i];
  }
  for (size_t i = 0; i < after.size(); ++i) n.output(own + i, after[i]);
}

}  // namespace berth::pt2
