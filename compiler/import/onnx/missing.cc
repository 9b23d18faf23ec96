#include "compiler/import/onnx/missing.h"

#include <map>
#include <set>

#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/own_operators.h"

namespace berth::onnx {
namespace {

constexpr size_t kNamesShown = 3;

struct Missing {
  size_t count = 0;
  std::vector<std::string> names;
};

class Search {
 public:
  Search(const Model& model, const ir::OperatorSet* own) : model_(model), own_(own) {}

  void nodes(const std::vector<Node>& nodes, std::string_view caller) {
    for (const Node& node : nodes) {
      if (find_own(own_, node) != nullptr) continue;
      if (const Function* function = find_function(model_, node)) {
        if (seen_.insert(function).second) this->nodes(function->nodes, function->name);
        continue;
      }
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) this->nodes(attribute.graph->nodes, caller);
      }
      if (find_row(node.domain, node.op_type) != nullptr) continue;
      Missing& missing =
          missing_[is_standard(node.domain) ? std::string(node.op_type)
                                            : std::string(node.domain) + "." + std::string(node.op_type)];
      foreign_ = foreign_ || !is_standard(node.domain);
      if (++missing.count <= kNamesShown) missing.names.push_back("\"" + node_source(node, caller) + "\"");
    }
  }

  Status result() const {
    if (missing_.empty()) return Done{};
    std::string list;
    for (const auto& [name, missing] : missing_) {
      list += (list.empty() ? "" : ", ") + name + " (";
      for (size_t i = 0; i < missing.names.size(); ++i) list += (i == 0 ? "" : ", ") + missing.names[i];
      if (missing.count > kNamesShown) list += " and " + std::to_string(missing.count - kNamesShown) + " more";
      list += ")";
    }
    const char* hint = foreign_ ? "; those of other domains than ONNX's come with --plugin" : "";
    return Failure{Error::kNotSupported, "onnx model", "uses operators that Berth does not have: " + list + hint};
  }

 private:
  const Model& model_;
  const ir::OperatorSet* own_;
  bool foreign_ = false;  // of those that are missing
  std::set<const Function*> seen_;
  std::map<std::string, Missing> missing_;
};

}  // namespace

bool is_standard(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

int64_t opset_of(const std::vector<OpsetImport>& opsets) {
  int64_t version = 0;
  for (const OpsetImport& opset : opsets) {
    if (is_standard(opset.domain)) version = opset.version;
  }
  return version;
}

const Function* find_function(const Model& model, const Node& node) {
  for (const Function& function : model.functions) {
    if (function.name == node.op_type && function.overload == node.overload &&
        (function.domain == node.domain || (is_standard(function.domain) && is_standard(node.domain)))) {
      return &function;
    }
  }
  return nullptr;
}

Status check_operators(const Model& model, const ir::OperatorSet* own) {
  Search search(model, own);
  search.nodes(model.graph.nodes, "");
  return search.result();
}

}  // namespace berth::onnx
