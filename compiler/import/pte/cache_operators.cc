// Operators of language models that write their caches in place, from ExecuTorch's extension/llm/custom_ops. They are
// lowered as those of torch.export's archives are.
#include "compiler/import/lowering/cached_attention.h"
#include "compiler/import/pte/method_importer.h"

namespace berth::pte {
namespace {

// Where the arguments of each stand; -1: it has none. `out` is the last of the schema, which the file repeats.
struct CacheOperator {
  std::string_view name;
  int query, key, value, key_cache, value_cache, start, places, mask, causal, scale, out;
};

constexpr CacheOperator kOperators[] = {
    {"llama::custom_sdpa.out", 0, -1, -1, 1, 2, 3, -1, 4, 6, 7, 8},
    {"llama::sdpa_with_kv_cache.out", 0, 1, 2, 3, 4, 5, -1, 7, 9, 10, 11},
    {"llama::update_cache.out", -1, 0, -1, 1, -1, 2, -1, -1, -1, -1, 3},
    {"llama::update_cache_with_indices.out", -1, 0, -1, 1, -1, 2, 3, -1, -1, -1, 4},
};

const CacheOperator* find_cache_operator(std::string_view name) {
  for (const CacheOperator& one : kOperators) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

// A number, or the tensor that it is read from.
Expected<Argument> MethodImporter::any_number(Slot slot) {
  if (const ValueId held = number_in_tensor(slot); held.valid()) return Argument(held);
  return number(slot);
}

Expected<bool> MethodImporter::import_cache_operator(const flatbuffers::Vector<int32_t>& args) {
  const CacheOperator* op = find_cache_operator(operator_);
  if (op == nullptr) return false;
  if (args.size() <= static_cast<uint32_t>(op->out)) {
    return invalid("has only " + std::to_string(args.size()) + " arguments");
  }
  const auto slot = [&](int position) { return args.Get(static_cast<uint32_t>(position)); };
  const auto tensor_at = [&](int position) -> Expected<ValueId> {
    return position < 0 ? Expected<ValueId>(ValueId()) : read(slot(position));
  };
  const bool masked = op->mask >= 0 && entry(slot(op->mask)).val_type() != fb::KernelTypes::Null;
  const Slot out = slot(op->out);
  lowering::CachedAttention a;
  BERTH_ASSIGN_OR_RETURN(a.query, tensor_at(op->query));
  BERTH_ASSIGN_OR_RETURN(const ValueId key, tensor_at(op->key));
  BERTH_ASSIGN_OR_RETURN(const ValueId value, tensor_at(op->value));
  BERTH_ASSIGN_OR_RETURN(a.keys, tensor_at(op->key_cache));
  BERTH_ASSIGN_OR_RETURN(a.values, tensor_at(op->value_cache));
  BERTH_ASSIGN_OR_RETURN(const ValueId places, tensor_at(op->places));
  BERTH_ASSIGN_OR_RETURN(a.mask, tensor_at(masked ? op->mask : -1));
  BERTH_ASSIGN_OR_RETURN(a.start, any_number(slot(op->start)));
  if (op->causal >= 0) {
    BERTH_ASSIGN_OR_RETURN(const Argument causal, number(slot(op->causal)));
    BERTH_ASSIGN_OR_RETURN(const Argument scale, number(slot(op->scale)));
    const bool* truth = std::get_if<bool>(&causal);
    if (truth == nullptr) return invalid("expected a truth value, found " + slot_text(slot(op->causal)));
    a.causal = *truth;
    if (const double* factor = std::get_if<double>(&scale)) a.scale = *factor;
  }
  const std::string type = "it";
  ir::Builder build(module_, method_, *graph_);
  lowering::Lowering n(build, {"", type, "instruction " + std::to_string(instruction_), slot_name(out)});
  if (key.valid()) {
    a.keys =
        places.valid() ? lowering::put_rows_at(n, a.keys, key, places) : lowering::put_rows(n, a.keys, key, a.start);
  }
  if (value.valid()) a.values = lowering::put_rows(n, a.values, value, a.start);
  ValueId result;
  if (a.query.valid()) {
    result = lowering::cached_attention(n, a);
  } else if (tensor(out) != nullptr) {  // of what only writes: it means nothing
    const ir::TensorType declared = declared_type(out);
    result = n.splat(declared.dtype, declared.shape, 0);
  }
  if (!n.ok()) return fail(n.failure().code, n.failure().message.substr(type.size() + 2));
  if (key.valid()) BERTH_TRY(define(slot(op->key_cache), a.keys));
  if (value.valid()) BERTH_TRY(define(slot(op->value_cache), a.values));
  BERTH_TRY(define(out, result));
  return true;
}

}  // namespace berth::pte
