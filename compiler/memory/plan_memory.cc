#include "compiler/memory/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/plan_overlap.h"
#include "compiler/memory/scratch_ports.h"
#include "compiler/memory/use_banks.h"

namespace berth::memory {
namespace {

/// The nodes that call delegates, those in branches and loops included, in the order in which they run.
void add_delegate_calls(const ir::Method& method, const ir::Graph& graph, std::vector<ir::NodeId>* calls) {
  for (const ir::NodeId id : graph.nodes) {
    const ir::Node& node = method.node(id);
    if (node.is(ir::OpId::delegate)) {
      calls->push_back(id);
    } else {
      for (const ir::Graph& region : node.regions) add_delegate_calls(method, region, calls);
    }
  }
}

/// Whether the region of the call is compiled here.
Expected<bool> has_region(const ir::Module& module, const ir::Node& call) {
  if (!module.delegates.contains(call.delegate)) {
    return Failure{Error::kInvalidArgument, "", "the call names no delegate of the module"};
  }
  return !module.delegates[call.delegate].payload.has_value();
}

Status check(const MemoryOptions& options) {
  for (const int64_t alignment : {options.alignments.host, options.alignments.device}) {
    if (alignment >= 1 && is_power_of_two(static_cast<uint64_t>(alignment)) && alignment <= packing::kMaxAlignment)
      continue;
    return Failure{Error::kInvalidArgument, "", "the alignment of buffers must be a power of two up to 2^30"};
  }
  return Done{};
}

Expected<std::vector<size_t>> methods_by_name(const ir::Module& module) {
  const std::vector<ir::Method>& methods = module.methods;
  std::vector<size_t> order(methods.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return methods[a].name < methods[b].name; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (methods[order[i - 1]].name != methods[order[i]].name) continue;
    return Failure{Error::kInvalidArgument, "method " + methods[order[i]].name, "two methods have this name"};
  }
  return order;
}

/// The runtime shares arenas of one number and device between methods.
Status check_state_arenas(const ir::Module& module, const std::vector<MemoryPlan>& plans) {
  struct Place {
    const std::string* method;
    size_t number;
    std::string bank;
  };
  std::vector<std::pair<Device, Place>> known;
  for (const MemoryPlan& plan : plans) {
    const std::vector<Arena>& arenas = plan.plan.model.arenas;
    const std::string& method = module.methods[plan.method].name;
    for (size_t k = 0; k < arenas.size(); ++k) {
      if (!arenas[k].holds_state) continue;
      const auto same = [&](const auto& entry) { return entry.first == arenas[k].device; };
      const auto found = std::find_if(known.begin(), known.end(), same);
      if (found == known.end()) {
        known.push_back({arenas[k].device, {&method, k + 1, arenas[k].bank}});
        continue;
      }
      const Place& place = found->second;
      const bool same_bank = place.bank.empty() || arenas[k].bank.empty() || place.bank == arenas[k].bank;
      if (place.number == k + 1 && same_bank) continue;
      const auto text = [](size_t number, const std::string& bank) {
        return "arena " + std::to_string(number) + (bank.empty() ? "" : " in bank " + bank);
      };
      return Failure{Error::kInvalidArgument, "method " + method,
                     std::string("state on ") + to_text(arenas[k].device).text + " would lie in " +
                         text(k + 1, arenas[k].bank) + ", and in " + text(place.number, place.bank) + " of method " +
                         *place.method + ", so they cannot share it; give both the same banks"};
    }
  }
  return Done{};
}

}  // namespace

void lay_state_alike(const ir::Module& module, std::vector<MemoryOptions>* options) {
  if (module.states.empty() || module.methods.size() < 2) return;
  Alignments largest{1, 1};
  bool alike = true;
  std::optional<Alignments> first;
  for (size_t m = 0; m < module.methods.size(); ++m) {
    const MemoryOptions& own = (*options)[m];
    const Alignments alignments = alignments_of(module, module.methods[m], own.alignments);
    if (!first.has_value()) first = alignments;
    alike = alike && own.planner == options->front().planner && alignments.host == first->host &&
            alignments.device == first->device;
    largest.host = std::max(largest.host, alignments.host);
    largest.device = std::max(largest.device, alignments.device);
  }
  if (alike) return;
  for (MemoryOptions& own : *options) own.state_alignments = largest;
}

int64_t MemoryPlan::saved_by_schedule() const {
  int64_t saved = plan.saved_by_schedule;
  for (const DelegatePlan& delegate : delegates) saved += delegate.plan.saved_by_schedule;
  return saved;
}

bool MemoryPlan::schedule_optimal() const {
  const auto optimal = [](const DelegatePlan& delegate) { return delegate.plan.schedule_optimal; };
  return plan.schedule_optimal && std::all_of(delegates.begin(), delegates.end(), optimal);
}

PlanningCost MemoryPlan::cost() const {
  PlanningCost cost = plan.cost;
  for (const DelegatePlan& delegate : delegates) cost += delegate.plan.cost;
  return cost;
}

const DelegatePlan* MemoryPlan::delegate(ir::NodeId call) const {
  for (const DelegatePlan& delegate : delegates) {
    if (delegate.call == call) return &delegate;
  }
  return nullptr;
}

namespace {

/// The memory of one method, with the inputs of delegates where `options` allow them. Sets `*elsewhere` to a call whose
/// inputs should lie in its scratch and do not; such a plan is of no use.
Expected<MemoryPlan> plan_method(const ir::Module& module, size_t index, const MemoryOptions& options,
                                 ir::NodeId* elsewhere) {
  const ir::Method& method = module.methods[index];
  MemoryPlan plan;
  plan.method = index;
  MemoryOptions left = options;
  // A delegate's scratch is a buffer of the plan around it, so it is known first.
  IdVector<ir::NodeId, int64_t> scratch_bytes(method.nodes.size(), 0);
  std::vector<ir::NodeId> calls;
  add_delegate_calls(method, method.body, &calls);
  for (const ir::NodeId call : calls) {
    const auto failed = [&](const Failure& failure) {
      return in_delegate_call(module, method, method.node(call), failure);
    };
    const auto compiled_here = has_region(module, method.node(call));
    if (!compiled_here.ok()) return failed(compiled_here.error());
    if (!*compiled_here) {
      const ir::Delegate& delegate = module.delegates[method.node(call).delegate];
      scratch_bytes[call] = ir::delegate_specs(delegate).scratch;
      ScratchPorts ports = ports_in_scratch_of(delegate);
      if (!ports.empty()) left.scratch_ports[call] = std::move(ports);
      continue;
    }
    auto delegate = plan_delegate(module, method, call, left);
    if (!delegate.ok()) return failed(delegate.error());
    left.time_limit = seconds_left(left.time_limit, delegate->plan.cost);
    scratch_bytes[call] = delegate->scratch_bytes;
    if (!delegate->scratch_ports.empty()) left.scratch_ports[call] = delegate->scratch_ports;
    plan.delegates.push_back(std::move(delegate).value());
  }
  left.alignments = alignments_of(module, method, options.alignments);
  BERTH_ASSIGN_OR_RETURN(plan.plan, plan_schedule(module, method, left, scratch_bytes));
  if (options.overlap.time && options.reorder) {
    BERTH_ASSIGN_OR_RETURN(plan.plan, plan_overlap(module, method, left, scratch_bytes, std::move(plan.plan)));
  }
  if (!options.banks.empty()) {
    BERTH_ASSIGN_OR_RETURN(plan.plan, use_banks(module, method, left, std::move(plan.plan)));
  }
  *elsewhere = call_with_inputs_elsewhere(left, plan.plan.model, plan.plan.packing);
  return plan;
}

bool has_scratch_inputs(const MemoryPlan& plan) {
  return std::any_of(plan.delegates.begin(), plan.delegates.end(),
                     [](const DelegatePlan& delegate) { return !delegate.scratch_ports.inputs.empty(); });
}

/// Whether outputs lie in the scratch of a delegate, which is then in use as long as they are, beside other buffers.
bool has_scratch_outputs(const MemoryPlan& plan) {
  return std::any_of(plan.delegates.begin(), plan.delegates.end(), [&](const DelegatePlan& delegate) {
    return !delegate.scratch_ports.outputs.empty() && plan.plan.packing.bytes() > delegate.scratch_bytes;
  });
}

}  // namespace

// An input in the scratch takes no more than one beside it, in the steps in which either is alive; but the two are tied
// to one distance. An output in it keeps all of it in use. So a plan that is not surely the lowest is held against
// those with inputs or outputs elsewhere.
Expected<MemoryPlan> plan_memory(const ir::Module& module, size_t index, const MemoryOptions& options) {
  ir::NodeId elsewhere;
  BERTH_ASSIGN_OR_RETURN(MemoryPlan plan, plan_method(module, index, options, &elsewhere));
  MemoryOptions own = options;
  const auto hold_against = [&](const MemoryOptions& others) -> Status {
    ir::NodeId still;
    BERTH_ASSIGN_OR_RETURN(MemoryPlan other, plan_method(module, index, others, &still));
    PlanningCost cost = plan.cost();
    cost += other.cost();
    const bool smaller = other.plan.packing.bytes() < plan.plan.packing.bytes();
    if (elsewhere.valid() || (smaller && !still.valid())) {
      plan = std::move(other);
      elsewhere = still;
      own = others;
    }
    plan.plan.cost = cost;
    for (DelegatePlan& delegate : plan.delegates) delegate.plan.cost = {};
    return Done{};
  };
  const auto without = [&](bool MemoryOptions::*use) {
    MemoryOptions others = own;
    others.*use = false;
    others.time_limit = seconds_left(options.time_limit, plan.cost());
    return others;
  };
  if (has_scratch_outputs(plan)) BERTH_TRY(hold_against(without(&MemoryOptions::outputs_in_scratch)));
  if (has_scratch_inputs(plan) && (elsewhere.valid() || !plan.plan.packing.optimal())) {
    BERTH_TRY(hold_against(without(&MemoryOptions::inputs_in_scratch)));
  }
  if (!elsewhere.valid()) return plan;
  const ir::Method& method = module.methods[index];
  return in_delegate_call(module, method, method.node(elsewhere),
                          Failure{Error::kNotSupported, "",
                                  "it was compiled to have inputs in its scratch that nothing else reads, which here "
                                  "lie elsewhere; compile it from the model"});
}

Expected<std::vector<MemoryPlan>> plan_memory(const ir::Module& module, const MemoryOptions& options) {
  return plan_memory(module, std::vector<MemoryOptions>(module.methods.size(), options));
}

Expected<std::vector<MemoryPlan>> plan_memory(const ir::Module& module, std::vector<MemoryOptions> options) {
  BERTH_CHECK(options.size() == module.methods.size());
  for (const MemoryOptions& own : options) BERTH_TRY(check(own));
  BERTH_ASSIGN_OR_RETURN(const std::vector<size_t> methods, methods_by_name(module));
  lay_state_alike(module, &options);
  std::vector<MemoryPlan> plans;
  double time_limit = options.empty() ? 0 : options.front().time_limit;
  for (const size_t method : methods) {
    options[method].time_limit = time_limit;
    Watch* const watch = options[method].watch;
    const double part = static_cast<double>(plans.size()) / static_cast<double>(methods.size());
    if (watch != nullptr) watch->begin("memory of " + module.methods[method].name, kPassesPart + kMemoryPart * part);
    auto planned = plan_memory(module, method, options[method]);
    if (watch != nullptr && watch->ended()) return Watch::failure();
    BERTH_ASSIGN_OR_RETURN(MemoryPlan plan, std::move(planned));
    time_limit = seconds_left(time_limit, plan.cost());
    plans.push_back(std::move(plan));
  }
  BERTH_TRY(check_state_arenas(module, plans));
  return plans;
}

}  // namespace berth::memory
