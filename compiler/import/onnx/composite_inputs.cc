#include "compiler/import/onnx/composite_inputs.h"

#include <algorithm>

namespace berth::onnx {
namespace {

class Splitter {
 public:
  Splitter(const ImportOptions& options, CallerInputs& out) : out_(out) { out_.options = options; }

  Status split(const ValueInfo& input) {
    if (!input.is_sequence && !input.is_optional) {
      add(input, {&input});
      return Done{};
    }
    if (take(input.name, "none")) {
      add(input, {});
      out_.parts.back().is_nothing = input.is_optional;
      return Done{};
    }
    if (!input.is_sequence) {
      add(input, {element(input, std::string(input.name))});
      return Done{};
    }
    std::vector<const ValueInfo*> list;
    while (names(indexed(input, list.size()))) {
      const std::string name = indexed(input, list.size());
      ValueInfo* one = element(input, name);
      // Elements may differ in size, whatever the model calls it.
      for (Dimension& d : one->shape) d.symbol = {};
      if (take(name, "scalar")) {
        one->has_shape = true;
        one->shape.clear();
      }
      list.push_back(one);
    }
    if (list.empty()) {
      const std::string name(input.name);
      return Failure{Error::kNotSupported, "onnx input \"" + name + "\"",
                     "is a sequence, whose elements must be named when the model is compiled: --input-shape " + name +
                         "[0]=1x8 and so on, or " + name + "=none for an empty one"};
    }
    add(input, list);
    return Done{};
  }

 private:
  static std::string indexed(const ValueInfo& input, size_t i) {
    return std::string(input.name) + "[" + std::to_string(i) + "]";
  }

  bool names(const std::string& name) const {
    return std::any_of(out_.options.input_shapes.begin(), out_.options.input_shapes.end(),
                       [&](const auto& shape) { return shape.first == name; });
  }

  // Whether the caller says `word` of `name`; the answer is used up.
  bool take(std::string_view name, const char* word) {
    auto& shapes = out_.options.input_shapes;
    const auto found = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const auto& shape) { return shape.first == name && shape.second == word; });
    if (found == shapes.end()) return false;
    shapes.erase(found);
    return true;
  }

  ValueInfo* element(const ValueInfo& input, std::string name) {
    out_.names.push_back(std::move(name));
    out_.elements.push_back(input);
    ValueInfo& one = out_.elements.back();
    one.name = out_.names.back();
    one.is_sequence = one.is_optional = false;
    return &one;
  }

  void add(const ValueInfo& input, const std::vector<const ValueInfo*>& tensors) {
    InputParts parts;
    parts.input = &input;
    parts.first = out_.tensors.size();
    parts.count = tensors.size();
    out_.parts.push_back(parts);
    out_.tensors.insert(out_.tensors.end(), tensors.begin(), tensors.end());
  }

  CallerInputs& out_;
};

}  // namespace

Expected<CallerInputs> caller_inputs(const std::vector<const ValueInfo*>& inputs, const ImportOptions& options) {
  Expected<CallerInputs> result{CallerInputs()};
  Splitter splitter(options, *result);
  for (const ValueInfo* input : inputs) BERTH_TRY(splitter.split(*input));
  return result;
}

}  // namespace berth::onnx
