#include "compiler/passes/check_elements.h"

#include <algorithm>

#include "compiler/ir/text.h"

namespace berth::passes {
namespace {

class ElementCheck {
 public:
  explicit ElementCheck(const ir::Method& method) : method_(method) {}

  Status run() const {
    const ir::Node* wrong = nullptr;
    ir::ValueId value;
    ir::for_each_graph(method_, method_.body, [&](const ir::Graph& graph) {
      for (ir::NodeId id : graph.nodes) {
        if (wrong == nullptr && find_refused(method_.node(id), &value)) wrong = &method_.node(id);
      }
    });
    if (wrong != nullptr) return failure(*wrong, value);
    return Done{};
  }

 private:
  // The first value of `node` with elements that it does not take; false when there is none.
  bool find_refused(const ir::Node& node, ir::ValueId* value) const {
    const ir::ElementUse use = node.op->elements;
    if (node.op->is_fused() || use == ir::ElementUse::kMoves) return false;
    const std::vector<ir::ValueId> values = values_of(node);
    const bool any_complex =
        std::any_of(values.begin(), values.end(), [&](ir::ValueId id) { return is_complex(method_.tensor(id).dtype); });
    for (ir::ValueId id : values) {
      const DType dtype = method_.tensor(id).dtype;
      if (is_real(dtype) || (is_complex(dtype) && use != ir::ElementUse::kComputes)) continue;
      const bool all_equal = std::all_of(values.begin(), values.end(),
                                         [&](ir::ValueId other) { return method_.tensor(other).dtype == dtype; });
      if (use == ir::ElementUse::kConverts && (all_equal || (is_narrow(dtype) && !any_complex))) continue;
      if (use == ir::ElementUse::kStoresNumber && is_narrow(dtype)) continue;
      *value = id;
      return true;
    }
    return false;
  }

  std::vector<ir::ValueId> values_of(const ir::Node& node) const {
    std::vector<ir::ValueId> values;
    const auto add = [&](ir::ValueId id) {
      if (method_.value(id).tensor() != nullptr) values.push_back(id);
    };
    for (const ir::Argument& argument : node.args) ir::for_each_value(argument, add);
    for (ir::ValueId id : node.results) add(id);
    return values;
  }

  Failure failure(const ir::Node& node, ir::ValueId value) const {
    const DType dtype = method_.tensor(value).dtype;
    std::string place = "method " + method_.name + ": ";
    if (!node.source.empty()) place += ir::quoted(node.source) + " ";
    place += node.op->functional_name;
    const std::string what = "has no kernel for elements of " + std::string(to_string(dtype)) + ", which " +
                             ir::named('%', method_.value(value).name) + " has; ";
    const char* const remedy = is_complex(dtype) ? "write it with real and imaginary parts in the model"
                               : is_narrow(dtype)
                                   ? "Berth only moves and converts them: convert to f16, bf16 or f32 before"
                                   : "Berth only moves them: convert to f16, bf16 or f32 outside of the model";
    return {Error::kNotSupported, place, what + remedy};
  }

  const ir::Method& method_;
};

}  // namespace

Expected<Changed> check_elements(ir::Module& module, const Options&) {
  for (const ir::Method& method : module.methods) BERTH_TRY(ElementCheck(method).run());
  return Changed::kNo;
}

}  // namespace berth::passes
