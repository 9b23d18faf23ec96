#include "compiler/import/pte/trim_loops.h"

#include <algorithm>

#include "compiler/ir/arguments.h"

namespace berth::pte {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

class LoopTrimmer {
 public:
  explicit LoopTrimmer(ir::Method* method) : method_(*method), uses_(ir::count_uses(*method)) {}

  void run() {
    ir::for_each_graph(method_, method_.body, [&](Graph& graph) {
      // What a loop does not carry any more may have been all that an earlier one was for.
      for (size_t i = graph.nodes.size(); i-- > 0;) trim(method_.node(graph.nodes[i]));
    });
  }

 private:
  void trim(Node& node) {
    if (!node.is(OpId::while_) && !node.is(OpId::scan)) return;
    const size_t at = node.is(OpId::scan) ? size_t{arg::scan::carried} : size_t{arg::while_::init};
    ir::ValueList& carried = std::get<ir::ValueList>(node.args[at]);
    for (size_t i = carried.size(); i-- > 0;) {
      if (!is_needed(node, i)) drop(&node, &carried, i);
    }
  }

  /// Whether the result is read, or a region reads the value beside giving it on as it is.
  bool is_needed(const Node& node, size_t i) const {
    if (uses_[node.results[i]] > 0) return true;
    const Graph& body = node.regions.back();
    const ValueId* given = std::get_if<ValueId>(&body.outputs[i]);
    const bool as_it_is = given != nullptr && *given == body.inputs[i];
    const bool in_body = uses_[body.inputs[i]] > (as_it_is ? 1 : 0);
    return in_body || (node.regions.size() > 1 && uses_[node.regions[0].inputs[i]] > 0);
  }

  void drop(Node* node, ir::ValueList* carried, size_t i) {
    const auto place = static_cast<std::ptrdiff_t>(i);
    --uses_[(*carried)[i]];
    ir::for_each_value(node->regions.back().outputs[i], [&](const ValueId& value) { --uses_[value]; });
    carried->erase(carried->begin() + place);
    for (Graph& region : node->regions) region.inputs.erase(region.inputs.begin() + place);
    std::vector<ir::Argument>& outputs = node->regions.back().outputs;
    outputs.erase(outputs.begin() + place);
    node->results.erase(node->results.begin() + place);
    for (size_t k = i; k < node->results.size(); ++k) method_.value(node->results[k]).result = static_cast<int>(k);
  }

  ir::Method& method_;
  IdVector<ValueId, int> uses_;
};

}  // namespace

void trim_loops(ir::Method* method) { LoopTrimmer(method).run(); }

}  // namespace berth::pte
