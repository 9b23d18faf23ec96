#include "compiler/import/pt2/import_graph.h"

#include <map>

#include "compiler/import/pt2/autocast.h"

namespace berth::pt2 {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
constexpr size_t kNamesShown = 3;

// The name behind torch.ops.higher_order, or empty.
std::string_view higher_order_name(const Node& node) {
  if (node.target.rfind(kHigherOrder, 0) != 0) return {};
  std::string_view name = std::string_view(node.target).substr(kHigherOrder.size());
  return name.substr(0, name.find('.'));
}

struct Missing {
  size_t count = 0;
  std::vector<std::string> names;
};

bool is_own(const std::string& target, const ir::OperatorSet* own) {
  const ir::Operator* row = find_importer(target, own).row;
  return row != nullptr && row->own != nullptr;
}

void find_missing(const Graph& graph, const ir::OperatorSet* own, std::map<std::string, Missing>& missing) {
  for (const Node& node : graph.nodes) {
    for (const NamedArgument& input : node.inputs) {
      if (input.value.graph != nullptr) find_missing(*input.value.graph, own, missing);
    }
    const std::string_view higher = higher_order_name(node);
    const std::string* inner = functionalized_target(node);
    if (inner != nullptr ? !written_arguments(*inner).empty() || is_own(*inner, own)
        : higher.empty() ? find_importer(node.target, own).found()
                         : has_higher_order(higher)) {
      continue;
    }
    Missing& one = missing[inner == nullptr ? node.target : *inner];
    if (++one.count > kNamesShown) continue;
    const std::string written = written_at(node);
    one.names.push_back("node \"" + node.name + "\"" + (written.empty() ? "" : ", " + written));
  }
}

}  // namespace

Status check_operators(const Graph& graph, const ir::OperatorSet* own) {
  std::map<std::string, Missing> missing;
  find_missing(graph, own, missing);
  if (missing.empty()) return Done{};
  std::string list;
  for (const auto& [target, one] : missing) {
    list += (list.empty() ? "" : "; ") + target + " (";
    for (size_t i = 0; i < one.names.size(); ++i) list += (i == 0 ? "" : "; ") + one.names[i];
    if (one.count > kNamesShown) list += " and " + std::to_string(one.count - kNamesShown) + " more";
    list += ")";
  }
  return Failure{Error::kNotSupported, "pt2 model",
                 "uses operators that Berth does not have: " + list +
                     ". Exporting with run_decompositions() may replace them; those of "
                     "your own come with --plugin"};
}

GraphImporter::GraphImporter(ImportState& state, const Graph& graph, ir::Graph& into, Scope& scope)
    : state_(state),
      graph_(graph),
      scope_(scope),
      build_(state.module, state.method, into),
      in_place_(state, graph, scope) {}

Status GraphImporter::import_nodes() {
  for (const Node& node : graph_.nodes) {
    BERTH_TRY(in_place_.before(node, build_));
    BERTH_TRY(import_one(node));
    BERTH_TRY(in_place_.after(node, build_));
  }
  return Done{};
}

Status GraphImporter::import_one(const Node& node) {
  NodeContext n(state_, build_, scope_, graph_, node);
  for (size_t i = 0; i < n.output_count(); ++i) {
    if (scope_.count(n.output_name(i)) != 0) n.invalid("its output \"" + n.output_name(i) + "\" is defined already");
  }
  if (!n.ok()) return n.failure();
  const std::string_view higher = higher_order_name(node);
  if (higher.empty()) {
    const Importer importer = find_importer(node.target, state_.module.operators.get());
    if (!importer.found()) n.unsupported("Berth does not have this operator");
    if (n.ok()) apply_autocast(n);
    if (n.ok()) import_node(n, importer);
  } else {
    import_higher_order(n, higher);
  }
  // What is written in place keeps its element type.
  if (n.ok() && writes_in_place(node.target) && n.output_count() == 1 && !node.inputs.empty() && !n.is_complex()) {
    const ValueId self = n.tensor(node.inputs[0].name);
    const ValueId* result = std::get_if<ValueId>(&scope_[n.output_name(0)].value);
    if (n.ok() && result != nullptr && n.dtype(*result) != n.dtype(self)) n.output(n.cast(*result, n.dtype(self)));
  }
  if (!n.ok()) return n.failure();
  return Done{};
}

Expected<IrArgument> GraphImporter::current(const std::string& name) {
  BERTH_TRY(in_place_.refresh(name, build_));
  const auto found = scope_.find(name);
  if (found == scope_.end()) {
    return Failure{Error::kInvalidProgram, "pt2 model", "output \"" + name + "\" is not defined"};
  }
  if (found->second.is_complex()) {
    return Failure{Error::kNotSupported, "pt2 model",
                   "output \"" + name + "\" is complex, and outputs are real; return torch.view_as_real() of it"};
  }
  if (!found->second.unknown.empty()) {
    return Failure{Error::kNotSupported, "pt2 model", "output \"" + name + "\" " + found->second.unknown};
  }
  return found->second.value;
}

Expected<IrArgument> GraphImporter::output(const Argument& a) {
  switch (a.kind) {
    case ArgumentKind::kTensor: return current(a.names[0]);
    case ArgumentKind::kSymInt:
    case ArgumentKind::kSymFloat:
    case ArgumentKind::kSymBool:
      if (!a.names[0].empty()) return current(a.names[0]);
      if (a.kind == ArgumentKind::kSymInt) return IrArgument(Dim(a.ints[0]));
      if (a.kind == ArgumentKind::kSymFloat) return IrArgument(a.floats[0]);
      return IrArgument(a.ints[0] != 0);
    case ArgumentKind::kNone: return IrArgument(None());
    case ArgumentKind::kInt: return IrArgument(Dim(a.ints[0]));
    case ArgumentKind::kFloat: return IrArgument(a.floats[0]);
    case ArgumentKind::kBool: return IrArgument(a.ints[0] != 0);
    case ArgumentKind::kString: return IrArgument(a.text);
    default: break;
  }
  return Failure{Error::kNotSupported, "pt2 model", "an output is of a kind that is not read: " + a.text};
}

}  // namespace berth::pt2
