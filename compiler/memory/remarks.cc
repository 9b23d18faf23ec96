#include "compiler/memory/remarks.h"

#include <algorithm>

#include "compiler/ir/arguments.h"

namespace berth::memory {
namespace {

using ir::Node;
using ir::ValueId;

class ReuseRemarks {
 public:
  ReuseRemarks(const ir::Module& module, const ir::Method& method, const MemoryModel& model, const packing::Plan& plan)
      : module_(module), method_(method), model_(model), plan_(plan), answers_(method.nodes.size()) {
    for (const ReuseRemark& reuse : model.candidates.remarks) answers_[reuse.node].push_back(&reuse);
  }

  void run(std::vector<std::string>* lines) {
    for (const ir::NodeId id : method_.nodes.ids()) {
      const Node& node = method_.nodes[id];
      if (model_.steps.nodes[id] < 0 || node.results.empty()) continue;
      const std::string source = node.source.empty() ? "" : ", " + node.source;
      for (const ir::ValueId result : node.results) {
        lines->push_back("reuse: " + method_.name + ": " + name(result) + " (" + node.op->functional_name + source +
                         "): " + (result == node.results[0] ? verdict(id) : other_verdict(id, result)));
      }
    }
  }

 private:
  std::string name(ValueId value) const { return "%" + method_.value(value).name; }

  const std::string& state_name(ir::StateId state) const { return module_.states[state].name; }

  const StateUpdate* update_of(ValueId value) const {
    for (const StateUpdate& update : model_.aliases.state_updates) {
      if (update.value == value) return &update;
    }
    return nullptr;
  }

  /// Of a result behind the first, which takes no argument's bytes but a state's.
  std::string other_verdict(ir::NodeId id, ValueId result) const {
    if (is_elided(model_, plan_, id)) return "part in place";
    if (const StateUpdate* update = update_of(result)) return "reuse state @" + state_name(update->state);
    const bool nowhere = model_.aliases.homes[result].home == Home::kNowhere;
    return std::string("keep: ") + to_string(nowhere ? ReuseReason::kNotInArena : ReuseReason::kNever);
  }

  std::string verdict(ir::NodeId id) const {
    const Node& node = method_.nodes[id];
    if (is_view(model_.aliases.reasons[id])) return "view " + name(std::get<ValueId>(node.args[arg::view::self]));
    if (is_elided(model_, plan_, id))
      return node.op->view == ir::ViewKind::kConcat ? "parts in place" : "part in place";
    if (const StateUpdate* update = update_of(node.results[0])) return "reuse state @" + state_name(update->state);
    std::string refusals;
    bool candidate_left = model_.candidates.sub_buffers[id].valid();
    for (const ReuseRemark* remark : answers_[id]) {
      if (remark->candidate.valid()) {
        if (is_taken(plan_, remark->candidate)) return "reuse " + name(model_.candidates.all[remark->candidate].base);
        candidate_left = true;
        continue;
      }
      refusals += (refusals.empty() ? "" : ", ") + argument(remark->value) + to_string(remark->reason);
    }
    if (candidate_left) return "keep: other-choice";
    if (node.op->is_reshape()) return std::string("keep: ") + to_string(model_.aliases.reasons[id]);
    return refusals.empty() ? "keep" : "keep: " + refusals;
  }

  std::string argument(ValueId value) const { return value.valid() ? name(value) + " " : ""; }

  const ir::Module& module_;
  const ir::Method& method_;
  const MemoryModel& model_;
  const packing::Plan& plan_;
  IdVector<ir::NodeId, std::vector<const ReuseRemark*>> answers_;
};

}  // namespace

void remark_reuse(const ir::Module& module, const std::vector<MemoryPlan>& plans, std::vector<std::string>* lines) {
  for (const MemoryPlan& memory : plans) {
    const MethodPlan& plan = memory.plan;
    ReuseRemarks(module, plan.scheduled(module.methods[memory.method]), plan.model, plan.packing).run(lines);
  }
}

}  // namespace berth::memory
