#include "compiler/ir/merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/ir/blob_set.h"
#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

template <typename Items>
std::set<std::string> names_of(const Items& items) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(item.name);
  return names;
}

/// Gives each name that is taken a suffix, which no other name has.
class FreshNames {
 public:
  explicit FreshNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  std::string operator()(const std::string& wish) {
    std::string name = wish;
    for (int suffix = 2; !taken_.insert(name).second; ++suffix) name = wish + "_" + std::to_string(suffix);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

/// The symbols of `from` as sizes of `into`.
class SymbolMerger {
 public:
  SymbolMerger(const Symbols& from, Symbols& into) : from_(from), into_(into) {
    for (const Symbol& symbol : all()) {
      if (symbol.kind == SymbolKind::kInput) own_.insert(symbol.name);
    }
    for (const SymbolId id : into_.ids()) {
      if (into_[id].kind == SymbolKind::kInput) relations_there_[into_[id].name] = into_.relations_about(id);
    }
    assume(SymbolId());
    for (const SymbolId id : from_.ids()) {
      dims_.push_back(moved(id));
      assume(id);
    }
  }

  void move(Dim& dim) const {
    if (!dim.is_constant()) dim = dims_[dim.symbol];
  }
  void move(TensorType& type) const {
    for (Dim& dim : type.shape) move(dim);
  }

 private:
  std::vector<Symbol> all() const {
    std::vector<Symbol> symbols;
    for (const SymbolId id : from_.ids()) symbols.push_back(from_[id]);
    return symbols;
  }

  /// The relations of `from` of which `last` is the newest symbol: as early as they were there.
  void assume(SymbolId last) {
    for (SizeRelation relation : from_.relations()) {
      if (std::max(relation.a.symbol, relation.b.symbol) != last) continue;
      move(relation.a);
      move(relation.b);
      const std::string wish = relation.name;
      for (int suffix = 2; relation.kind == SizeRelation::Kind::kNamed && into_.has_name(relation.name); ++suffix) {
        relation.name = wish + "_" + std::to_string(suffix);
      }
      const auto same = [&](const SizeRelation& known) {
        return known.kind == relation.kind && known.name == relation.name && known.a == relation.a &&
               known.b == relation.b;
      };
      const std::vector<SizeRelation>& known = into_.relations();
      if (std::none_of(known.begin(), known.end(), same)) into_.assume(std::move(relation));
    }
  }

  Dim moved(SymbolId id) {
    const Symbol& symbol = from_[id];
    Dim a = symbol.a;
    Dim b = symbol.b;
    move(a);
    move(b);
    switch (symbol.kind) {
      case SymbolKind::kInput: return input(symbol, from_.relations_about(id));
      case SymbolKind::kAdd: return into_.add(a, b);
      case SymbolKind::kMul: return into_.mul(a, b);
      case SymbolKind::kFloorDiv: return into_.floor_div(a, b);
      case SymbolKind::kMod: return into_.mod(a, b);
      case SymbolKind::kMax: return into_.max(a, b);
      case SymbolKind::kMin: return into_.min(a, b);
    }
    return Dim();
  }

  /// Two symbols of `from` never become one, nor do symbols of which different relations hold.
  Dim input(const Symbol& symbol, const std::set<std::string>& relations) {
    std::string name = symbol.name;
    for (int suffix = 2;; ++suffix) {
      const Symbol* known = into_.find(name);
      const bool fits = known == nullptr || (known->min == symbol.min && known->max == symbol.max &&
                                             known->step == symbol.step && relations_there_[name] == relations);
      if (fits && (name == symbol.name || own_.count(name) == 0) && used_.insert(name).second) break;
      name = symbol.name + "_" + std::to_string(suffix);
    }
    return into_.input(name, symbol.min, symbol.max, symbol.step).value();
  }

  const Symbols& from_;
  Symbols& into_;
  std::set<std::string> own_;                                     // names of its inputs
  std::set<std::string> used_;                                    // names that they have now
  std::map<std::string, std::set<std::string>> relations_there_;  // about inputs of `into`, before
  IdVector<SymbolId, Dim> dims_;
};

class Merger {
 public:
  explicit Merger(const MergeOptions& options) : options_(options) {}

  Status add(Module from) {
    if (out_.operators == nullptr) out_.operators = from.operators;
    if (from.operators != nullptr && from.operators != out_.operators) {
      return Failure{Error::kInvalidArgument, "", "two models were read with different sets of operators; use one"};
    }
    const SymbolMerger symbols(from.symbols, out_.symbols);
    const IdVector<ConstantId, ConstantId> constants = add_constants(from);
    BERTH_TRY(add_states(from));
    const int32_t first_delegate = out_.delegates.next_id().index;
    BERTH_TRY(add_delegates(from));
    for (Method& method : from.methods) {
      BERTH_TRY(check_name(method.name));
      method.renumber_constants(constants);
      for (Value& value : method.values) {
        if (TensorType* type = value.tensor()) symbols.move(*type);
      }
      const auto move = [&](Dim& dim) { symbols.move(dim); };
      for (Node& node : method.nodes) {
        for (Argument& argument : node.args) for_each_dim(argument, move);
        if (node.state.valid()) node.state = states_[node.state];
        if (node.delegate.valid()) node.delegate.index += first_delegate;
      }
      for_each_graph(method, method.body, [&](Graph& graph) {
        for (Argument& output : graph.outputs) for_each_dim(output, move);
      });
      out_.methods.push_back(std::move(method));
    }
    out_.files.insert(out_.files.end(), from.files.begin(), from.files.end());
    return Done{};
  }

  Module take() && { return std::move(out_); }

 private:
  IdVector<ConstantId, ConstantId> add_constants(Module& from) {
    IdVector<ConstantId, ConstantId> moved;
    for (Constant& constant : from.constants) {
      const auto add = [&] {
        return out_.add_constant(constant.name, std::move(constant.type), std::move(constant.blob));
      };
      if (constant.blob.is_splat()) {
        moved.push_back(add());
        continue;
      }
      std::vector<ConstantId>& equal = by_bytes_[blobs_.add(constant.blob)];
      ConstantId found;
      for (const ConstantId id : equal) {
        if (out_.constants[id].type == constant.type) found = id;
      }
      if (!found.valid()) equal.push_back(found = add());
      moved.push_back(found);
    }
    return moved;
  }

  Status add_states(Module& from) {
    states_.clear();
    std::unordered_map<std::string, StateId> known;
    for (const StateId id : out_.states.ids()) known.emplace(out_.states[id].name, id);
    FreshNames fresh(names_of(out_.states));
    for (State& state : from.states) {
      const auto same = known.find(state.name);
      if (options_.share_state && same != known.end()) {
        BERTH_TRY(check_same(out_.states[same->second], state));
        states_.push_back(same->second);
        continue;
      }
      states_.push_back(out_.states.next_id());
      state.name = fresh(state.name);
      out_.states.push_back(std::move(state));
    }
    return Done{};
  }

  static Status check_same(const State& a, const State& b) {
    const auto differ = [&](const std::string& what) {
      return Failure{Error::kInvalidArgument, "state " + named('@', a.name),
                     "two models have a state of this name, and " + what +
                         ", so they cannot share it; compile without --share-state, or export them from one model"};
    };
    if (a.type != b.type) return differ("its type differs");
    const bool same_start = a.initial.has_value() == b.initial.has_value() &&
                            (!a.initial.has_value() || Blob::equal(*a.initial, *b.initial));
    if (!same_start) return differ("it begins with other contents");
    return Done{};
  }

  Status add_delegates(Module& from) {
    FreshNames fresh(names_of(out_.delegates));
    for (Delegate& delegate : from.delegates) {
      delegate.name = fresh(delegate.name);
      out_.delegates.push_back(std::move(delegate));
    }
    for (NamedData& data : from.named_data) {
      const auto [known, is_new] = keys_.emplace(data.key, out_.named_data.size());
      if (is_new) {
        out_.named_data.push_back(std::move(data));
      } else if (!Blob::equal(out_.named_data[known->second].blob, data.blob)) {
        return Failure{
            Error::kInvalidArgument, "data " + quoted(data.key),
            "two programs have different bytes under this key, by which their delegates find it; they cannot "
            "be one program"};
      }
    }
    return Done{};
  }

  Status check_name(const std::string& name) {
    if (methods_.insert(name).second) return Done{};
    return Failure{Error::kInvalidArgument, "method " + identifier(name),
                   "two models have a method of this name; name them apart, NAME=MODEL"};
  }

  const MergeOptions& options_;
  Module out_;
  BlobSet blobs_;
  std::unordered_map<uint32_t, std::vector<ConstantId>> by_bytes_;  // constants of each of these blobs
  IdVector<StateId, StateId> states_;                               // of the module that is being added
  std::map<std::string, size_t> keys_;                              // of named data
  std::unordered_set<std::string> methods_;
};

}  // namespace

Expected<Module> merge(std::vector<Module> modules, const MergeOptions& options) {
  if (modules.size() == 1) return std::move(modules.front());
  Merger merger(options);
  for (Module& module : modules) BERTH_TRY(merger.add(std::move(module)));
  return std::move(merger).take();
}

}  // namespace berth::ir
