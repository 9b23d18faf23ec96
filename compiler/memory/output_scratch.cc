#include "compiler/memory/output_scratch.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/memory/nested_payload.h"
#include "format/tensor_facts.h"

namespace berth::memory {
namespace {

using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

/// Calls `visit` with each value that a result may be made of: what the node reads itself, and what its regions yield.
template <typename Visit>
void for_each_source(const Node& node, const Visit& visit) {
  for (const ir::Argument& argument : node.args) ir::for_each_value(argument, visit);
  for (const Graph& region : node.regions) {
    for (const ir::Argument& output : region.outputs) ir::for_each_value(output, visit);
  }
}

/// Whether results may get the very bytes of arguments: as views, in place, as parts, or through a branch or loop.
bool may_alias_input(const Node& node) {
  if (node.is(OpId::delegate)) return false;
  return node.op->view != ir::ViewKind::kNone || node.op->in_place != ir::InPlaceClass::kNever || !node.regions.empty();
}

/// The values that may lie in the bytes of `value`, itself among them.
IdVector<ValueId, bool> names_of(const Method& method, ValueId value) {
  IdVector<ValueId, bool> names(method.values.size(), false);
  names[value] = true;
  for (bool more = true; more;) {
    more = false;
    const auto add = [&](ValueId v) {
      more = more || !names[v];
      names[v] = true;
    };
    for (const Node& node : method.nodes) {
      if (!may_alias_input(node)) continue;
      bool reads = false;
      for_each_source(node, [&](const ValueId& v) { reads = reads || names[v]; });
      if (!reads) continue;
      for (const ValueId result : node.results) add(result);
      for (const Graph& region : node.regions) std::for_each(region.inputs.begin(), region.inputs.end(), add);
    }
  }
  return names;
}

/// Whether a loop carries or stacks one of `names` on a device, so that its place is a row that instructions find.
bool may_be_row(const Method& method, const IdVector<ValueId, bool>& names) {
  for (const Node& node : method.nodes) {
    if (!node.is(OpId::scan) && !node.is(OpId::while_)) continue;
    for (const ir::Argument& output : node.regions.back().outputs) {
      const ValueId* value = std::get_if<ValueId>(&output);
      const ir::TensorType* type = value == nullptr ? nullptr : method.value(*value).tensor();
      if (type != nullptr && names[*value] && !type->device.is_cpu()) return true;
    }
  }
  return false;
}

bool is_usable(const Method& method, ValueId value, const CallersMemory& callers_memory) {
  const IdVector<ValueId, bool> names = names_of(method, value);
  for (const Node& node : method.nodes) {
    if (node.op->view != ir::ViewKind::kConcat && !node.is(OpId::state_write)) continue;
    bool reads = false;
    for_each_source(node, [&](const ValueId& v) { reads = reads || names[v]; });
    if (reads) return false;
  }
  if (may_be_row(method, names)) return false;
  for (const ir::Argument& output : method.body.outputs) {
    bool callers = false;
    ir::for_each_value(output, [&](const ValueId& v) {
      if (!names[v]) return;
      callers = callers || !method.tensor(v).device.is_cpu() || (callers_memory && callers_memory(method, v));
    });
    if (callers) return false;
  }
  return true;
}

/// An output used as scratch, on the line of output_scratch.h.
struct LineOutput {
  BufferId buffer;
  int32_t space = 0;  // that it becomes
  int64_t begin = 0;
  int64_t bytes = 0;
  int64_t end = 0;  // of its guard
};

std::vector<LineOutput> line_of(const MemoryModel& model) {
  std::vector<LineOutput> outputs;
  int64_t end = 0;
  for (size_t k = 0; k < model.buffers.output_scratch.size(); ++k) {
    if (!model.buffers.output_scratch[k].valid()) continue;
    LineOutput output;
    output.buffer = model.buffers.output_scratch[k];
    output.space = static_cast<int32_t>(k) + 1;
    const packing::Buffer& buffer = model.buffers.all[output.buffer];
    output.begin = end;
    output.bytes = buffer.size;
    output.end = end = align_up(output.begin + output.bytes + 1, buffer.alignment);
    outputs.push_back(output);
  }
  return outputs;
}

}  // namespace

std::vector<bool> results_usable_as_scratch(const Method& method, const Node& call,
                                            const CallersMemory& callers_memory) {
  std::vector<bool> usable;
  for (const ValueId result : call.results) usable.push_back(is_usable(method, result, callers_memory));
  return usable;
}

std::vector<BufferId> scratch_buffers(const Method& method, const IdVector<ValueId, bool>& usable,
                                      const Aliases& aliases, const Buffers& buffers) {
  std::vector<BufferId> scratch(method.body.outputs.size());
  IdVector<BufferId, bool> found(buffers.all.size(), false);
  for (size_t k = 0; k < scratch.size(); ++k) {
    const ValueId* value = std::get_if<ValueId>(&method.body.outputs[k]);
    if (value == nullptr || !usable[*value]) continue;
    const ValueHome& home = aliases.homes[*value];
    if (home.home != Home::kBuffer || found[home.buffer]) continue;
    found[home.buffer] = true;
    scratch[k] = home.buffer;
  }
  return scratch;
}

void add_output_scratch(const MemoryModel& model, packing::Problem* problem) {
  const std::vector<LineOutput> outputs = line_of(model);
  const int64_t scratch = outputs.empty() ? 0 : outputs.back().end;
  for (const ScratchPortBuffer& port : model.buffers.scratch_ports) {
    if (port.offset != packing::kAnywhere) problem->buffers[port.buffer.index].fixed = scratch + port.offset;
  }
  for (const LineOutput& output : outputs) {
    BERTH_CHECK(model.arenas.size() == 1);
    packing::Buffer& result = problem->buffers[output.buffer.index];
    result.fixed = output.begin;
    packing::Buffer guard;
    guard.fixed = output.begin + output.bytes;
    guard.size = output.end - guard.fixed;
    guard.upper = model.steps.read + 1;
    problem->buffers.push_back(guard);
  }
}

int64_t guard_bytes(const MemoryModel& model) {
  int64_t bytes = 0;
  for (const LineOutput& output : line_of(model)) bytes += output.end - output.begin - output.bytes;
  return bytes;
}

PackedModel split_output_scratch(MemoryModel model, packing::Plan plan) {
  const std::vector<LineOutput> outputs = line_of(model);
  if (outputs.empty()) return {std::move(model), std::move(plan)};
  const int64_t scratch = outputs.back().end;
  plan.offsets.resize(model.buffers.all.size());
  for (const BufferId id : model.buffers.all.ids()) {
    packing::Buffer& buffer = model.buffers.all[id];
    int64_t& offset = plan.offsets[id.index];
    const auto in = std::find_if(outputs.begin(), outputs.end(), [&](const LineOutput& output) {
      return offset >= output.begin && offset < output.begin + output.bytes;
    });
    if (buffer.size == 0) {
      offset = 0;
    } else if (in == outputs.end()) {
      offset -= scratch;
    } else {
      offset -= in->begin;
      buffer.space = in->space;
    }
  }
  const size_t spaces = static_cast<size_t>(outputs.back().space) + 1;
  model.arenas.resize(spaces, model.arenas[0]);
  plan.spaces.resize(spaces);
  plan.spaces[0].height = std::max<int64_t>(plan.spaces[0].height - scratch, 0);
  plan.spaces[0].lower_bound = std::max<int64_t>(plan.spaces[0].lower_bound - scratch, 0);
  for (const LineOutput& output : outputs) plan.spaces[output.space] = {output.bytes, output.bytes};
  return {std::move(model), std::move(plan)};
}

bool payload_uses_as_scratch(const ir::Module& module, const Method& method, ValueId value) {
  const ir::Value& made = method.value(value);
  if (made.kind != ir::ValueKind::kNode || !method.node(made.node).delegate.valid()) return false;
  const auto nested = nested_payload(module.delegates[method.node(made.node).delegate]);
  if (!nested.has_value()) return false;
  const fb::ExecutionPlan& plan = nested->program.method(0);
  const uint32_t result = static_cast<uint32_t>(made.result);
  if (result >= plan.outputs()->size()) return false;
  const fb::Tensor* output = format::tensor_at(plan, plan.outputs()->Get(result));
  return output != nullptr && format::is_planned(*output);
}

}  // namespace berth::memory
