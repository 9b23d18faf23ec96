#include "compiler/emit/method_meta.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/emit/stacks.h"

namespace berth::emit {
namespace {

using ir::Dim;
using ir::SymbolId;

// MAX and MIN are flatc's own names, of the last and the first kind.
fb::SymbolKind kind_of(ir::SymbolKind kind) {
  switch (kind) {
    case ir::SymbolKind::kInput: return fb::SymbolKind::INPUT;
    case ir::SymbolKind::kAdd: return fb::SymbolKind::ADD;
    case ir::SymbolKind::kMul: return fb::SymbolKind::MUL;
    case ir::SymbolKind::kFloorDiv: return fb::SymbolKind::FLOOR_DIV;
    case ir::SymbolKind::kMod: return fb::SymbolKind::MOD;
    case ir::SymbolKind::kMax: return fb::SymbolKind::MAXIMUM;
    case ir::SymbolKind::kMin: return fb::SymbolKind::MINIMUM;
  }
  BERTH_CHECK(false);
}

/// The module's symbols that a method's values have as dimensions, numbered anew.
class MethodSymbols {
 public:
  explicit MethodSymbols(const ir::Symbols& symbols) : symbols_(symbols), used_(symbols.size(), false) {}

  void use(Dim dim) {
    if (!dim.is_constant()) used_[dim.symbol] = true;
  }

  /// Whether everything that `dim` mentions is there. REQUIRES: describe() has run.
  bool has(Dim dim) const { return dim.is_constant() || numbers_[dim.symbol] >= 0; }

  /// Also what relations are between sizes, so far as the method has these; what they are computed from is then there
  /// too.
  void use_relations() {
    for (const ir::SizeRelation& relation : symbols_.relations()) {
      if (relation.kind == ir::SizeRelation::Kind::kNamed || !all_inputs_used(relation)) continue;
      use(relation.a);
      use(relation.b);
    }
  }

  std::vector<format::SizeRelationDesc> relations() const {
    std::vector<format::SizeRelationDesc> all;
    for (const ir::SizeRelation& relation : symbols_.relations()) {
      const bool named = relation.kind == ir::SizeRelation::Kind::kNamed;
      if (!has(relation.a) || !has(relation.b) || (named && relation.a.is_constant())) continue;
      format::SizeRelationDesc desc;
      desc.kind = named                                             ? fb::SizeRelationKind::NAMED
                  : relation.kind == ir::SizeRelation::Kind::kEqual ? fb::SizeRelationKind::EQUAL
                                                                    : fb::SizeRelationKind::AT_MOST;
      desc.a = operand(relation.a);
      desc.b = operand(relation.b);
      desc.text = symbols_.text(relation);
      for (const SymbolId s : inputs_of(relation)) desc.symbols.push_back(numbers_[s]);
      all.push_back(std::move(desc));
    }
    return all;
  }

  std::vector<format::SymbolDesc> describe() {
    // Operands have smaller numbers than what is computed from them.
    for (SymbolId s{static_cast<int32_t>(used_.size()) - 1}; s.valid(); --s.index) {
      const ir::Symbol& symbol = symbols_[s];
      if (!used_[s] || symbol.kind == ir::SymbolKind::kInput) continue;
      use(symbol.a);
      use(symbol.b);
    }
    numbers_.assign(used_.size(), -1);
    std::vector<format::SymbolDesc> all;
    for (SymbolId s : used_.ids()) {
      if (!used_[s]) continue;
      const ir::Symbol& symbol = symbols_[s];
      format::SymbolDesc desc;
      desc.name = symbol.name;
      desc.kind = kind_of(symbol.kind);
      desc.min = symbol.min;
      desc.max = symbol.max;
      desc.step = symbol.step;
      if (symbol.kind != ir::SymbolKind::kInput) {
        desc.a = operand(symbol.a);
        desc.b = operand(symbol.b);
      }
      numbers_[s] = static_cast<int32_t>(all.size());
      all.push_back(std::move(desc));
    }
    return all;
  }

  int32_t number(Dim dim) const { return numbers_[dim.symbol]; }

 private:
  fb::Operand operand(Dim dim) const {
    return dim.is_constant() ? fb::Operand(dim.value, -1) : fb::Operand(0, number(dim));
  }

  void mark_inputs(Dim dim, std::set<SymbolId>* inputs) const {
    if (dim.is_constant()) return;
    const ir::Symbol& symbol = symbols_[dim.symbol];
    if (symbol.kind == ir::SymbolKind::kInput) {
      inputs->insert(dim.symbol);
      return;
    }
    mark_inputs(symbol.a, inputs);
    mark_inputs(symbol.b, inputs);
  }

  std::set<SymbolId> inputs_of(const ir::SizeRelation& relation) const {
    std::set<SymbolId> inputs;
    mark_inputs(relation.a, &inputs);
    mark_inputs(relation.b, &inputs);
    return inputs;
  }

  bool all_inputs_used(const ir::SizeRelation& relation) const {
    const std::set<SymbolId> inputs = inputs_of(relation);
    return std::all_of(inputs.begin(), inputs.end(), [&](SymbolId s) { return used_[s]; });
  }

  const ir::Symbols& symbols_;
  IdVector<SymbolId, bool> used_;
  IdVector<SymbolId, int32_t> numbers_;
};

/// The first step of `space` in which the live bytes are `load`; -1 when there is none.
int64_t step_with_load(const memory::Buffers& buffers, int32_t space, int64_t load) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // (step, bytes); deaths sort before births
  for (const packing::Buffer& buffer : buffers.all) {
    if (buffer.space != space || buffer.size == 0) continue;
    changes.emplace_back(buffer.lower, buffer.size);
    changes.emplace_back(buffer.upper, -buffer.size);
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0;
  for (const auto& [step, bytes] : changes) {
    live += bytes;
    if (live == load) return step;
  }
  return -1;
}

std::vector<format::ArenaPlanDesc> describe_arenas(const memory::MethodPlan& plan, const EmittedMethod& emitted) {
  std::vector<format::ArenaPlanDesc> arenas;
  for (size_t k = 0; k < plan.packing.spaces.size(); ++k) {
    const packing::SpaceUse& use = plan.packing.spaces[k];
    const memory::Arena& from = plan.model.arenas[k];
    format::ArenaPlanDesc arena;
    arena.memory_id = static_cast<uint32_t>(k + 1);
    arena.alignment = static_cast<uint32_t>(from.alignment);
    arena.lower_bound = static_cast<uint64_t>(from.bytes(use.lower_bound));
    arena.bank = from.bank;
    arena.capacity = from.bank_bytes < 0 ? 0 : static_cast<uint64_t>(from.bank_bytes);
    // The proof of a bound that counts alignment, or bytes behind the arena, is not written: its reader could not check
    // it by adding sizes.
    const int64_t step = step_with_load(plan.model.buffers, static_cast<int32_t>(k), use.lower_bound);
    if (use.optimal() && step >= 0 && from.behind == 0) {
      arena.proof = fb::Proof::LOAD;
      arena.step = emitted.first_instruction_of[step];
    }
    arenas.push_back(arena);
  }
  return arenas;
}

/// Which value of the file was computed in the bytes of which.
class ReuseRelations {
 public:
  ReuseRelations(const ir::Method& method, const memory::MemoryModel& model, const EmittedMethod& emitted,
                 std::vector<fb::Relation>* relations)
      : method_(method), aliases_(model.aliases), model_(model), emitted_(emitted), relations_(*relations) {}

  /// The planner's choices and the states' updates, as the judge of files asks for them.
  void add(const packing::Plan& plan) {
    for (const memory::CandidateId id : model_.candidates.all.ids()) {
      if (!is_taken(plan, id)) continue;
      const memory::AliasCandidate& taken = model_.candidates.all[id];
      switch (taken.kind) {
        case memory::AliasKind::kInPlace: add_in_place(taken.node, taken.value, taken.base); break;
        case memory::AliasKind::kSubBuffer: add_part(taken.value, taken.base); break;
        case memory::AliasKind::kInScratch: add_in_scratch(taken); break;
      }
    }
    for (const ir::NodeId id : method_.nodes.ids()) add_results_in_scratch(id);
    for (const memory::StateUpdate& update : aliases_.state_updates) {
      add_state(update);
      if (update.base.valid()) add_in_place(method_.value(update.value).node, update.value, update.base);
    }
  }

 private:
  int32_t index_of(ir::ValueId value) const { return emitted_.value_of[value]; }

  bool lies_in(ir::ValueId value, memory::BufferId buffer) const { return aliases_.homes[value].is(buffer); }

  /// `part` may be a view of what is written, and that is a part too: a judge of files asks what is written where.
  void add_part(ir::ValueId part, ir::ValueId whole) {
    for (; part.valid(); part = base_of(part)) {
      if (index_of(part) >= 0) relations_.emplace_back(index_of(part), index_of(whole), fb::RelationKind::VIEW);
    }
  }

  /// `value` is computed by `node` in the bytes that `base` names: every argument that names them is its base in the
  /// file.
  void add_in_place(ir::NodeId node, ir::ValueId value, ir::ValueId base) {
    const memory::BufferId buffer = aliases_.homes[base].buffer;
    std::vector<int32_t> bases;
    for (const ir::Argument& argument : method_.node(node).args) {
      ir::for_each_value(argument, [&](const ir::ValueId& read) {
        if (!lies_in(read, buffer)) return;
        if (std::find(bases.begin(), bases.end(), index_of(read)) == bases.end()) bases.push_back(index_of(read));
      });
    }
    for (const int32_t its : bases) relations_.emplace_back(index_of(value), its, fb::RelationKind::IN_PLACE);
  }

  /// The delegate writes its scratch, in the bytes of what it reads.
  void add_in_scratch(const memory::AliasCandidate& taken) {
    relations_.emplace_back(scratch_of(taken.node), index_of(taken.value), fb::RelationKind::IN_PLACE);
  }

  /// It makes results in its scratch.
  void add_results_in_scratch(ir::NodeId id) {
    const ir::Node& node = method_.node(id);
    if (!node.is(ir::OpId::delegate) || node.results.empty() || scratch_of(id) < 0) return;
    const memory::BufferId own = model_.buffers.scratch[id];
    const memory::BufferId scratch = own.valid() ? own : aliases_.homes[node.results.back()].buffer;
    for (const ir::ValueId result : node.results) {
      if (!lies_in(result, scratch) || index_of(result) == scratch_of(id)) continue;
      relations_.emplace_back(index_of(result), scratch_of(id), fb::RelationKind::IN_PLACE);
    }
  }

  /// What was compiled before and read from a program has its scratch as its last result.
  int32_t scratch_of(ir::NodeId call) const {
    const int32_t own = emitted_.scratch_of[call];
    return own >= 0 ? own : index_of(method_.node(call).results.back());
  }

  /// The new value takes the place of the state, and of each view through which the old contents are read.
  void add_state(const memory::StateUpdate& update) {
    const int32_t state = emitted_.state_of[update.state];
    const memory::BufferId buffer = model_.buffers.states[update.state];
    relations_.emplace_back(index_of(update.value), state, fb::RelationKind::STATE);
    for (const ir::ValueId value : method_.values.ids()) {
      if (!lies_in(value, buffer) || !base_of(value).valid()) continue;
      ir::ValueId root = value;
      while (base_of(root).valid()) root = base_of(root);
      const bool old = method_.node(method_.value(root).node).is(ir::OpId::state_read);
      if (old && index_of(value) >= 0) {
        relations_.emplace_back(index_of(update.value), index_of(value), fb::RelationKind::STATE);
      }
    }
  }

  ir::ValueId base_of(ir::ValueId value) const { return aliases_.bases[value]; }

  const ir::Method& method_;
  const memory::Aliases& aliases_;
  const memory::MemoryModel& model_;
  const EmittedMethod& emitted_;
  std::vector<fb::Relation>& relations_;
};

/// What the file says of the operators of one's own that the method calls.
class OwnOperators {
 public:
  OwnOperators(const ir::Method& method, const memory::MemoryModel& model, const EmittedMethod& emitted)
      : method_(method), model_(model) {
    for (const ir::NodeId id : method.nodes.ids()) {
      const ir::Operator& op = *method.node(id).op;
      if (op.own == nullptr) continue;
      for (size_t i = 0; i < emitted.desc.operators.size(); ++i) {
        const format::OperatorDesc& named = emitted.desc.operators[i];
        if (named.name == op.name && named.overload == op.out_overload) found_[&op] = static_cast<int32_t>(i);
      }
      if (found_.count(&op) == 0) continue;
      all_[found_[&op]].index = found_[&op];
    }
  }

  /// A plan needs no more than what it does.
  void allow(const packing::Plan& plan) {
    for (const memory::CandidateId id : model_.candidates.all.ids()) {
      const memory::AliasCandidate& taken = model_.candidates.all[id];
      if (is_taken(plan, id) && taken.kind == memory::AliasKind::kInPlace) allow(taken.node, taken.base);
    }
    for (const memory::StateUpdate& update : model_.aliases.state_updates) {
      if (update.base.valid()) allow(method_.value(update.value).node, update.base);
    }
  }

  std::vector<format::OwnOperatorDesc> take() && {
    std::vector<format::OwnOperatorDesc> list;
    for (const auto& entry : all_) list.push_back(entry.second);
    return list;
  }

 private:
  /// The arguments of `node` that lie where `base` does.
  void allow(ir::NodeId id, ir::ValueId base) {
    const ir::Node& node = method_.node(id);
    const auto own = found_.find(node.op);
    if (own == found_.end()) return;
    const memory::BufferId buffer = model_.aliases.homes[base].buffer;
    for (size_t k = 0; k < node.args.size(); ++k) {
      ir::for_each_value(node.args[k], [&](const ir::ValueId& read) {
        if (model_.aliases.homes[read].is(buffer)) all_[own->second].in_place |= 1u << k;
      });
    }
  }

  const ir::Method& method_;
  const memory::MemoryModel& model_;
  std::map<const ir::Operator*, int32_t> found_;    // index in the file
  std::map<int32_t, format::OwnOperatorDesc> all_;  // by index
};

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

format::MethodMetaDesc method_meta(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                   const EmittedMethod& emitted, bool names) {
  const memory::Aliases& aliases = plan.model.aliases;
  format::MethodMetaDesc meta;
  meta.name = method.name;
  MethodSymbols symbols(module.symbols);
  std::vector<std::pair<int32_t, ir::ValueId>> values;  // (index in the file, value of the method)
  for (const ir::ValueId v : method.values.ids()) {
    if (emitted.value_of[v] >= 0) values.emplace_back(emitted.value_of[v], v);
  }
  // A branch's result is the same value of the file as the node's, whose name it has.
  std::sort(values.begin(), values.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const auto& entry) {
      return std::make_tuple(entry.first, aliases.stands_for[entry.second].valid(), entry.second);
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
    const ir::ValueId base = aliases.bases[v];
    // A constant never changes, and one that only its views use is not in the file.
    if (base.valid() && aliases.homes[v].home == memory::Home::kBuffer) {
      meta.relations.emplace_back(index, emitted.value_of[base], fb::RelationKind::VIEW);
    }
  }
  if (names) meta.outputs = names_of_outputs(method, emitted, meta.values);
  ReuseRelations(method, plan.model, emitted, &meta.relations).add(plan.packing);
  if (names) symbols.use_relations();
  meta.symbols = symbols.describe();
  if (names) meta.size_relations = symbols.relations();
  for (const auto& [index, v] : values) {
    const std::vector<Dim>& shape = method.values[v].tensor()->shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is_constant())
        meta.dimensions.emplace_back(index, static_cast<int32_t>(d), symbols.number(shape[d]));
    }
  }
  meta.arenas = describe_arenas(plan, emitted);
  if (follows_sizes(module, method)) meta.stacks = make_stacks(plan, emitted.desc);
  OwnOperators own(method, plan.model, emitted);
  own.allow(plan.packing);
  meta.own_operators = std::move(own).take();
  return meta;
}

}  // namespace berth::emit
