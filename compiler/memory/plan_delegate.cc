#include "compiler/memory/plan_delegate.h"

#include <algorithm>
#include <limits>

#include "base/backend_facts.h"
#include "base/math.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/input_scratch.h"
#include "compiler/memory/optimal_schedule.h"
#include "compiler/memory/output_scratch.h"

namespace berth::memory {
namespace {

/// Outputs are used as scratch only if that saves at least 1/kLeastGain of the scratch.
constexpr int64_t kLeastGain = 64;

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
};

/// The plan with the least scratch: one without the bytes of outputs, and one with those that are `usable`. The first
/// when the other is hardly better, or cannot be: a proof that no order is lower is worth more than a few bytes.
Expected<RegionPlan> plan_region(const ir::Module& module, MemoryOptions options, std::vector<bool> usable) {
  const ir::Method& given = module.methods.front();
  BERTH_ASSIGN_OR_RETURN(MethodPlan own, plan_schedule(module, given, options, {}));
  const int64_t own_scratch = scratch_of(own);
  const int64_t gain = std::max<int64_t>(own_scratch / kLeastGain, 1);
  const OutputSpace outputs(module, own, usable, options.in_place_set);
  if (outputs.bytes() < gain || own_scratch == 0 || outputs.leaves(own_scratch - gain + 1)) {
    return RegionPlan{std::move(own), own_scratch};
  }
  options.scratch_outputs = std::move(usable);
  const int64_t alignment = options.alignments.host;
  options.own_scratch_inputs = at_front(options.own_scratch_inputs, given, module.symbols, alignment);
  options.time_limit = seconds_left(options.time_limit, own.cost);
  BERTH_ASSIGN_OR_RETURN(MethodPlan shared, plan_schedule(module, given, options, {}));
  PackedModel split = split_output_scratch(std::move(shared.model), std::move(shared.packing));
  shared.model = std::move(split.model);
  shared.packing = std::move(split.plan);
  shared.cost += own.cost;
  if (scratch_of(shared) > own_scratch - gain) {
    own.cost = shared.cost;
    return RegionPlan{std::move(own), own_scratch};
  }
  if (scratch_of(shared) == 0 || outputs.leaves(scratch_of(shared))) {
    shared.schedule_optimal = true;
    shared.packing.spaces[0].lower_bound = scratch_of(shared);
  }
  return RegionPlan{std::move(shared), own_scratch};
}

/// What a nested program may do: its inputs and outputs are the call's, and its values are local to the delegate.
MemoryOptions region_options(const MemoryOptions& options, int64_t alignment) {
  MemoryOptions region = options;
  region.alignments = Alignments{};
  region.alignments.host = alignment;
  region.plan_inputs_and_outputs = false;
  region.callers = nullptr;
  region.state_ports.clear();
  region.scratch_inputs.clear();
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
  const std::vector<ScratchInput> inputs =
      inputs_for_scratch(module, method, call, plan.region.module.methods.front(), options);
  region_own.own_scratch_inputs = inputs;
  BERTH_ASSIGN_OR_RETURN(RegionPlan region, plan_region(plan.region.module, std::move(region_own), std::move(usable)));
  plan.plan = std::move(region.plan);
  plan.scratch_inputs = as_placed(inputs, plan.plan.model, plan.plan.packing);
  plan.own_scratch_bytes = region.own_scratch;
  BERTH_ASSIGN_OR_RETURN(plan.scratch_bytes, scratch_tensor_bytes(scratch_of(plan.plan)));
  return plan;
}

}  // namespace berth::memory
