#include "compiler/import/onnx/input_shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/math.h"
#include "compiler/import/lowering/named_sizes.h"
#include "compiler/import/onnx/literal.h"

namespace berth::onnx {
namespace {

using lowering::kMaxExtent;
using lowering::parse_extents;
using lowering::symbol_name;

/// The shape that the model gives, with '?' or the symbol's name where it gives none.
std::string model_shape(const ValueInfo& input) {
  std::string text;
  for (const Dimension& d : input.shape) {
    if (!text.empty()) text += "x";
    text += d.has_value ? std::to_string(d.value) : d.symbol.empty() ? "?" : std::string(d.symbol);
  }
  return text;
}

/// A shape that --input-shape takes, with small numbers where the model gives none.
std::string example_shape(const ValueInfo& input) {
  std::string text;
  for (size_t i = 0; i < input.shape.size(); ++i) {
    const Dimension& d = input.shape[i];
    text += (i == 0 ? "" : "x") + std::to_string(d.has_value ? d.value : i == 0 ? 1 : 8);
  }
  return text;
}

class InputTypes {
 public:
  InputTypes(ir::Symbols& symbols, const std::vector<const ValueInfo*>& inputs, const ImportOptions& options)
      : inputs_(inputs), options_(options), sizes_(symbols), symbols_(symbols) {}

  Expected<std::vector<ir::TensorType>> run() {
    BERTH_TRY(read_options());
    for (const ValueInfo* input : inputs_) BERTH_TRY(check_input(*input));
    for (const ValueInfo* input : inputs_) declare(*input);
    for (const ValueInfo* input : inputs_) BERTH_TRY(bind_symbols(*input));
    for (const ValueInfo* input : inputs_) take_expressions(*input);
    for (const std::string& text : options_.where) BERTH_TRY(sizes_.where(text));
    BERTH_TRY(sizes_.solve());
    if (!sizes_.unbounded().empty()) return ask_for_bounds();
    std::vector<ir::TensorType> types;
    for (const ValueInfo* input : inputs_) {
      auto type = type_of(*input);
      if (!type.ok()) return type.error();
      types.push_back(std::move(*type));
    }
    return types;
  }

 private:
  static Failure wrong(std::string_view input, std::string message, Error code = Error::kInvalidArgument) {
    return Failure{code, "onnx input \"" + std::string(input) + "\"", std::move(message)};
  }

  Status read_options() {
    std::set<std::string> names;
    for (const ValueInfo* input : inputs_) {
      for (size_t i = 0; i < input->shape.size(); ++i) {
        if (is_open(*input, i)) names.insert(symbol_name(key_of(*input, i)));
      }
    }
    for (const auto& [name, text] : options_.input_shapes) {
      const ValueInfo* input = nullptr;
      std::string known;
      for (const ValueInfo* one : inputs_) {
        if (one->name == name) input = one;
        known += (known.empty() ? "" : ", ") + std::string(one->name);
      }
      if (input == nullptr) return wrong(name, "--input-shape names no input of the model; it has: " + known);
      std::vector<Extent> extents;
      const bool fits = input->has_shape && lowering::parse_extents_of_rank(text, input->shape.size(), names, &extents);
      if (!fits && !parse_extents(text, &extents, names)) {
        return wrong(name, "--input-shape \"" + text + "\" is not a shape; write 1x3x224x224, or 1..8x3x224x224");
      }
      if (!given_.emplace(name, std::move(extents)).second) return wrong(name, "--input-shape is given twice");
    }
    return Done{};
  }

  Status check_input(const ValueInfo& input) {
    DType dtype = DType::kF32;
    if (!input.is_tensor)
      return wrong(input.name, "is not a tensor, a sequence of tensors or an optional one", Error::kNotSupported);
    if (!dtype_of(input.element_type, &dtype)) {
      return wrong(input.name, "has elements of " + element_type_name(input.element_type) + ", which no operator takes",
                   Error::kNotSupported);
    }
    const auto given = given_.find(input.name);
    if (!input.has_shape && given == given_.end()) {
      return wrong(input.name,
                   "has no shape in the model; pass --input-shape " + std::string(input.name) + "=1x3x224x224");
    }
    if (rank_of(input) > kMaxRank) {
      return wrong(input.name, "has " + std::to_string(rank_of(input)) + " dimensions; at most 16 are allowed");
    }
    for (size_t i = 0; i < input.shape.size(); ++i) {
      const Dimension& d = input.shape[i];
      if (!d.has_value || (d.value >= 0 && d.value <= kMaxExtent)) continue;
      return wrong(input.name, "dimension " + std::to_string(i) + " is " + std::to_string(d.value));
    }
    return given == given_.end() || !input.has_shape ? Status(Done{}) : check_given(input);
  }

  Status check_given(const ValueInfo& input) {
    const auto given = given_.find(input.name);
    const std::vector<Extent>& extents = given->second;
    const auto contradiction = [&](const char* advice) {
      return wrong(input.name, "--input-shape contradicts the model, which says " + model_shape(input) + advice);
    };
    if (extents.size() != input.shape.size()) {
      return contradiction(given_name(extents) ? "; a new name of a size has no x, which stands between two" : "");
    }
    for (size_t i = 0; i < extents.size(); ++i) {
      const Dimension& d = input.shape[i];
      const bool fits = extents[i].name.empty() && extents[i].lower == d.value && extents[i].upper == d.value;
      if (!d.has_value || fits) continue;
      return contradiction(
          "; it sets what a model leaves open: export the model with that shape, or with the dimension open "
          "(torch.onnx.export's dynamic_shapes or dynamic_axes)");
    }
    return Done{};
  }

  static bool given_name(const std::vector<Extent>& extents) {
    return std::any_of(extents.begin(), extents.end(), [](const Extent& e) { return !e.name.empty(); });
  }

  size_t rank_of(const ValueInfo& input) const {
    const auto given = given_.find(input.name);
    return input.has_shape || given == given_.end() ? input.shape.size() : given->second.size();
  }

  static bool is_open(const ValueInfo& input, size_t i) { return i >= input.shape.size() || !input.shape[i].has_value; }

  // What the model calls a size: its text, or the place of one that has none.
  static std::string key_of(const ValueInfo& input, size_t i) {
    const std::string_view text = i < input.shape.size() ? input.shape[i].symbol : std::string_view();
    return text.empty() ? std::string(input.name) + "_" + std::to_string(i) : std::string(text);
  }

  // What its symbol is called. "N+1" and "N-1" differ in what a name does not have.
  const std::string& size_name(const ValueInfo& input, size_t i) const { return names_.at(key_of(input, i)); }

  void declare(const ValueInfo& input) {
    for (size_t i = 0; i < rank_of(input); ++i) {
      if (!is_open(input, i) || names_.count(key_of(input, i)) != 0) continue;
      const std::string wish = symbol_name(key_of(input, i));
      std::string name = wish;
      for (int suffix = 2; sizes_.has(name); ++suffix) name = wish + "_" + std::to_string(suffix);
      names_.emplace(key_of(input, i), name);
      sizes_.declare(name);
    }
  }

  // Names are given one after the other: one that the model has stays with its size.
  Status rename(const ValueInfo& input, const std::string& name, const std::string& now) {
    if (name == now) return Done{};
    if (renamed_.count(now) != 0 || new_names_.count(name) != 0) {
      return wrong(input.name, "--input-shape gives the name " + (renamed_.count(now) != 0 ? now : name) +
                                   " to one size and another name to the size that the model calls so; use a new name");
    }
    renamed_.insert(name);
    new_names_.insert(now);
    sizes_.rename(name, now);
    return Done{};
  }

  Status bind_symbols(const ValueInfo& input) {
    const auto given = given_.find(input.name);
    if (given == given_.end()) return Done{};
    for (size_t i = 0; i < given->second.size(); ++i) {
      if (!is_open(input, i)) continue;
      const Extent& extent = given->second[i];
      const std::string name = size_name(input, i);
      if (!extent.name.empty()) {
        BERTH_TRY(rename(input, name, extent.name));
        continue;
      }
      const auto [bound, fresh] = bound_.emplace(name, extent);
      if (!fresh && (bound->second.lower != extent.lower || bound->second.upper != extent.upper)) {
        return wrong(input.name, "--input-shape says " + text_of(extent) + " for '" +
                                     std::string(input.shape[i].symbol) + "', which another input has as " +
                                     text_of(bound->second));
      }
      sizes_.bound(name, extent);
    }
    return Done{};
  }

  // Exporters call a size "past + 1" where they know it to be that.
  void take_expressions(const ValueInfo& input) {
    for (size_t i = 0; i < input.shape.size(); ++i) {
      if (!is_open(input, i)) continue;
      const std::string name = size_name(input, i);
      const bool known = bound_.count(name) != 0 || sizes_.known_as(name) != name;
      if (known || !expressions_.insert(name).second) continue;
      const std::string text(input.shape[i].symbol);
      // Of a name that no input has by itself, a product with a number alone: "batch-size" is a name.
      const std::string factor = factor_of(text);
      if (!factor.empty() && !sizes_.has(factor)) sizes_.declare(factor);
      sizes_.where_model_says(name, text);
    }
  }

  // "H8" of "8*H8", as torch.onnx.export calls a size that is a multiple; empty for other texts.
  static std::string factor_of(const std::string& text) {
    const size_t star = text.find('*');
    if (star == 0 || star == std::string::npos || text.find_first_not_of("0123456789") != star) return "";
    const std::string name = text.substr(star + 1);
    return !name.empty() && symbol_name(name) == name ? name : "";
  }

  Failure ask_for_bounds() const {
    std::string sizes;
    std::string where;
    for (const std::string& name : sizes_.unbounded()) {
      sizes += (sizes.empty() ? "" : ", ") + name;
      where += " --where " + name + "=1..512";
    }
    const auto lacks_bound = [&](const ValueInfo* input) {
      for (size_t i = 0; i < rank_of(*input); ++i) {
        const auto& open = sizes_.unbounded();
        if (!is_open(*input, i)) continue;
        const std::string names[] = {sizes_.known_as(size_name(*input, i)), factor_of(key_of(*input, i))};
        if (std::find_first_of(open.begin(), open.end(), names, names + 2) != open.end()) return true;
      }
      return false;
    };
    const auto lacking = std::find_if(inputs_.begin(), inputs_.end(), lacks_bound);
    const ValueInfo& first = lacking == inputs_.end() ? *inputs_.front() : **lacking;
    return wrong(first.name, "is " + model_shape(first) + " in the model, which has no bounds for " + sizes + "; pass" +
                                 where + " (or numbers, " + sizes_.unbounded()[0] + "=1), or --input-shape " +
                                 std::string(first.name) + "=" + example_shape(first));
  }

  Expected<ir::TensorType> type_of(const ValueInfo& input) {
    ir::TensorType type;
    static_cast<void>(dtype_of(input.element_type, &type.dtype));
    for (size_t i = 0; i < rank_of(input); ++i) {
      type.shape.push_back(is_open(input, i) ? sizes_.find(size_name(input, i)) : ir::Dim(input.shape[i].value));
    }
    if (ir::max_numel(type, symbols_) > kMaxElements) return wrong(input.name, "has more than 2^40 elements");
    return type;
  }

  const std::vector<const ValueInfo*>& inputs_;
  const ImportOptions& options_;
  lowering::NamedSizes sizes_;
  ir::Symbols& symbols_;
  std::map<std::string, std::vector<Extent>, std::less<>> given_;
  std::map<std::string, Extent> bound_;
  std::map<std::string, std::string> names_;   // of sizes, by what the model calls them
  std::set<std::string> renamed_, new_names_;  // by --input-shape
  std::set<std::string> expressions_;
};

}  // namespace

Expected<std::vector<ir::TensorType>> input_types(ir::Symbols& symbols, const std::vector<const ValueInfo*>& inputs,
                                                  const ImportOptions& options) {
  return InputTypes(symbols, inputs, options).run();
}

}  // namespace berth::onnx
