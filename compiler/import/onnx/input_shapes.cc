#include "compiler/import/onnx/input_shapes.h"

#include <map>

#include "base/math.h"
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
      : symbols_(symbols), inputs_(inputs), options_(options) {}

  Expected<std::vector<ir::TensorType>> run() {
    BERTH_TRY(read_options());
    for (const ValueInfo* input : inputs_) BERTH_TRY(bind_symbols(*input));
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
    for (const auto& [name, text] : options_.input_shapes) {
      std::vector<Extent> extents;
      if (!parse_extents(text, &extents)) {
        return wrong(name, "--input-shape \"" + text + "\" is not a shape; write 1x3x224x224, or 1..8x3x224x224");
      }
      std::string known;
      bool found = false;
      for (const ValueInfo* input : inputs_) {
        found = found || input->name == name;
        known += (known.empty() ? "" : ", ") + std::string(input->name);
      }
      if (!found) return wrong(name, "--input-shape names no input of the model; it has: " + known);
      if (!given_.emplace(name, std::move(extents)).second) return wrong(name, "--input-shape is given twice");
    }
    return Done{};
  }

  Status bind_symbols(const ValueInfo& input) {
    const auto given = given_.find(input.name);
    if (given == given_.end() || !input.has_shape) return Done{};
    const std::vector<Extent>& extents = given->second;
    const auto contradiction = [&](const char* advice) {
      return wrong(input.name, "--input-shape contradicts the model, which says " + model_shape(input) + advice);
    };
    if (extents.size() != input.shape.size()) return contradiction("");
    for (size_t i = 0; i < extents.size(); ++i) {
      const Dimension& d = input.shape[i];
      if (d.has_value && (extents[i].lower != d.value || extents[i].upper != d.value)) {
        return contradiction(
            "; it sets what a model leaves open: export the model with that shape, or with the dimension open "
            "(torch.onnx.export's dynamic_shapes or dynamic_axes)");
      }
      if (d.has_value || d.symbol.empty()) continue;
      const auto [bound, fresh] = bound_.emplace(d.symbol, extents[i]);
      if (!fresh && (bound->second.lower != extents[i].lower || bound->second.upper != extents[i].upper)) {
        return wrong(input.name, "--input-shape says " + text_of(extents[i]) + " for '" + std::string(d.symbol) +
                                     "', which another input has as " + text_of(bound->second));
      }
    }
    return Done{};
  }

  Expected<ir::TensorType> type_of(const ValueInfo& input) {
    ir::TensorType type;
    if (!input.is_tensor)
      return wrong(input.name, "is not a tensor, a sequence of tensors or an optional one", Error::kNotSupported);
    if (!dtype_of(input.element_type, &type.dtype)) {
      return wrong(input.name, "has elements of " + element_type_name(input.element_type) + ", which no operator takes",
                   Error::kNotSupported);
    }
    const auto given = given_.find(input.name);
    if (!input.has_shape && given == given_.end()) {
      return wrong(input.name,
                   "has no shape in the model; pass --input-shape " + std::string(input.name) + "=1x3x224x224");
    }
    const size_t rank = input.has_shape ? input.shape.size() : given->second.size();
    if (rank > kMaxRank)
      return wrong(input.name, "has " + std::to_string(rank) + " dimensions; at most 16 are allowed");
    for (size_t i = 0; i < rank; ++i) {
      const Extent* extent = given == given_.end() ? nullptr : &given->second[i];
      auto dim = dimension(input, i, extent);
      if (!dim.ok()) return dim.error();
      type.shape.push_back(*dim);
    }
    if (ir::max_numel(type, symbols_) > kMaxElements) return wrong(input.name, "has more than 2^40 elements");
    return type;
  }

  Expected<ir::Dim> dimension(const ValueInfo& input, size_t i, const Extent* given) {
    const Dimension d = i < input.shape.size() ? input.shape[i] : Dimension();
    if (d.has_value) {
      if (d.value < 0 || d.value > kMaxExtent) {
        return wrong(input.name, "dimension " + std::to_string(i) + " is " + std::to_string(d.value));
      }
      return ir::Dim(d.value);
    }
    if (const auto bound = bound_.find(d.symbol); bound != bound_.end()) given = &bound->second;
    if (given == nullptr) {
      return wrong(input.name, "dimension " + std::to_string(i) +
                                   (d.symbol.empty() ? "" : " ('" + std::string(d.symbol) + "')") +
                                   " is symbolic; pass --input-shape, such as " + std::string(input.name) + "=" +
                                   example_shape(input) + " for the model's " + model_shape(input) +
                                   "; a range, such as 1..8, leaves a size open");
    }
    if (given->lower == given->upper) return ir::Dim(given->lower);
    const std::string name =
        d.symbol.empty() ? symbol_name(std::string(input.name) + "_" + std::to_string(i)) : symbol_name(d.symbol);
    return symbols_.input(name, given->lower, given->upper);
  }

  ir::Symbols& symbols_;
  const std::vector<const ValueInfo*>& inputs_;
  const ImportOptions& options_;
  std::map<std::string, std::vector<Extent>, std::less<>> given_;
  std::map<std::string_view, Extent> bound_;
};

}  // namespace

Expected<std::vector<ir::TensorType>> input_types(ir::Symbols& symbols, const std::vector<const ValueInfo*>& inputs,
                                                  const ImportOptions& options) {
  return InputTypes(symbols, inputs, options).run();
}

}  // namespace berth::onnx
