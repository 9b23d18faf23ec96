#include "compiler/memory/scratch_ports.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "base/math.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/copy_node.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/nested_payload.h"
#include "format/tensor_facts.h"

namespace berth::memory {
namespace {

using ir::Graph;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

template <typename T>
bool contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// Whether `value` has bytes of its own in an arena of the device of `call`, which reads it and nothing else does.
/// `uses`: ir::count_uses(method).
bool dies_in(const Module& module, const Method& method, const Node& call, const MemoryOptions& options,
             const IdVector<ValueId, int>& uses, ValueId value) {
  const ir::TensorType& type = method.tensor(value);
  if (uses[value] != 1 || ir::max_bytes(type, module.symbols) == 0) return false;
  const auto device = ir::delegate_device(module.delegates[call.delegate]);
  if (!device.ok() || type.device != *device) return false;
  if (contains(method.body.inputs, value)) {
    return options.plan_inputs_and_outputs && type.device.is_cpu() &&
           !(options.callers && options.callers(method, value));
  }
  if (method.value(value).kind != ir::ValueKind::kNode) return false;
  const NodeId maker = method.value(value).node;
  const Node& node = method.node(maker);
  // What a view, a branch or a loop gives may have a second name.
  const bool own = node.op->view == ir::ViewKind::kNone && (node.regions.empty() || node.is(OpId::delegate));
  return own && !node.state.valid() && contains(method.body.nodes, maker);
}

/// Whether the region of a delegate reads its input `index`, and does not return it.
bool is_read_within(const Graph& region, const IdVector<ValueId, int>& uses, size_t index) {
  return uses[region.inputs[index]] > 0 && !contains(region.outputs, ir::Argument(region.inputs[index]));
}

const ir::ValueList& inputs_of(const Node& call) { return std::get<ir::ValueList>(call.args[arg::delegate::inputs]); }

}  // namespace

std::vector<ScratchPort> inputs_for_scratch(const Module& module, const Method& method, NodeId call,
                                            const Method& region, const MemoryOptions& options) {
  const Node& node = method.node(call);
  const bool allowed = options.inputs_in_scratch && options.allows_sub_buffers() && options.banks.empty() &&
                       runs_nested_programs(module.delegates[node.delegate].backend.c_str());
  // A single instruction has nothing that could lie where its inputs were.
  if (!allowed || node.regions.size() != 1 || node.regions[0].nodes.size() < 2) return {};
  if (!contains(method.body.nodes, call)) return {};
  const IdVector<ValueId, int> uses = ir::count_uses(method);
  const std::vector<StatePort> changed = find_state_ports(module, method, call, options);
  const ir::ValueList& inputs = inputs_of(node);
  std::vector<ScratchPort> found;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const int32_t input = static_cast<int32_t>(k);
    const bool in_place = std::any_of(changed.begin(), changed.end(), [&](const auto& p) { return p.input == input; });
    if (in_place || !dies_in(module, method, node, options, uses, inputs[k])) continue;
    if (is_read_within(node.regions[0], uses, k)) found.push_back({input, packing::kAnywhere});
  }
  if (found.empty() || (found.size() > 1 && ir::has_static_sizes(region))) return found;
  const auto bytes = [&](const ScratchPort& one) {
    return ir::max_bytes(method.tensor(inputs[one.port]), module.symbols);
  };
  const auto smaller = [&](const ScratchPort& a, const ScratchPort& b) { return bytes(a) < bytes(b); };
  return {{std::max_element(found.begin(), found.end(), smaller)->port, 0}};
}

std::vector<ScratchPort> at_front(std::vector<ScratchPort> inputs, const Method& region, const ir::Symbols& symbols,
                                  int64_t alignment) {
  int64_t end = 0;
  for (ScratchPort& input : inputs) {
    input.offset = end;
    end = align_up(end + ir::max_bytes(region.tensor(region.body.inputs[input.port]), symbols), alignment);
  }
  return inputs;
}

std::vector<ScratchPort> outputs_for_scratch(const Method& method, NodeId call, const Module& region,
                                             const std::vector<bool>& usable, const MemoryOptions& options) {
  const Method& inner = region.methods.front();
  const bool allowed = options.outputs_in_scratch && options.allows_sub_buffers() && options.banks.empty() &&
                       ir::has_static_sizes(inner);
  if (!allowed || !contains(method.body.nodes, call)) return {};
  std::vector<ScratchPort> found;
  const auto& outputs = inner.body.outputs;
  for (size_t k = 0; k < usable.size(); ++k) {
    const auto* value = std::get_if<ValueId>(&outputs[k]);
    if (!usable[k] || value == nullptr || std::count(outputs.begin(), outputs.end(), outputs[k]) != 1) continue;
    if (inner.value(*value).kind != ir::ValueKind::kNode) continue;
    if (ir::max_bytes(inner.tensor(*value), region.symbols) == 0) continue;
    found.push_back({static_cast<int32_t>(k), packing::kAnywhere});
  }
  return found;
}

ScratchPorts as_placed(ScratchPorts ports, const MemoryModel& model, const packing::Plan& plan) {
  size_t next = 0;
  for (std::vector<ScratchPort>* list : {&ports.inputs, &ports.outputs}) {
    for (ScratchPort& port : *list) port.offset = plan.offsets[model.buffers.scratch_ports[next++].buffer.index];
  }
  return ports;
}

bool are_outputs_apart(const MemoryModel& model, const packing::Plan& plan, size_t inputs) {
  const auto& ports = model.buffers.scratch_ports;
  for (size_t k = inputs; k < ports.size(); ++k) {
    if (!ports[k].buffer.valid()) return false;
    const int64_t begin = plan.offsets[ports[k].buffer.index];
    for (size_t other = inputs; other < k; ++other) {
      const int64_t at = plan.offsets[ports[other].buffer.index];
      if (at < begin + model.buffers.all[ports[k].buffer].size &&
          begin < at + model.buffers.all[ports[other].buffer].size)
        return false;
    }
  }
  return true;
}

ScratchPorts ports_in_scratch_of(const ir::Delegate& delegate) {
  const auto nested = nested_payload(delegate);
  if (!nested.has_value()) return {};
  const fb::ExecutionPlan& plan = nested->program.method(0);
  const auto in_scratch = [&](const flatbuffers::Vector<int32_t>* values) {
    std::vector<ScratchPort> ports;
    for (uint32_t i = 0; i < format::length(values); ++i) {
      const fb::Tensor* tensor = format::tensor_at(plan, values->Get(i));
      if (tensor == nullptr || !format::is_planned(*tensor) || tensor->allocation_info()->memory_id() != 1) continue;
      const auto offset = static_cast<int64_t>(format::planned_offset(*tensor->allocation_info()));
      ports.push_back({static_cast<int32_t>(i), offset});
    }
    return ports;
  };
  return {in_scratch(plan.inputs()), in_scratch(plan.outputs())};
}

void copy_scratch_inputs(Module* module, const std::vector<MemoryOptions>& options) {
  for (size_t m = 0; m < module->methods.size(); ++m) {
    Method& method = module->methods[m];
    for (size_t at = 0; at < method.body.nodes.size(); ++at) {
      const NodeId call = method.body.nodes[at];
      const ir::DelegateId delegate = method.node(call).delegate;
      if (!method.node(call).is(OpId::delegate) || !module->delegates.contains(delegate)) continue;
      for (const ScratchPort& input : ports_in_scratch_of(module->delegates[delegate]).inputs) {
        if (static_cast<size_t>(input.port) >= inputs_of(method.node(call)).size()) continue;  // the loader says so
        const ValueId value = inputs_of(method.node(call))[input.port];
        if (dies_in(*module, method, method.node(call), options[m], ir::count_uses(method), value)) continue;
        const std::string name = method.value(value).name;
        ValueId own;
        const NodeId copy = make_copy_node(&method, value, name + ".own", name + ": delegate-input", &own);
        std::get<ir::ValueList>(method.node(call).args[arg::delegate::inputs])[input.port] = own;
        method.body.nodes.insert(method.body.nodes.begin() + static_cast<std::ptrdiff_t>(at++), copy);
      }
    }
  }
}

std::vector<ScratchPortBuffer> scratch_port_buffers(const Method& method, const ScratchPorts& ports,
                                                    const Aliases& aliases) {
  std::vector<ScratchPortBuffer> found;
  const auto add = [&](ValueId value, int64_t offset) {
    const ValueHome& home = aliases.homes[value];
    found.push_back({home.home == Home::kBuffer ? home.buffer : BufferId(), offset});
  };
  for (const ScratchPort& input : ports.inputs) add(method.body.inputs[input.port], input.offset);
  BERTH_CHECK(std::all_of(found.begin(), found.end(), [](const auto& input) { return input.buffer.valid(); }));
  for (const ScratchPort& output : ports.outputs) {
    add(std::get<ValueId>(method.body.outputs[output.port]), output.offset);
  }
  return found;
}

AliasCandidates find_scratch_inputs(const Module& module, const Method& method, const MemoryOptions& options,
                                    const Liveness& live) {
  AliasCandidates found;
  for (const auto& [call, ports] : options.scratch_ports) {
    const Node& node = method.node(call);
    const ir::ValueList& values = inputs_of(node);
    // What was compiled before and read from a program has its scratch as its last result.
    const BufferId own = live.buffers.scratch[call];
    const ValueId last = own.valid() || node.results.empty() ? ValueId{} : node.results.back();
    const BufferId scratch = last.valid() ? live.aliases.homes[last].buffer : own;
    for (const ScratchPort& input : ports.inputs) {
      if (static_cast<size_t>(input.port) >= values.size() || !scratch.valid()) continue;
      const ValueId value = values[input.port];
      const ValueHome& home = live.aliases.homes[value];
      if (home.home != Home::kBuffer) continue;
      const packing::Buffer& from = live.buffers.all[home.buffer];
      const packing::Buffer& to = live.buffers.all[scratch];
      const bool whole = live.buffers.first_value[home.buffer] == value &&
                         from.size == ir::max_bytes(method.tensor(value), module.symbols);
      if (!whole || from.space != to.space || from.upper > live.steps.nodes[call] + 1) continue;
      AliasCandidate candidate;
      candidate.node = call;
      candidate.value = value;
      candidate.base = last;
      candidate.kind = AliasKind::kInScratch;
      candidate.buffers.from = home.buffer.index;
      candidate.buffers.to = scratch.index;
      candidate.buffers.offset = input.offset;
      found.all.push_back(candidate);
    }
  }
  return found;
}

NodeId call_with_inputs_elsewhere(const MemoryOptions& options, const MemoryModel& model, const packing::Plan& plan) {
  for (const auto& [call, ports] : options.scratch_ports) {
    size_t there = 0;
    for (const CandidateId id : model.candidates.all.ids()) {
      const AliasCandidate& candidate = model.candidates.all[id];
      const bool lies = candidate.kind == AliasKind::kInScratch && candidate.node == call && is_taken(plan, id);
      there += lies ? 1 : 0;
    }
    if (there != ports.inputs.size()) return call;
  }
  return {};
}

}  // namespace berth::memory
