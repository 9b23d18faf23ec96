#include "compiler/emit/method_meta.h"

#include <algorithm>
#include <tuple>

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
    arena.lower_bound = static_cast<uint64_t>(lifetimes.arenas[k].bytes(plan.spaces[k].lower_bound));
    // The proof of a bound that counts alignment, or bytes behind the arena, is not written: its reader could not check
    // it by adding sizes.
    const int64_t step = step_with_load(lifetimes.problem, static_cast<int32_t>(k), plan.spaces[k].lower_bound);
    if (plan.spaces[k].optimal() && step >= 0 && lifetimes.arenas[k].behind == 0) {
      arena.proof = fb::Proof::LOAD;
      arena.step = emitted.first_instruction_of[static_cast<size_t>(step)];
    }
    arenas.push_back(arena);
  }
  return arenas;
}

/// `value` is computed by `node` in the bytes that `base` names: every argument that names them is its base in the
/// file.
void relate_in_place(const ir::Method& method, const Lifetimes& lifetimes, const EmittedMethod& emitted,
                     const Offer& offer, std::vector<fb::Relation>* relations) {
  const int32_t index = emitted.value_of[static_cast<size_t>(offer.value.index)];
  const int32_t storage = lifetimes.places[static_cast<size_t>(offer.base.index)].index;
  std::vector<int32_t> bases;
  for (const ir::Argument& argument : method.node(offer.node).args) {
    ir::for_each_value(argument, [&](const ir::ValueId& value) {
      const Place& place = lifetimes.places[static_cast<size_t>(value.index)];
      if (place.home != Home::kStorage || place.index != storage) return;
      const int32_t base = emitted.value_of[static_cast<size_t>(value.index)];
      if (std::find(bases.begin(), bases.end(), base) == bases.end()) bases.push_back(base);
    });
  }
  for (const int32_t base : bases) relations->emplace_back(index, base, fb::RelationKind::IN_PLACE);
}

/// The new value takes the place of the state, and of each view through which the old contents are read.
void relate_state(const ir::Method& method, const Lifetimes& lifetimes, const EmittedMethod& emitted,
                  const Successor& successor, std::vector<fb::Relation>* relations) {
  const int32_t index = emitted.value_of[static_cast<size_t>(successor.value.index)];
  const int32_t state = emitted.state_of[static_cast<size_t>(successor.state)];
  const int32_t storage = lifetimes.states[static_cast<size_t>(successor.state)];
  relations->emplace_back(index, state, fb::RelationKind::STATE);
  for (size_t v = 0; v < method.values.size(); ++v) {
    const Place& place = lifetimes.places[v];
    if (place.home != Home::kStorage || place.index != storage || !lifetimes.bases[v].valid()) continue;
    ir::ValueId root = lifetimes.bases[v];
    while (lifetimes.bases[static_cast<size_t>(root.index)].valid()) {
      root = lifetimes.bases[static_cast<size_t>(root.index)];
    }
    const bool old = method.node(method.value(root).node).is(ir::OpId::state_read);
    if (old && emitted.value_of[v] >= 0) {
      relations->emplace_back(index, emitted.value_of[v], fb::RelationKind::STATE);
    }
  }
}

/// The planner's choices and the states' successors, as the judge of files asks for them.
void relate_reuse(const ir::Method& method, const Lifetimes& lifetimes, const plan::Plan& plan,
                  const EmittedMethod& emitted, std::vector<fb::Relation>* relations) {
  for (size_t i = 0; i < plan.merged.size(); ++i) {
    if (!plan.merged[i]) continue;
    const Offer& offer = lifetimes.offers[i];
    if (offer.is_slot) {
      relations->emplace_back(emitted.value_of[static_cast<size_t>(offer.value.index)],
                              emitted.value_of[static_cast<size_t>(offer.base.index)], fb::RelationKind::VIEW);
    } else {
      relate_in_place(method, lifetimes, emitted, offer, relations);
    }
  }
  for (const Successor& successor : lifetimes.successors) {
    relate_state(method, lifetimes, emitted, successor, relations);
    if (!successor.base.valid()) continue;
    const ir::NodeId node = method.value(successor.value).node;
    relate_in_place(method, lifetimes, emitted, {node, successor.value, successor.base}, relations);
  }
}

/// The outputs whose names are not those of their values in the file; nothing when there are none.
std::vector<std::string> names_of_outputs(const ir::Method& method, const EmittedMethod& emitted,
                                          const std::vector<format::ValueNameDesc>& values) {
  std::vector<std::string> names(method.body.outputs.size());
  bool any = false;
  for (size_t k = 0; k < names.size(); ++k) {
    const int32_t index = emitted.desc.outputs[k];
    const auto named = std::lower_bound(values.begin(), values.end(), index,
                                        [](const auto& value, int32_t wanted) { return value.value < wanted; });
    const bool same = named != values.end() && named->value == index && named->name == method.output_name(k);
    if (same) continue;
    names[k] = method.output_name(k);
    any = any || !names[k].empty();
  }
  return any ? names : std::vector<std::string>();
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
  // A branch's result is the same value of the file as the node's, whose name it has.
  std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const auto& entry) {
      return std::make_tuple(entry.first, lifetimes.stands_for[entry.second].valid(), entry.second);
    };
    return rank(a) < rank(b);
  });
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
  if (names) meta.outputs = names_of_outputs(method, emitted, meta.values);
  relate_reuse(method, lifetimes, plan, emitted, &meta.relations);
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
