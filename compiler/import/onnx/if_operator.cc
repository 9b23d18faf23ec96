// If: the branch that is taken, where that is known; else berth::if.
#include "compiler/import/onnx/control_operators.h"

namespace berth::onnx {
namespace {

/// A branch of an If that the data decides, imported into a region.
struct Branch {
  ir::Graph region;
  ValueList results;
  std::optional<Failure> failure;
};

Branch import_branch(NodeContext& n, const Graph& graph) {
  Branch b;
  b.results = ids_of(n.state().importer->import_within(n, graph, {}, &b.region, &b.failure), 0, n.output_count());
  b.region.outputs.assign(b.results.begin(), b.results.end());
  return b;
}

// A branch that does not fit the sizes which the model is compiled for is one that no right call takes: a detector of
// voices has a branch for each sampling rate, and each takes another number of samples. It becomes one that says so.
bool may_refuse(const Branch& b) { return b.failure.has_value() && b.failure->code == Error::kInvalidArgument; }

void refuse_instead(NodeContext& n, Branch& b, const ValueList& like) {
  b.region = ir::Graph();
  b.results.clear();
  const std::string why = b.failure->place + ": " + b.failure->message;
  n.inside(b.region, [&] {
    for (const ValueId v : like) {
      b.results.push_back(n.op(OpId::refuse_out, {DimList(n.shape(v)), why, lowering::number_of(n.dtype(v))}));
    }
  });
  b.region.outputs.assign(b.results.begin(), b.results.end());
}

}  // namespace

void import_if(NodeContext& n) {
  const Graph* branches[] = {n.graph("then_branch"), n.graph("else_branch")};
  const std::optional<Dim> known = only_number(n.known(0));
  if (!n.ok()) return;
  for (const Graph* branch : branches) {
    if (branch->outputs.size() < n.output_count()) return n.invalid("a branch gives fewer results than the node has");
  }
  if (known.has_value() && known->is_constant()) {  // only one of them is ever taken
    return give_results(n, import_inner_graph(n, *branches[known->value != 0 ? 0 : 1], {}, nullptr));
  }
  const ValueId condition = one_truth(n, n.input(0));
  if (!n.ok()) return;
  Branch yes = import_branch(n, *branches[0]);
  Branch no = import_branch(n, *branches[1]);
  if (may_refuse(yes) && !no.failure.has_value()) {
    refuse_instead(n, yes, no.results);
  } else if (may_refuse(no) && !yes.failure.has_value()) {
    refuse_instead(n, no, yes.results);
  } else if (yes.failure.has_value() || no.failure.has_value()) {
    return n.fail(yes.failure.has_value() ? *yes.failure : *no.failure);
  }
  if (!n.ok() || !same_types(n, yes.results, no.results, "both branches must give the same types")) return;
  std::vector<ir::Type> types = types_of(n, yes.results);
  std::vector<ir::Graph> regions;
  regions.push_back(std::move(yes.region));
  regions.push_back(std::move(no.region));
  give_results(n, n.control(OpId::if_, {condition}, std::move(regions), std::move(types)), 0);
}

}  // namespace berth::onnx
