#include "compiler/emit/explain.h"

#include <algorithm>

namespace berth::emit {
namespace {

using ir::Node;
using ir::ValueId;

class Explanation {
 public:
  Explanation(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes, const plan::Plan& plan)
      : module_(module), method_(method), lifetimes_(lifetimes), plan_(plan), answers_(method.nodes.size()) {
    for (const Reuse& reuse : lifetimes.reuses) answers_[static_cast<size_t>(reuse.node.index)].push_back(&reuse);
  }

  void run(std::vector<std::string>* lines) {
    for (size_t n = 0; n < method_.nodes.size(); ++n) {
      const Node& node = method_.nodes[n];
      if (lifetimes_.steps[n] < 0 || node.results.empty()) continue;
      const std::string source = node.source.empty() ? "" : ", " + node.source;
      for (const ir::ValueId result : node.results) {
        lines->push_back("reuse: " + method_.name + ": " + name(result) + " (" + node.op->functional_name + source +
                         "): " + (result == node.results[0] ? verdict(n) : other_verdict(n, result)));
      }
    }
  }

 private:
  std::string name(ValueId value) const { return "%" + method_.value(value).name; }

  const std::string& state_name(ir::StateId state) const { return module_.states[static_cast<size_t>(state)].name; }

  /// Of a result behind the first, which takes no argument's bytes.
  std::string other_verdict(size_t n, ValueId result) const {
    if (is_elided(lifetimes_, plan_, ir::NodeId{static_cast<int32_t>(n)})) return "part in place";
    const bool nowhere = lifetimes_.places[static_cast<size_t>(result.index)].home == Home::kNowhere;
    return std::string("keep: ") + to_string(nowhere ? ReuseReason::kNotInArena : ReuseReason::kNever);
  }

  std::string verdict(size_t n) const {
    const Node& node = method_.nodes[n];
    if (is_view(lifetimes_.reasons[n])) return "view " + name(std::get<ValueId>(node.args[0]));
    const ir::NodeId id{static_cast<int32_t>(n)};
    if (is_elided(lifetimes_, plan_, id)) return node.is(ir::OpId::cat_out) ? "parts in place" : "part in place";
    for (const Successor& successor : lifetimes_.successors) {
      if (successor.value == node.results[0]) return "reuse state @" + state_name(successor.state);
    }
    std::string refusals;
    bool offered = lifetimes_.slots[n] >= 0;
    for (const Reuse* reuse : answers_[n]) {
      if (reuse->merge >= 0) {
        const size_t merge = static_cast<size_t>(reuse->merge);
        if (merge < plan_.merged.size() && plan_.merged[merge]) return "reuse " + name(lifetimes_.offers[merge].base);
        offered = true;
        continue;
      }
      refusals += (refusals.empty() ? "" : ", ") + argument(reuse->value) + to_string(reuse->reason);
    }
    if (offered) return "keep: other-choice";
    if (node.op->view == ir::ViewKind::kReshape) return std::string("keep: ") + to_string(lifetimes_.reasons[n]);
    return refusals.empty() ? "keep" : "keep: " + refusals;
  }

  std::string argument(ValueId value) const { return value.valid() ? name(value) + " " : ""; }

  const ir::Module& module_;
  const ir::Method& method_;
  const Lifetimes& lifetimes_;
  const plan::Plan& plan_;
  std::vector<std::vector<const Reuse*>> answers_;  // of each node
};

}  // namespace

void explain_reuse(const ir::Module& module, const ir::Method& method, const Lifetimes& lifetimes,
                   const plan::Plan& plan, std::vector<std::string>* lines) {
  Explanation(module, method, lifetimes, plan).run(lines);
}

}  // namespace berth::emit
