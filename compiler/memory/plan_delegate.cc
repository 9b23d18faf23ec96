#include "compiler/memory/plan_delegate.h"

#include <algorithm>
#include <limits>

#include "base/backend_facts.h"
#include "base/math.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/optimal_schedule.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/scratch_ports.h"

namespace berth::memory {
namespace {

/// Outputs are used as scratch only if that saves at least 1/kLeastGain of the scratch.
constexpr int64_t kLeastGain = 64;
/// They lie in it only if that saves as much as 1/kLeastOutputs of the scratch.
constexpr int64_t kLeastOutputs = 4096;

int64_t scratch_of(const MethodPlan& plan) { return plan.packing.spaces[0].height; }

/// The outputs that may be used as scratch, and what cannot lie in them in any order of the nodes: buffers that are
/// larger than each.
class OutputSpace {
 public:
  /// All must outlive it.
  OutputSpace(const ir::Module& module, const MethodPlan& own, const std::vector<bool>& usable, const InPlaceSet& set)
      : module_(module), method_(own.scheduled(module.methods.front())), set_(set), large_(own.model) {
    int64_t largest = 0;
    for (size_t k = 0; k < usable.size(); ++k) {
      const auto* value = std::get_if<ir::ValueId>(&method_.body.outputs[k]);
      if (!usable[k] || value == nullptr) continue;
      const int64_t size = ir::max_bytes(method_.tensor(*value), module.symbols);
      bytes_ += size;
      largest = std::max(largest, size);
    }
    for (packing::Buffer& buffer : large_.buffers.all) {
      if (buffer.size <= largest) buffer.size = 0;
    }
  }

  int64_t bytes() const { return bytes_; }
  /// Whether what cannot lie in them takes `bytes` of scratch in every order.
  bool leaves(int64_t bytes) const {
    packing::Plan plan;
    plan.spaces = {{bytes, 0}};
    return is_lowest_of_all_orders(module_, method_, large_, set_, plan);
  }

 private:
  const ir::Module& module_;
  const ir::Method& method_;
  const InPlaceSet& set_;
  MemoryModel large_;  // with those buffers alone
  int64_t bytes_ = 0;
};

struct RegionPlan {
  MethodPlan plan;
  int64_t own_scratch = 0;
  ScratchPorts ports;
};

/// `own`, or a plan with temporaries in the bytes of those outputs that are `usable`. The first when the other is
/// hardly better, or cannot be: a proof that no order is lower is worth more than a few bytes.
Expected<RegionPlan> use_outputs(const ir::Module& module, MemoryOptions options, std::vector<bool> usable,
                                 RegionPlan own) {
  const ir::Method& given = module.methods.front();
  const int64_t gain = std::max<int64_t>(own.own_scratch / kLeastGain, 1);
  const OutputSpace outputs(module, own.plan, usable, options.in_place_set);
  if (outputs.bytes() < gain || own.own_scratch == 0 || outputs.leaves(own.own_scratch - gain + 1)) return own;
  ScratchPorts ports = own.ports;
  ports.inputs = at_front(std::move(ports.inputs), given, module.symbols, options.alignments.host);
  options.scratch_outputs = std::move(usable);
  options.own_scratch_ports = ports;
  options.time_limit = seconds_left(options.time_limit, own.plan.cost);
  BERTH_ASSIGN_OR_RETURN(MethodPlan shared, plan_schedule(module, given, options, {}));
  PackedModel split = split_output_scratch(std::move(shared.model), std::move(shared.packing));
  shared.model = std::move(split.model);
  shared.packing = std::move(split.plan);
  shared.cost += own.plan.cost;
  if (scratch_of(shared) > own.own_scratch - gain) {
    own.plan.cost = shared.cost;
    return own;
  }
  if (scratch_of(shared) == 0 || outputs.leaves(scratch_of(shared))) {
    shared.schedule_optimal = true;
    shared.packing.spaces[0].lower_bound = scratch_of(shared);
  }
  return RegionPlan{std::move(shared), own.own_scratch, std::move(ports)};
}

/// `own`, or a plan with `outputs` in the scratch where that takes fewer bytes than both.
Expected<RegionPlan> hold_outputs(const ir::Module& module, MemoryOptions options, std::vector<ScratchPort> outputs,
                                  RegionPlan own) {
  const ir::Method& given = module.methods.front();
  const int64_t gain = std::max<int64_t>(own.own_scratch / kLeastOutputs, 1);
  int64_t bytes = 0;
  for (const ScratchPort& output : outputs) {
    bytes += ir::max_bytes(given.tensor(std::get<ir::ValueId>(given.body.outputs[output.port])), module.symbols);
  }
  if (bytes < gain || own.own_scratch == 0) return own;
  options.own_scratch_ports.outputs = std::move(outputs);
  options.time_limit = seconds_left(options.time_limit, own.plan.cost);
  BERTH_ASSIGN_OR_RETURN(MethodPlan plan, plan_schedule(module, given, options, {}));
  plan.cost += own.plan.cost;
  const int64_t scratch = scratch_of(plan);
  if (scratch > own.own_scratch + bytes - gain ||
      !are_outputs_apart(plan.model, plan.packing, own.ports.inputs.size())) {
    own.plan.cost = plan.cost;
    return own;
  }
  return RegionPlan{std::move(plan), scratch, std::move(options.own_scratch_ports)};
}

/// `outputs` may lie in the scratch, and if there are none, `usable` ones may hold temporaries: what lies in an output
/// could lie there as well if both were in the scratch.
Expected<RegionPlan> plan_region(const ir::Module& module, const MemoryOptions& options, std::vector<bool> usable,
                                 std::vector<ScratchPort> outputs) {
  BERTH_ASSIGN_OR_RETURN(MethodPlan plan, plan_schedule(module, module.methods.front(), options, {}));
  const int64_t scratch = scratch_of(plan);
  RegionPlan own{std::move(plan), scratch, options.own_scratch_ports};
  if (outputs.empty()) return use_outputs(module, options, std::move(usable), std::move(own));
  return hold_outputs(module, options, std::move(outputs), std::move(own));
}

/// What a nested program may do: its inputs and outputs are the call's, and its values are local to the delegate.
MemoryOptions region_options(const MemoryOptions& options, int64_t alignment) {
  MemoryOptions region = options;
  region.alignments = Alignments{};
  region.alignments.host = alignment;
  region.plan_inputs_and_outputs = false;
  region.callers = nullptr;
  region.state_ports.clear();
  region.scratch_ports.clear();
  region.banks.clear();
  region.overlap = {};
  region.in_use.clear();
  region.bank_of = nullptr;
  return region;
}

Expected<int64_t> scratch_tensor_bytes(int64_t bytes) {
  constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
  if (bytes <= kMaxSize) return bytes;
  if (bytes <= kMaxSize * kScratchRow) return align_up(bytes, kScratchRow);
  return Failure{Error::kOutOfResources, "", "its scratch would take " + std::to_string(bytes) + " bytes"};
}

}  // namespace

Alignments alignments_of(const ir::Module& module, const ir::Method& method, const Alignments& least) {
  Alignments alignments = least;
  for (const ir::Node& node : method.nodes) {
    if (!module.delegates.contains(node.delegate)) continue;
    const ir::Delegate& delegate = module.delegates[node.delegate];
    alignments.host = std::max(alignments.host, kDelegateAlignment);
    alignments.device = std::max(alignments.device, kDelegateAlignment);
    const auto device = ir::delegate_device(delegate);
    int64_t& own = device.ok() && !device->is_cpu() ? alignments.device : alignments.host;
    own = std::max({own, delegate_alignment(delegate.backend.c_str()), ir::delegate_specs(delegate).alignment});
  }
  return alignments;
}

Failure in_delegate_call(const ir::Module& module, const ir::Method& method, const ir::Node& call,
                         const Failure& failure) {
  const bool exists = module.delegates.contains(call.delegate);
  std::string place =
      "method " + method.name + ": delegate " + (exists ? "@" + module.delegates[call.delegate].name : "call");
  if (!failure.place.empty()) place += ": " + failure.place;
  return Failure{failure.code, std::move(place), failure.message};
}

Expected<DelegatePlan> plan_delegate(const ir::Module& module, const ir::Method& method, ir::NodeId call,
                                     const MemoryOptions& options) {
  const ir::Node& node = method.node(call);
  const ir::Delegate& delegate = module.delegates[node.delegate];
  BERTH_ASSIGN_OR_RETURN(const Device device, ir::delegate_device(delegate));
  DelegatePlan plan;
  plan.call = call;
  BERTH_ASSIGN_OR_RETURN(plan.region, region_module(module, method, node));
  const int64_t alignment = alignments_of(module, method, options.alignments).of(device);
  std::vector<bool> usable;
  if (options.output_scratch) usable = results_usable_as_scratch(method, node, options.callers);
  MemoryOptions region_own = region_options(options, alignment);
  region_own.state_ports = find_state_ports(module, method, call, options);
  plan.state_ports = region_own.state_ports.size();
  region_own.own_scratch_ports.inputs =
      inputs_for_scratch(module, method, call, plan.region.module.methods.front(), options);
  std::vector<ScratchPort> outputs = outputs_for_scratch(method, call, plan.region.module, usable, options);
  BERTH_ASSIGN_OR_RETURN(RegionPlan region,
                         plan_region(plan.region.module, region_own, std::move(usable), std::move(outputs)));
  plan.plan = std::move(region.plan);
  plan.scratch_ports = as_placed(std::move(region.ports), plan.plan.model, plan.plan.packing);
  plan.own_scratch_bytes = region.own_scratch;
  BERTH_ASSIGN_OR_RETURN(plan.scratch_bytes, scratch_tensor_bytes(scratch_of(plan.plan)));
  return plan;
}

}  // namespace berth::memory
