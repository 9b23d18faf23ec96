// Sizes that the file bounds and does not fix.
#include <algorithm>

#include "compiler/import/pte/method_importer.h"
#include "compiler/ir/shape_args.h"

namespace berth::pte {

// Methods that bound a size differently, or of which other relations hold, have symbols of their own.
Expected<Dim> MethodImporter::input_symbol(const std::string& name, int64_t min, int64_t max, int64_t step,
                                           const std::set<std::string>& relations) {
  ir::SymbolId id;
  const ir::Symbol* known = module_.symbols.find(name, &id);
  const bool taken = known != nullptr && (known->min != min || known->max != max || known->step != step ||
                                          module_.symbols.relations_about(id) != relations);
  return module_.symbols.input(taken ? name + "_" + method_.name : name, min, max, step);
}

// Those of which symbol `last` is the newest, so that later ones are computed with them. What another method says too
// is there already.
void MethodImporter::read_size_relations(int32_t last) {
  using Kind = ir::SizeRelation::Kind;
  const auto operand = [&](const fb::Operand* o) {
    return o->symbol() < 0 ? Dim(o->constant()) : symbols_[o->symbol()];
  };
  for (uint32_t i = 0; i < format::length(meta_->size_relations()); ++i) {
    const fb::SizeRelation& from = *meta_->size_relations()->Get(i);
    const bool named = from.kind() == fb::SizeRelationKind::NAMED;
    if (std::max(from.a()->symbol(), named ? -1 : from.b()->symbol()) != last) continue;
    ir::SizeRelation relation;
    relation.a = operand(from.a());
    if (named) {
      const std::string text = format::text(from.text());
      relation.kind = Kind::kNamed;
      relation.name = text.substr(0, text.find(" == "));
      if (relation.name.empty() || module_.symbols.has_name(relation.name)) continue;
    } else {
      relation.kind = from.kind() == fb::SizeRelationKind::EQUAL ? Kind::kEqual : Kind::kAtMost;
      relation.b = operand(from.b());
    }
    const auto same = [&](const ir::SizeRelation& r) {
      return r.kind == relation.kind && r.name == relation.name && r.a == relation.a && r.b == relation.b;
    };
    const auto& known = module_.symbols.relations();
    if (std::none_of(known.begin(), known.end(), same)) module_.symbols.assume(std::move(relation));
  }
}

// The texts of the file's relations that mention the input symbol `index`.
std::set<std::string> MethodImporter::relations_about(int32_t index) const {
  std::set<std::string> texts;
  for (uint32_t i = 0; i < format::length(meta_->size_relations()); ++i) {
    const fb::SizeRelation& relation = *meta_->size_relations()->Get(i);
    const auto* symbols = relation.symbols();
    const bool mentions = symbols != nullptr && std::find(symbols->begin(), symbols->end(), index) != symbols->end();
    if (mentions) texts.insert(format::text(relation.text()));
  }
  return texts;
}

// The symbols of berth.meta as Dims of the module.
Status MethodImporter::read_symbols() {
  if (meta_ == nullptr) return Done{};
  for (uint32_t i = 0; i < format::length(meta_->symbols()); ++i) {
    if (i > 0) read_size_relations(static_cast<int32_t>(i) - 1);
    const fb::Symbol& symbol = *meta_->symbols()->Get(i);
    if (symbol.kind() == fb::SymbolKind::INPUT) {
      const std::string name = format::text(symbol.name());
      BERTH_ASSIGN_OR_RETURN(const Dim dim,
                             input_symbol(name, symbol.min(), symbol.max(), std::max<int64_t>(symbol.step(), 1),
                                          relations_about(static_cast<int32_t>(i))));
      symbols_.push_back(dim);
      continue;
    }
    const auto operand = [&](const fb::Operand* o) {
      if (o == nullptr) return Dim(0);
      return o->symbol() < 0 ? Dim(o->constant()) : symbols_[o->symbol()];
    };
    const Dim a = operand(symbol.a());
    const Dim b = operand(symbol.b());
    ir::Symbols& symbols = module_.symbols;
    const bool divides = symbol.kind() == fb::SymbolKind::FLOOR_DIV || symbol.kind() == fb::SymbolKind::MOD;
    if (divides && symbols.lower(b) < 1) return invalid("berth.meta has a size that is divided by what may be zero");
    switch (symbol.kind()) {
      case fb::SymbolKind::ADD: symbols_.push_back(symbols.add(a, b)); break;
      case fb::SymbolKind::MUL: symbols_.push_back(symbols.mul(a, b)); break;
      case fb::SymbolKind::FLOOR_DIV: symbols_.push_back(symbols.floor_div(a, b)); break;
      case fb::SymbolKind::MOD: symbols_.push_back(symbols.mod(a, b)); break;
      case fb::SymbolKind::MAXIMUM: symbols_.push_back(symbols.max(a, b)); break;
      case fb::SymbolKind::MINIMUM: symbols_.push_back(symbols.min(a, b)); break;
      default: return invalid("berth.meta has a size of a kind that Berth does not know");
    }
  }
  read_size_relations(static_cast<int32_t>(symbols_.size()) - 1);
  for (uint32_t i = 0; i < format::length(meta_->dimensions()); ++i) {
    const fb::SymbolicDimension& one = *meta_->dimensions()->Get(i);
    dimensions_[{one.value(), one.dimension()}] = one.symbol();
  }
  return Done{};
}

Expected<ir::TensorType> MethodImporter::input_type(int position, Slot slot) {
  ir::TensorType type = declared_type(slot);
  const bool open = tensor(slot)->shape_dynamism() != fb::TensorShapeDynamism::STATIC;
  for (size_t d = 0; open && d < type.shape.size(); ++d) {
    BERTH_ASSIGN_OR_RETURN(type.shape[d], input_size(position, slot, static_cast<int>(d)));
  }
  return held(std::move(type), slot);
}

// `type`, if the IR has such tensors.
Expected<ir::TensorType> MethodImporter::held(ir::TensorType type, Slot slot) const {
  const std::string problem = ir::type_problem(type, module_.symbols);
  if (!problem.empty()) return unsupported(slot_text(slot) + ": " + problem);
  return type;
}

Expected<Dim> MethodImporter::input_size(int position, Slot slot, int dimension) {
  const int64_t bound = tensor(slot)->sizes()->Get(static_cast<uint32_t>(dimension));
  if (!dimensions_.empty()) {
    const auto known = dimensions_.find({slot, dimension});
    return known == dimensions_.end() ? Dim(bound) : symbols_[known->second];
  }
  InputDim key(position, dimension);
  for (auto same = facts_.same.find(key); same != facts_.same.end(); same = facts_.same.find(key)) key = same->second;
  const auto number = facts_.numbers.find(key);
  if (number != facts_.numbers.end()) return Dim(number->second);
  if (bound <= 1) return Dim(bound);
  const bool made = key.first >= kMadeHere;
  const std::string owner = made ? "v" + std::to_string(key.first - kMadeHere) : "s" + std::to_string(key.first);
  BERTH_ASSIGN_OR_RETURN(const Dim dim, input_symbol(owner + "_" + std::to_string(key.second), made ? 0 : 1, bound));
  free_[dim.symbol] = key;
  return dim;
}

// Every symbol in `dim` is at its upper end. Whether that says anything new.
bool MethodImporter::learn_number(Dim dim, int64_t number) {
  if (dim.is_constant() || module_.symbols.upper(dim) != number) return false;
  const auto open = free_.find(dim.symbol);
  if (open != free_.end()) {
    learned_ = facts_.numbers.emplace(open->second, module_.symbols.upper(dim)).second || learned_;
    return true;
  }
  const ir::Symbol symbol = module_.symbols[dim.symbol];
  if (symbol.kind == ir::SymbolKind::kInput || module_.symbols.terms(dim) > 16) return false;
  const bool left = learn_number(symbol.a, module_.symbols.upper(symbol.a));
  return learn_number(symbol.b, module_.symbols.upper(symbol.b)) || left;
}

void MethodImporter::learn(Dim a, Dim b) {
  if (a == b) return;
  if (b.is_constant() && b.value != 1) {
    learn_number(a, b.value);
  } else if (a.is_constant() && a.value != 1) {
    learn_number(b, a.value);
  } else if (!a.is_constant() && !b.is_constant() && module_.symbols.upper(a) == module_.symbols.upper(b)) {
    const auto left = free_.find(a.symbol);
    const auto right = free_.find(b.symbol);
    if (left == free_.end() || right == free_.end() || left->second == right->second) return;
    const InputDim first = std::min(left->second, right->second);
    const InputDim second = std::max(left->second, right->second);
    learned_ = facts_.same.emplace(second, first).second || learned_;
  }
}

// An operator does not take its arguments: sizes that stand opposite each other are taken to be equal where their
// bounds are.
void MethodImporter::learn_from(const std::vector<Argument>& args) {
  if (free_.empty()) return;
  std::vector<DimList> shapes;
  for (const Argument& arg : args) {
    ir::for_each_value(arg, [&](const ValueId& v) {
      const ir::TensorType* type = method_.value(v).tensor();
      if (type != nullptr && shapes.size() < 16) shapes.push_back(type->shape);
    });
    if (const DimList* list = std::get_if<DimList>(&arg)) shapes.push_back(*list);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t j = i + 1; j < shapes.size(); ++j) {
      const size_t common = std::min(shapes[i].size(), shapes[j].size());
      for (size_t d = 1; d <= common; ++d) learn(shapes[i][shapes[i].size() - d], shapes[j][shapes[j].size() - d]);
    }
  }
}

// A size that only contents tell: the file may know a smaller bound than the operator's row.
Status MethodImporter::bound_by_file(Slot slot, ValueId value) {
  const ir::TensorType& type = *method_.value(value).tensor();
  const fb::Tensor& t = *tensor(slot);
  if (type.shape.empty() || type.shape.size() != format::length(t.sizes()) || type.shape[0].is_constant())
    return Done{};
  const ir::Node& maker = method_.node(method_.value(value).node);
  if (!maker.op->sized_by_contents || module_.symbols.upper(type.shape[0]) <= t.sizes()->Get(0)) return Done{};
  BERTH_ASSIGN_OR_RETURN(const Dim size, input_size(kMadeHere + slot, slot, 0));
  if (size.is_constant()) return Done{};
  ir::TensorType bound = type;
  bound.shape[0] = size;
  BERTH_ASSIGN_OR_RETURN(*method_.value(value).tensor(), held(std::move(bound), slot));
  return Done{};
}

// What was inferred against what the file says of `slot`.
Status MethodImporter::check_type(Slot slot, const ir::TensorType& type) {
  const fb::Tensor& t = *tensor(slot);
  const DimList declared = declared_type(slot).shape;
  const bool bounded = t.shape_dynamism() != fb::TensorShapeDynamism::STATIC;
  const std::string place = slot_text(slot);
  if (declared.size() != type.shape.size()) {
    return invalid(place + " has " + std::to_string(declared.size()) +
                   " dimensions in the file, and the operator gives " + std::to_string(type.shape.size()));
  }
  for (size_t d = 0; d < declared.size(); ++d) {
    if (bounded || type.shape[d] == declared[d]) continue;
    learn_number(type.shape[d], declared[d].value);
    return invalid(place + " has size " + std::to_string(declared[d].value) + " in dimension " + std::to_string(d) +
                   " in the file, and the operator gives " + module_.symbols.text(type.shape[d]));
  }
  return Done{};
}

}  // namespace berth::pte
