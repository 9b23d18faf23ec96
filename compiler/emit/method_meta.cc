#include "compiler/emit/method_meta.h"

#include <algorithm>

namespace berth::emit {
namespace {

using ir::Dim;
using ir::SymbolId;

fb::SymbolKind kind_of(ir::SymbolKind kind) {
  switch (kind) {
    case ir::SymbolKind::kInput: return fb::SymbolKind::INPUT;
    case ir::SymbolKind::kAdd: return fb::SymbolKind::ADD;
    case ir::SymbolKind::kMul: return fb::SymbolKind::MUL;
    case ir::SymbolKind::kFloorDiv: return fb::SymbolKind::FLOOR_DIV;
    case ir::SymbolKind::kMod: return fb::SymbolKind::MOD;
    case ir::SymbolKind::kMax: return fb::SymbolKind::MAX;
    case ir::SymbolKind::kMin: return fb::SymbolKind::MIN;
  }
  BERTH_CHECK(false);
}

/// The module's symbols that a method's values have as dimensions, numbered anew.
class MethodSymbols {
 public:
  explicit MethodSymbols(const ir::Symbols& symbols) : symbols_(symbols), used_(symbols.size(), false) {}

  void use(Dim dim) {
    if (!dim.is_constant()) used_[static_cast<size_t>(dim.symbol)] = true;
  }

  std::vector<format::SymbolDesc> describe() {
    // Operands have smaller numbers than what is computed from them.
    for (size_t s = used_.size(); s-- > 0;) {
      const ir::Symbol& symbol = symbols_[static_cast<SymbolId>(s)];
      if (!used_[s] || symbol.kind == ir::SymbolKind::kInput) continue;
      use(symbol.a);
      use(symbol.b);
    }
    numbers_.assign(used_.size(), -1);
    std::vector<format::SymbolDesc> all;
    for (size_t s = 0; s < used_.size(); ++s) {
      if (!used_[s]) continue;
      const ir::Symbol& symbol = symbols_[static_cast<SymbolId>(s)];
      format::SymbolDesc desc;
      desc.name = symbol.name;
      desc.kind = kind_of(symbol.kind);
      desc.min = symbol.min;
      desc.max = symbol.max;
      if (symbol.kind != ir::SymbolKind::kInput) {
        desc.a = operand(symbol.a);
        desc.b = operand(symbol.b);
      }
      numbers_[s] = static_cast<int32_t>(all.size());
      all.push_back(std::move(desc));
    }
    return all;
  }

  int32_t number(Dim dim) const { return numbers_[static_cast<size_t>(dim.symbol)]; }

 private:
  fb::Operand operand(Dim dim) const {
    return dim.is_constant() ? fb::Operand(dim.value, -1) : fb::Operand(0, number(dim));
  }

  const ir::Symbols& symbols_;
  std::vector<bool> used_;
  std::vector<int32_t> numbers_;
};

/// The first step of `space` in which the live bytes are `load`; -1 when there is none.
int64_t step_with_load(const plan::Problem& problem, int32_t space, int64_t load) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // (step, bytes); deaths sort before births
  for (const plan::Storage& storage : problem.storages) {
    if (storage.space != space || storage.size == 0) continue;
    changes.emplace_back(storage.lower, storage.size);
    changes.emplace_back(storage.upper, -storage.size);
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0;
  for (const auto& [step, bytes] : changes) {
    live += bytes;
    if (live == load) return step;
  }
  return -1;
}

std::vector<format::ArenaPlanDesc> describe_arenas(const Lifetimes& lifetimes, const plan::Plan& plan,
                                                   const EmittedMethod& emitted) {
  std::vector<format::ArenaPlanDesc> arenas;
  for (size_t k = 0; k < plan.spaces.size(); ++k) {
    format::ArenaPlanDesc arena;
    arena.memory_id = static_cast<uint32_t>(k + 1);
    arena.alignment = static_cast<uint32_t>(lifetimes.arenas[k].alignment);
    arena.lower_bound = static_cast<uint64_t>(plan.spaces[k].lower_bound);
    // The proof of a bound that counts alignment is not written: its reader could not check it by adding sizes.
    const int64_t step = step_with_load(lifetimes.problem, static_cast<int32_t>(k), plan.spaces[k].lower_bound);
    if (plan.spaces[k].optimal() && step >= 0) {
      arena.proof = fb::Proof::LOAD;
      arena.step = emitted.first_instruction_of[static_cast<size_t>(step)];
    }
    arenas.push_back(arena);
  }
  return arenas;
}

}  // namespace

format::MethodMetaDesc method_meta(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes,
                                   const plan::Plan& plan, const EmittedMethod& emitted, bool names) {
  format::MethodMetaDesc meta;
  meta.name = method.name;
  MethodSymbols symbols(module.symbols);
  std::vector<std::pair<int32_t, size_t>> values;  // (index in the file, index in the method)
  for (size_t v = 0; v < method.values.size(); ++v) {
    if (emitted.value_of[v] >= 0) values.emplace_back(emitted.value_of[v], v);
  }
  std::sort(values.begin(), values.end());
  // Several reads of one state are one value of the file; its name is the state's own.
  values.erase(std::unique(values.begin(), values.end(), [](auto& a, auto& b) { return a.first == b.first; }),
               values.end());
  for (const auto& [index, v] : values) {
    const ir::Value& value = method.values[v];
    const bool has_source = value.kind == ir::ValueKind::kNode;
    if (names) meta.values.push_back({index, value.name, has_source ? method.node(value.node).source : ""});
    for (const Dim dim : value.tensor()->shape) symbols.use(dim);
    const ir::ValueId base = lifetimes.bases[v];
    // A constant never changes, and one that only its views use is not in the file.
    if (base.valid() && lifetimes.places[v].home == Home::kStorage) {
      meta.relations.emplace_back(index, emitted.value_of[static_cast<size_t>(base.index)], fb::RelationKind::VIEW);
    }
  }
  meta.symbols = symbols.describe();
  for (const auto& [index, v] : values) {
    const std::vector<Dim>& shape = method.values[v].tensor()->shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is_constant())
        meta.dimensions.emplace_back(index, static_cast<int32_t>(d), symbols.number(shape[d]));
    }
  }
  meta.arenas = describe_arenas(lifetimes, plan, emitted);
  return meta;
}

}  // namespace berth::emit
