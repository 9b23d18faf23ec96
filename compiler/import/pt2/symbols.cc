#include "compiler/import/pt2/symbols.h"

#include <algorithm>

#include "compiler/import/pt2/expression.h"

namespace berth::pt2 {
namespace {

using lowering::Extent;
using lowering::kMaxExtent;

Failure wrong_symbol(const std::string& input, std::string message, Error code = Error::kInvalidArgument) {
  return Failure{code, "pt2 input \"" + input + "\"", std::move(message)};
}

std::string shape_hint(const TensorMeta& meta, size_t axis) {
  std::string text;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (i > 0) text += "x";
    const Size& size = meta.sizes[i];
    text += size.expression.empty() ? std::to_string(size.number) : i == axis ? "1..8" : plain_symbol(size.expression);
  }
  return text;
}

// f(s) = a * s + c.
struct Affine {
  int64_t a = 0, c = 0;
};

}  // namespace

std::string plain_symbol(const std::string& expression) {
  const std::vector<std::string> all = symbols_in(expression);
  const bool plain = all.size() == 1 && expression.rfind("Symbol('", 0) == 0 &&
                     expression.find('(', 7) == std::string::npos && expression.back() == ')';
  return plain ? all[0] : std::string();
}

std::vector<std::string> symbols_in(const std::string& expression) {
  std::vector<std::string> names;
  constexpr std::string_view kSymbol = "Symbol('";
  for (size_t at = expression.find(kSymbol); at != std::string::npos; at = expression.find(kSymbol, at + 1)) {
    const size_t start = at + kSymbol.size();
    const size_t end = expression.find('\'', start);
    if (end == std::string::npos) break;
    std::string name = expression.substr(start, end - start);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (names.size() > 64) break;
  }
  return names;
}

Expected<Dim> SymbolTable::value(const Size& size) {
  if (size.expression.empty()) return Dim(size.number);
  const auto known = expressions_.find(size.expression);
  if (known != expressions_.end()) return known->second;
  return evaluate_expression(size.expression, symbols_, [this](const std::string& name) {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  });
}

Expected<Dim> SymbolTable::bounded(const Size& size) {
  const std::string symbol = plain_symbol(size.expression);
  const auto found = ranges_.find(symbol);
  const bool known = symbol.empty() || values_.count(symbol) != 0 || found == ranges_.end();
  const Range range = known ? Range() : found->second;
  if (!range.has_min || !range.has_max || range.min < 0 || range.max > kMaxExtent || range.min > range.max) {
    return Failure{Error::kNotSupported, "", "the file does not say what it may be"};
  }
  std::string name = lowering::symbol_name(symbol);
  while (symbols_.find(name) != nullptr) name += "_";
  BERTH_ASSIGN_OR_RETURN(const Dim dim, symbols_.input(name, range.min, range.max));
  values_.emplace(symbol, dim);
  return dim;
}

void SymbolTable::learn(const Size& size, Dim dim) {
  const std::string symbol = plain_symbol(size.expression);
  if (!symbol.empty()) values_.emplace(symbol, dim);
}

// The model's range, narrowed by what the user gives.
Expected<Extent> SymbolTable::range_of(const SizedInput& input, size_t axis, const std::string& symbol,
                                       const Extent* given) const {
  const auto found = ranges_.find(symbol);
  const Range range = found == ranges_.end() ? Range() : found->second;
  Extent extent{range.has_min ? std::max<int64_t>(range.min, 0) : 0, kMaxExtent};
  const bool bounded = range.has_max && range.max < kMaxExtent;
  if (bounded) extent.upper = range.max;
  if (given != nullptr) {
    if (given->upper > extent.upper || given->lower < extent.lower) {
      return wrong_symbol(input.name, "--input-shape says " + text_of(*given) + " for dimension " +
                                          std::to_string(axis) + ", the model was exported for " +
                                          std::to_string(extent.lower) +
                                          (bounded ? ".." + std::to_string(extent.upper) : " and more"));
    }
    return *given;
  }
  if (extent.upper < extent.lower) return wrong_symbol(input.name, "'" + symbol + "' has an empty range");
  return extent;
}

const Extent* SymbolTable::given(const SizedInput& input, size_t axis) const {
  const auto extents = given_.find(input.name);
  return extents == given_.end() ? nullptr : &extents->second[axis];
}

Status SymbolTable::declare(const SizedInput& input, size_t axis, lowering::NamedSizes& sizes) {
  const std::string symbol = plain_symbol(input.meta->sizes[axis].expression);
  const std::string name = lowering::symbol_name(symbol);
  if (!sizes.has(name)) {
    sizes.declare(name);
    BERTH_ASSIGN_OR_RETURN(const Extent of_model, range_of(input, axis, symbol, nullptr));
    sizes.bound(name, of_model);
  }
  const Extent* extent = given(input, axis);
  if (extent == nullptr) return Done{};
  if (!extent->name.empty()) {
    sizes.rename(name, extent->name);
    return Done{};
  }
  BERTH_TRY(range_of(input, axis, symbol, extent));
  const auto [said, fresh] = said_.emplace(symbol, *extent);
  if (!fresh && (said->second.lower != extent->lower || said->second.upper != extent->upper)) {
    return wrong_symbol(input.name, "--input-shape says " + text_of(*extent) + " for '" + symbol +
                                        "', which another input has as " + text_of(said->second));
  }
  sizes.bound(name, *extent);
  return Done{};
}

Failure SymbolTable::ask_for_bounds(const std::vector<SizedInput>& inputs, const lowering::NamedSizes& sizes) const {
  std::string where;
  for (const std::string& name : sizes.unbounded()) where += " --where " + name + "=1..512";
  for (const SizedInput& input : inputs) {
    for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis) {
      const std::string symbol = plain_symbol(input.meta->sizes[axis].expression);
      if (symbol.empty() || sizes.known_as(lowering::symbol_name(symbol)) != sizes.unbounded()[0]) continue;
      return wrong_symbol(input.name, "dimension " + std::to_string(axis) + " ('" + symbol +
                                          "') has no upper bound, so no memory can be planned; export with "
                                          "torch.export.Dim(name, max=…), or pass" +
                                          where + ", or --input-shape " + input.name + "=" +
                                          shape_hint(*input.meta, axis));
    }
  }
  return wrong_symbol("", sizes.unbounded()[0] + " has no upper bound; pass" + where);
}

// Sizes that are symbols by themselves.
Status SymbolTable::bind_plain(const std::vector<SizedInput>& inputs, const ImportOptions& options) {
  lowering::NamedSizes sizes(symbols_);
  std::map<std::string, std::string> names;
  for (const SizedInput& input : inputs) {
    for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis) {
      const std::string symbol = plain_symbol(input.meta->sizes[axis].expression);
      if (symbol.empty() || values_.count(symbol) != 0) continue;
      BERTH_TRY(declare(input, axis, sizes));
      names.emplace(symbol, lowering::symbol_name(symbol));
    }
  }
  for (const std::string& text : options.where) BERTH_TRY(sizes.where(text));
  BERTH_TRY(sizes.solve());
  if (!sizes.unbounded().empty()) return ask_for_bounds(inputs, sizes);
  for (const auto& [symbol, name] : names) values_.emplace(symbol, sizes.find(name));
  return Done{};
}

// A size a * s + c of a symbol that no input has by itself: the size becomes the IR's symbol, s is (size - c) / a.
Status SymbolTable::bind_affine(const SizedInput& input, size_t axis, const Extent* given) {
  const Size& size = input.meta->sizes[axis];
  std::vector<std::string> open;
  for (const std::string& name : symbols_in(size.expression)) {
    if (values_.count(name) == 0) open.push_back(name);
  }
  if (open.empty()) return Done{};
  const auto odd = [&] {
    return wrong_symbol(
        input.name,
        "dimension " + std::to_string(axis) +
            " is an expression that Berth cannot solve for its symbol: " + size.expression.substr(0, 200),
        Error::kNotSupported);
  };
  if (open.size() > 1) return odd();
  const auto at = [&](int64_t s) -> Expected<int64_t> {
    values_[open[0]] = Dim(s);
    const auto result = value(size);
    values_.erase(open[0]);
    if (!result.ok()) return result.error();
    return result->is_constant() ? result->value : INT64_MIN;
  };
  int64_t y[4];
  for (int64_t s = 0; s < 4; ++s) {
    BERTH_ASSIGN_OR_RETURN(y[s], at(s));
    if (y[s] < -kMaxExtent || y[s] > kMaxExtent) return odd();
  }
  const Affine f{y[1] - y[0], y[0]};
  if (f.a < 1 || y[2] != 2 * f.a + f.c || y[3] != 3 * f.a + f.c) return odd();
  Extent of_symbol;
  if (given != nullptr) of_symbol = {(given->lower - f.c) / f.a, (given->upper - f.c) / f.a};
  BERTH_ASSIGN_OR_RETURN(const Extent s, range_of(input, axis, open[0], given == nullptr ? nullptr : &of_symbol));
  if (s.upper == kMaxExtent) {
    return wrong_symbol(input.name, "dimension " + std::to_string(axis) + " ('" + open[0] +
                                        "') has no upper bound, so no memory can be planned; export with "
                                        "torch.export.Dim(name, max=…), or pass --input-shape " +
                                        input.name + "=" + shape_hint(*input.meta, axis));
  }
  if (s.upper > kMaxExtent / f.a)
    return wrong_symbol(input.name, "dimension " + std::to_string(axis) + " may be too large");
  if (s.lower == s.upper) {
    values_.emplace(open[0], Dim(s.lower));
    return Done{};
  }
  std::string name = lowering::symbol_name(input.name) + "_" + std::to_string(axis);
  while (symbols_.find(name) != nullptr) name += "_";
  BERTH_ASSIGN_OR_RETURN(const Dim dim,
                         symbols_.input(name, std::max<int64_t>(f.a * s.lower + f.c, 0), f.a * s.upper + f.c));
  expressions_[size.expression] = dim;
  values_.emplace(open[0], symbols_.floor_div(symbols_.add(dim, Dim(-f.c)), Dim(f.a)));
  return Done{};
}

Status SymbolTable::read_options(const std::vector<SizedInput>& inputs, const std::map<std::string, Size>& numbers,
                                 const ImportOptions& options) {
  for (const auto& option : options.input_shapes) {
    const std::string& name = option.first;
    std::vector<Extent> extents;
    if (!lowering::parse_extents(option.second, &extents)) {
      return wrong_symbol(
          name, "--input-shape \"" + option.second + "\" is not a shape; write 1x3x224x224, or 1..8x3x224x224");
    }
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const SizedInput& i) { return i.name == name; });
    const auto number = numbers.find(name);
    if (input == inputs.end() && number == numbers.end()) {
      std::string known;
      for (const SizedInput& one : inputs) known += (known.empty() ? "" : ", ") + one.name;
      return wrong_symbol(name, "--input-shape names no input of the model; it has: " + known);
    }
    const size_t rank = input == inputs.end() ? 1 : input->meta->sizes.size();
    if (extents.size() != rank) {
      return wrong_symbol(name, "--input-shape has " + std::to_string(extents.size()) + " dimensions, the input " +
                                    std::to_string(rank));
    }
    if (input == inputs.end()) {
      if (!extents[0].name.empty() || extents[0].lower != extents[0].upper)
        return wrong_symbol(name, "is a number; --input-shape can only fix it");
      const std::string symbol = plain_symbol(number->second.expression);
      if (!symbol.empty()) values_.emplace(symbol, Dim(extents[0].lower));
    }
    if (!given_.emplace(name, std::move(extents)).second) return wrong_symbol(name, "--input-shape is given twice");
  }
  return Done{};
}

Status SymbolTable::check_input(const SizedInput& input) const {
  for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis) {
    const Size& size = input.meta->sizes[axis];
    const Extent* extent = given(input, axis);
    if (extent == nullptr || (!size.expression.empty() && !plain_symbol(size.expression).empty())) continue;
    if (!size.expression.empty()) {
      if (extent->name.empty()) continue;
      return wrong_symbol(input.name, "dimension " + std::to_string(axis) + " cannot be called " + extent->name +
                                          ", it is an expression of other sizes; give a range");
    }
    if (!extent->name.empty() || extent->lower != size.number || extent->upper != size.number) {
      return wrong_symbol(input.name,
                          "--input-shape says " + text_of(*extent) + " for dimension " + std::to_string(axis) +
                              ", which the model has as " + std::to_string(size.number) +
                              "; it sets what a model leaves open: export the model with that shape, or with the "
                              "dimension open (torch.export's dynamic_shapes)");
    }
  }
  return Done{};
}

Status SymbolTable::bind_inputs(const std::vector<SizedInput>& inputs, const std::map<std::string, Size>& numbers,
                                const ImportOptions& options) {
  BERTH_TRY(read_options(inputs, numbers, options));
  for (const SizedInput& input : inputs) BERTH_TRY(check_input(input));
  // Symbols by themselves before those in expressions; and what a user says about one input holds for the same symbol
  // of the others, so those with options go first.
  BERTH_TRY(bind_plain(inputs, options));
  for (const bool with_options : {true, false}) {
    for (const SizedInput& input : inputs) {
      if ((given_.count(input.name) != 0) != with_options) continue;
      for (size_t axis = 0; axis < input.meta->sizes.size(); ++axis) {
        const std::string& expression = input.meta->sizes[axis].expression;
        if (expression.empty() || !plain_symbol(expression).empty()) continue;
        BERTH_TRY(bind_affine(input, axis, given(input, axis)));
      }
    }
  }
  return Done{};
}

}  // namespace berth::pt2
