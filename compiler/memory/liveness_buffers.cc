// The buffers of a method: what gets one, and when it is in use.
#include <algorithm>
#include <map>

#include "base/math.h"
#include "compiler/memory/liveness_analysis.h"
#include "compiler/memory/output_scratch.h"

namespace berth::memory::internal {
namespace {

using ir::Method;
using ir::Module;
using ir::NodeId;
using ir::TensorType;
using ir::ValueId;

/// The states that some method of the module mentions.
IdVector<ir::StateId, bool> mentioned_states(const Module& module) {
  IdVector<ir::StateId, bool> mentioned(module.states.size());
  for (const Method& method : module.methods) {
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (const NodeId id : graph.nodes) {
        const ir::StateId state = method.node(id).state;
        if (mentioned.contains(state)) mentioned[state] = true;
      }
    });
  }
  return mentioned;
}

}  // namespace

void Analysis::find_outputs() {
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    const bool scratch = k < options_.scratch_outputs.size() && options_.scratch_outputs[k];
    ir::for_each_value(method_.body.outputs[k], [&](const ValueId& v) {
      if (!returned_[v]) scratch_outputs_[v] = scratch;
      returned_[v] = true;
    });
  }
}

Expected<BufferId> Analysis::add_buffer(const TensorType& type, bool state, int64_t lower, int64_t upper,
                                        const std::string& name, ValueId first) {
  packing::Buffer buffer;
  buffer.size = ir::max_bytes(type, module_.symbols);
  if (buffer.size > packing::kMaxBytes / 4) {
    return fault(name, "it may take over 2^58 bytes; give its symbolic dimensions smaller bounds",
                 Error::kOutOfResources);
  }
  buffer.space = out_.arenas.space(type.device, state);
  buffer.alignment = out_.arenas.alignment(buffer.space);
  buffer.lower = lower;
  buffer.upper = upper;
  out_.buffers.first_value.push_back(first);
  state_of_buffer_.push_back({});
  return out_.buffers.all.push_back(buffer);
}

/// Every state that any method of the module mentions lies in the state's arena of every method, in the module's
/// order: so methods that share the arena find the same state at the same place.
Status Analysis::place_states() {
  const IdVector<ir::StateId, bool> mentioned = mentioned_states(module_);
  std::map<int32_t, int64_t> ends;  // of what lies in each arena by now
  for (ir::StateId s : mentioned.ids()) {
    if (!mentioned[s]) continue;
    const ir::State& state = module_.states[s];
    BERTH_ASSIGN_OR_RETURN(const BufferId buffer, add_buffer(state.type, true, 0, 1, "@" + state.name, ValueId{}));
    out_.buffers.states[s] = buffer;
    state_of_buffer_[buffer] = s;
    if (options_.state_alignments.has_value()) {
      packing::Buffer& placed = out_.buffers.all[buffer];
      int64_t& end = ends[placed.space];
      placed.fixed = align_up(end, placed.alignment);
      end = placed.fixed + placed.size;
    }
    if (!state.type.device.is_cpu() && module_.methods.size() > 1) number_arenas_alike();
  }
  return Done{};
}

/// The host's state is always in arena 2. A device's comes after the arenas of the devices before it: methods that use
/// other ones would count it differently, and not share it. So each then has all arenas of all methods, empty ones too.
void Analysis::number_arenas_alike() {
  for (const Method& method : module_.methods) {
    for (const ir::Value& value : method.values) {
      if (value.tensor() != nullptr) out_.arenas.space(value.tensor()->device, false);
    }
  }
}

Status Analysis::make_buffer(ValueId value, int64_t step) {
  const TensorType* type = method_.value(value).tensor();
  if (type == nullptr) return Done{};
  const ValueId result = out_.aliases.stands_for[value];
  if (result.valid()) {
    out_.aliases.homes[value] = out_.aliases.homes[result];
    alive_at(result, step);
    return Done{};
  }
  if (out_.aliases.rows[value].in_row()) {
    out_.aliases.homes[value] = out_.aliases.homes[out_.aliases.rows[value].rows];
    alive_at(value, step);
    return Done{};
  }
  const bool boundary = step == 0 || returned_[value];
  const bool planned = step != 0 && (is_scratch_output(value) || payload_uses_as_scratch(module_, method_, value));
  if (boundary && is_callers(value) && !planned) {
    out_.aliases.homes[value] = {Home::kCaller, {}, {}};
    return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(const BufferId buffer,
                         add_buffer(*type, false, step, step + 1, "%" + method_.value(value).name, value));
  out_.aliases.homes[value] = {Home::kBuffer, buffer, {}};
  return Done{};
}

bool Analysis::is_scratch_output(ValueId value) const {
  return scratch_outputs_[value] && ir::max_bytes(method_.tensor(value), module_.symbols) > 0;
}

bool Analysis::lies_in_scratch_output(ValueId value) const {
  const ValueHome& place = out_.aliases.homes[value];
  if (place.home != Home::kBuffer) return false;
  const ValueId first = out_.buffers.first_value[place.buffer];
  return first.valid() && scratch_outputs_[first];
}

void Analysis::read_at(ValueId value, int64_t step) {
  out_.steps.last_reads[value] = std::max(out_.steps.last_reads[value], step);
  alive_at(value, step);
}

void Analysis::alive_at(ValueId value, int64_t step) {
  const ValueHome& place = out_.aliases.homes[value];
  if (place.home != Home::kBuffer) return;
  packing::Buffer& buffer = out_.buffers.all[place.buffer];
  buffer.lower = std::min(buffer.lower, step);
  buffer.upper = std::max(buffer.upper, step + 1);
}

ir::StateId Analysis::state_at(ValueId value) const {
  const ValueHome& place = out_.aliases.homes[value];
  return place.home == Home::kBuffer ? state_of_buffer_[place.buffer] : ir::StateId();
}

bool Analysis::is_input_buffer(ValueId value) const {
  const ValueHome& place = out_.aliases.homes[value];
  if (place.home != Home::kBuffer) return false;
  const ValueId first = out_.buffers.first_value[place.buffer];
  return first.valid() && method_.value(first).kind == ir::ValueKind::kInput;
}

}  // namespace berth::memory::internal
