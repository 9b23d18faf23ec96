// Numbers: sizes and the arithmetic on them, done while the program is imported.
#include <cmath>

#include "compiler/import/pte/method_importer.h"

namespace berth::pte {
namespace {

bool starts_with(const std::string& text, std::string_view start) { return text.compare(0, start.size(), start) == 0; }

// As a double where it is known now.
std::optional<double> real(const Argument& number) {
  if (const Dim* dim = std::get_if<Dim>(&number); dim != nullptr && dim->is_constant()) {
    return static_cast<double>(dim->value);
  }
  if (const double* value = std::get_if<double>(&number)) return *value;
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? 1 : 0;
  return std::nullopt;
}

}  // namespace

// The tensor that a number was read from, as one without dimensions; invalid when it was not.
ValueId MethodImporter::number_in_tensor(Slot slot) const {
  const auto set = numbers_.find(slot);
  const ValueId* value = set == numbers_.end() ? nullptr : std::get_if<ValueId>(&set->second);
  return value == nullptr ? ValueId() : *value;
}

bool MethodImporter::is_unknown(Slot slot) const {
  const auto set = numbers_.find(slot);
  const ValueId* value = set == numbers_.end() ? nullptr : std::get_if<ValueId>(&set->second);
  return value != nullptr && !value->valid();
}

Expected<Argument> MethodImporter::number(Slot slot) {
  const auto set = numbers_.find(slot);
  if (set != numbers_.end()) {
    if (const ValueId* tensor = std::get_if<ValueId>(&set->second)) {
      if (tensor->valid()) return unsupported(slot_text(slot) + " is read from a tensor: it is known only at run time");
      return unsupported(slot_text(slot) + " is a number that depends on the path taken");
    }
    return set->second;
  }
  const fb::EValue& value = entry(slot);
  switch (value.val_type()) {
    case fb::KernelTypes::Null: return Argument(ir::None());
    case fb::KernelTypes::Int: return Argument(Dim(value.val_as_Int()->int_val()));
    case fb::KernelTypes::Bool: return Argument(value.val_as_Bool()->bool_val());
    case fb::KernelTypes::Double: return Argument(value.val_as_Double()->double_val());
    case fb::KernelTypes::String: return Argument(value.val_as_String()->string_val()->str());
    default: return invalid("expected a number, found " + slot_text(slot));
  }
}

Expected<Dim> MethodImporter::whole(Slot slot) {
  BERTH_ASSIGN_OR_RETURN(const Argument value, number(slot));
  if (const Dim* dim = std::get_if<Dim>(&value)) return *dim;
  return invalid("expected a whole number, found " + slot_text(slot));
}

Expected<DimList> MethodImporter::int_list(Slot slot) {
  const fb::IntList* list = entry(slot).val_as_IntList();
  if (list == nullptr) return invalid("expected a list of whole numbers, found " + slot_text(slot));
  BERTH_TRY(spend(list->items()->size()));
  DimList dims;
  for (int64_t item : *list->items()) {
    BERTH_ASSIGN_OR_RETURN(const Dim dim, whole(static_cast<Slot>(item)));
    dims.push_back(dim);
  }
  return dims;
}

// Of `aten::sym_size.int`, or of `aten::sym_numel`.
Expected<Dim> MethodImporter::size_asked_for(bool numel, const flatbuffers::Vector<int32_t>& args) {
  if (args.size() != (numel ? 2u : 3u)) return invalid("has the wrong number of arguments");
  BERTH_ASSIGN_OR_RETURN(const ValueId value, read(args.Get(0)));
  const DimList shape = method_.tensor(value).shape;
  if (numel) {
    Dim product(1);
    for (Dim d : shape) product = module_.symbols.mul(product, d);
    return product;
  }
  BERTH_ASSIGN_OR_RETURN(const Dim d, whole(args.Get(1)));
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (!d.is_constant() || d.value < -rank || d.value >= rank) return invalid("asks for a dimension that is not there");
  return shape[d.value < 0 ? d.value + rank : d.value];
}

Expected<bool> MethodImporter::import_prim(const std::string& name, const flatbuffers::Vector<int32_t>& args) {
  const bool size = name == "aten::sym_size.int";
  const bool numel = name == "aten::sym_numel";
  const bool item = name == "aten::_local_scalar_dense";
  const bool prim = starts_with(name, "executorch_prim::") && !starts_with(name, "executorch_prim::et_");
  if (!size && !numel && !item && !prim) return false;
  if (args.size() < 2 || args.size() > 4) {
    return invalid("expected two to four arguments, found " + std::to_string(args.size()));
  }
  const Slot out = args.Get(args.size() - 1);
  if (tensor(out) != nullptr) return invalid("gives a number, and " + slot_text(out) + " is a tensor");
  if (item) {  // it stays where it is: outputs and branches take it from there
    BERTH_ASSIGN_OR_RETURN(const ValueId value, read(args.Get(0)));
    BERTH_ASSIGN_OR_RETURN(const ValueId number, view(value, {}, slot_name(out)));
    numbers_[out] = number;
    return true;
  }
  if (size || numel) {
    BERTH_ASSIGN_OR_RETURN(const Dim result, size_asked_for(numel, args));
    numbers_[out] = result;
    return true;
  }
  // Berth's loops begin so: whatever a counter was, it is zero now.
  const bool is_int = entry(args.Get(0)).val_type() == fb::KernelTypes::Int;
  if (name == "executorch_prim::sub.Scalar" && args.size() == 3 && args.Get(0) == args.Get(1) && is_int) {
    numbers_[out] = Dim(0);
    return true;
  }
  std::vector<Argument> in;
  for (uint32_t i = 0; i + 1 < args.size(); ++i) {
    if (const ValueId value = number_in_tensor(args.Get(i)); value.valid()) {
      in.emplace_back(value);
      continue;
    }
    // Which row it is by turns in a `while` depends on the iteration; nothing else asks.
    if (turns_.count(out) != 0 && is_unknown(args.Get(i))) {
      numbers_[out] = ValueId();
      return true;
    }
    BERTH_ASSIGN_OR_RETURN(Argument value, number(args.Get(i)));
    in.push_back(std::move(value));
  }
  const std::string bare = name.substr(name.find("::") + 2);
  BERTH_ASSIGN_OR_RETURN(Argument result, apply(bare.substr(0, bare.find('.')), in));
  if (const Dim* dim = std::get_if<Dim>(&result)) {
    constexpr int kMaxTerms = 256;
    if (module_.symbols.terms(*dim) > kMaxTerms) return unsupported("makes a size of more than 256 terms");
  }
  numbers_[out] = std::move(result);
  return true;
}

Expected<Argument> MethodImporter::apply(const std::string& name, const std::vector<Argument>& in) {
  if (name == "sym_ite" && in.size() == 3) {
    const bool* which = std::get_if<bool>(&in[0]);
    if (which == nullptr) return apply_at_run_time(name, in);
    return *which ? in[1] : in[2];
  }
  const Dim* a = std::get_if<Dim>(&in[0]);
  const std::optional<double> x = real(in[0]);
  if (in.size() == 1) {
    if (name == "neg" && a != nullptr) return Argument(module_.symbols.mul(*a, Dim(-1)));
    if (name == "sym_int" && a != nullptr) return Argument(*a);
    if (!x.has_value()) return apply_at_run_time(name, in);
    if (name == "neg") return Argument(-*x);
    if (name == "sym_float") return Argument(*x);
    if (name == "sym_not") return Argument(*x == 0);
    if (!(std::abs(*x) < 9e18)) return invalid("expected a number that fits 64 bits");
    if (name == "sym_int" || name == "trunc") return Argument(Dim(static_cast<int64_t>(*x)));
    if (name == "ceil") return Argument(Dim(static_cast<int64_t>(std::ceil(*x))));
    if (name == "round") return Argument(Dim(static_cast<int64_t>(std::nearbyint(*x))));
    return unsupported("is an operator that Berth does not have");
  }
  if (in.size() != 2) return invalid("has the wrong number of arguments");
  const Dim* b = std::get_if<Dim>(&in[1]);
  if (a != nullptr && b != nullptr && name != "truediv") {
    BERTH_ASSIGN_OR_RETURN(Argument size, apply_whole(name, *a, *b));
    return ir::is_none(size) ? apply_at_run_time(name, in) : std::move(size);
  }
  const std::optional<double> y = real(in[1]);
  if (!x.has_value() || !y.has_value()) return apply_at_run_time(name, in);
  return apply_real(name, *x, *y);
}

// None where a size does not say it.
Expected<Argument> MethodImporter::apply_whole(const std::string& name, Dim a, Dim b) {
  ir::Symbols& symbols = module_.symbols;
  if (name == "add") return Argument(symbols.add(a, b));
  if (name == "sub") return Argument(symbols.sub(a, b));
  if (name == "mul") return Argument(symbols.mul(a, b));
  if (name == "sym_max") return Argument(symbols.max(a, b));
  if (name == "sym_min") return Argument(symbols.min(a, b));
  if (name == "floordiv" || name == "mod") {
    // Where C's rounding and Python's are the same.
    if (symbols.lower(b) < 1 || symbols.lower(a) < 0) return Argument(ir::None());
    return Argument(name == "mod" ? symbols.mod(a, b) : symbols.floor_div(a, b));
  }
  const int64_t low = symbols.lower(a), high = symbols.upper(a), from = symbols.lower(b), to = symbols.upper(b);
  const auto decided = [&](bool yes, bool no) -> Expected<Argument> {
    if (yes) return Argument(true);
    if (no) return Argument(false);
    return Argument(ir::None());
  };
  if (name == "eq") return decided(a == b, high < from || to < low);
  if (name == "lt") return decided(high < from, low >= to);
  if (name == "le") return decided(high <= from, low > to);
  if (name == "gt") return decided(low > to, high <= from);
  if (name == "ge") return decided(low >= to, high < from);
  return unsupported("is an operator that Berth does not have");
}

Expected<Argument> MethodImporter::apply_real(const std::string& name, double a, double b) {
  if (name == "add") return Argument(a + b);
  if (name == "sub") return Argument(a - b);
  if (name == "mul") return Argument(a * b);
  if (name == "truediv") return Argument(a / b);
  if (name == "floordiv" && b != 0) return Argument(std::floor(a / b));
  if (name == "eq") return Argument(a == b);
  if (name == "lt") return Argument(a < b);
  if (name == "le") return Argument(a <= b);
  if (name == "gt") return Argument(a > b);
  if (name == "ge") return Argument(a >= b);
  return unsupported("is arithmetic on numbers that Berth does not have");
}

}  // namespace berth::pte
