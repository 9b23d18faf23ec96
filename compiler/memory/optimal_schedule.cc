// What every order of a method's nodes needs, asked of compiler/memory/scheduling for each arena by itself.
#include <algorithm>

#include "compiler/ir/arguments.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/schedule_problem.h"
#include "compiler/memory/scheduling/every_schedule.h"

namespace berth::memory {
namespace {

/// The bytes that every order needs, of each arena by itself.
class ArenaNeeds {
 public:
  ArenaNeeds(const ir::Module& module, const ir::Method& method, const MemoryModel& model, const InPlaceSet& set)
      : method_(method),
        model_(model),
        is_state_(model.buffers.are_states()),
        problem_(schedule_problem(module, method, model, set)) {
    for (const WriteBack& write : model.copies.write_backs) leave_out(write.value);
    find_parts();
    for (size_t i = 0; i < method.body.nodes.size(); ++i) {
      // What is live at once within branches and loops is theirs.
      const ir::Node& node = method.node(method.body.nodes[i]);
      if (node.regions.empty() || node.is(ir::OpId::delegate)) tasks_.push_back(static_cast<int32_t>(i));
    }
  }

  bool needs(int32_t space, int64_t bytes) const {
    scheduling::Problem problem = problem_;
    for (const BufferId id : model_.buffers.all.ids()) {
      if (model_.buffers.all[id].space != space) problem.buffers[id.index].bytes = 0;
    }
    return scheduling::every_schedule_needs(problem, parts_, tasks_, bytes);
  }

 private:
  /// In another order the value may be computed where state lies, and take no bytes.
  void leave_out(ir::ValueId value) {
    const ValueHome& place = model_.aliases.homes[value];
    if (place.home != Home::kBuffer) return;
    if (is_state_[place.buffer]) return;
    problem_.buffers[place.buffer.index].bytes = 0;
  }

  /// Which buffer may be a part of which is the same for all orders, but where a value is computed into state: then
  /// none that may be one counts.
  void find_parts() {
    if (!model_.copies.write_backs.empty() || !model_.aliases.state_updates.empty()) {
      for (const ir::Node& node : method_.nodes) {
        if (!node.op->joins_or_cuts()) continue;
        if (node.op->view == ir::ViewKind::kConcat) {
          ir::for_each_value(node.args[arg::concat::tensors], [&](const ir::ValueId& part) { leave_out(part); });
        } else {
          for (const ir::ValueId part : node.results) leave_out(part);
        }
      }
    }
    for (const AliasCandidate& candidate : model_.candidates.all) {
      if (candidate.kind == AliasKind::kSubBuffer) parts_.push_back({candidate.buffers.from, candidate.buffers.to});
    }
  }

  const ir::Method& method_;
  const MemoryModel& model_;
  const IdVector<BufferId, bool> is_state_;
  scheduling::Problem problem_;
  std::vector<scheduling::Containment> parts_;
  std::vector<int32_t> tasks_;
};

}  // namespace

bool is_lowest_of_all_orders(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                             const InPlaceSet& set, const packing::Plan& plan) {
  const ArenaNeeds every_order(module, method, model, set);
  const int64_t guards = guard_bytes(model);
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    // All of state is alive all the time.
    if (model.arenas[s].holds_state && plan.spaces[s].optimal()) continue;
    if (!every_order.needs(static_cast<int32_t>(s), plan.spaces[s].height - guards)) return false;
  }
  return true;
}

}  // namespace berth::memory
