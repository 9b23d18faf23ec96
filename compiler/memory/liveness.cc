#include "compiler/memory/liveness.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/liveness_analysis.h"
#include "compiler/memory/output_scratch.h"
#include "compiler/memory/scratch_ports.h"
#include "compiler/memory/state_in_place.h"

namespace berth::memory {
namespace internal {
namespace {

using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

/// What the backends that the method calls want behind each of its arenas.
int64_t bytes_behind(const Module& module, const Method& method) {
  int64_t bytes = 0;
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (const NodeId id : graph.nodes) {
      if (!method.node(id).is(OpId::delegate)) continue;
      const ir::Delegate& delegate = module.delegates[method.node(id).delegate];
      bytes = std::max({bytes, bytes_behind_arenas(delegate.backend.c_str()), ir::delegate_specs(delegate).padding});
    }
  });
  return bytes;
}

}  // namespace

Analysis::Analysis(const Module& module, const Method& method, const MemoryOptions& options,
                   const IdVector<ir::NodeId, int64_t>& scratch_bytes)
    : module_(module),
      method_(method),
      options_(options),
      scratch_bytes_(scratch_bytes),
      uses_(ir::count_uses(method)),
      returned_(method.values.size(), false),
      given_(method.values.size(), false),
      scratch_outputs_(method.values.size(), false),
      own_scratch_(method.values.size(), false),
      out_{{},
           {},
           {},
           {},
           ArenaTable(options.alignments, options.state_alignments.value_or(options.alignments),
                      bytes_behind(module, method))} {
  out_.aliases.homes.resize(method.values.size());
  out_.aliases.bases.resize(method.values.size());
  out_.aliases.stands_for.resize(method.values.size());
  out_.aliases.stacked.assign(method.values.size(), false);
  out_.aliases.rows.resize(method.values.size());
  out_.aliases.pointed.assign(method.values.size(), false);
  out_.buffers.states.resize(module.states.size());
  out_.buffers.scratch.resize(method.nodes.size());
  out_.aliases.reasons.assign(method.nodes.size(), ViewReason::kNotAView);
  out_.steps.nodes.assign(method.nodes.size(), -1);
  out_.steps.last_reads.assign(method.values.size(), -1);
}

Expected<Liveness> Analysis::run() {
  BERTH_TRY(place_states());
  for (const ValueId v : method_.values.ids()) {
    const ir::Value& value = method_.values[v];
    if (value.kind == ir::ValueKind::kConstant) out_.aliases.homes[v] = {Home::kConstant, {}, value.constant};
  }
  find_outputs();
  for (const ScratchPort& input : options_.own_scratch_ports.inputs) {
    own_scratch_[method_.body.inputs[input.port]] = true;
  }
  for (const ScratchPort& output : options_.own_scratch_ports.outputs) {
    own_scratch_[std::get<ValueId>(method_.body.outputs[output.port])] = true;
  }
  for (const StateLink& link : find_state_links(method_, options_.state_ports)) {
    out_.aliases.stands_for[link.value] = link.input;
  }
  for (const ValueId input : method_.body.inputs) BERTH_TRY(make_buffer(input, 0));
  BERTH_TRY(visit(method_.body));
  BERTH_TRY(finish_outputs());
  drop_unused_buffers(&out_);
  out_.buffers.output_scratch = scratch_buffers(method_, scratch_outputs_, out_.aliases, out_.buffers);
  out_.buffers.scratch_ports = scratch_port_buffers(method_, options_.own_scratch_ports, out_.aliases);
  return std::move(out_);
}

Failure Analysis::fault(const std::string& where, std::string message, Error code) const {
  return Failure{code, "method " + method_.name + ": " + where, std::move(message)};
}

Status Analysis::visit(const ir::Graph& graph) {
  for (const NodeId id : graph.nodes) {
    ++step_;
    BERTH_TRY(visit(id));
  }
  return Done{};
}

void Analysis::read_in_use(NodeId id) {
  const auto used = options_.in_use.find(id);
  if (used == options_.in_use.end()) return;
  for (const ValueId value : used->second) {
    // A node that reads the same bytes must not compute into them.
    const ValueHome& place = out_.aliases.homes[value];
    bool reads = false;
    for (const ir::Argument& argument : method_.node(id).args) {
      ir::for_each_value(argument, [&](const ValueId& v) {
        reads = reads || (place.home == Home::kBuffer && out_.aliases.homes[v].is(place.buffer));
      });
    }
    read_at(value, reads ? step_ + 1 : step_);
  }
}

Status Analysis::visit(NodeId id) {
  const Node& node = method_.node(id);
  out_.steps.nodes[id] = step_;
  const std::string where = std::string(node.op->functional_name) + (node.source.empty() ? "" : " of " + node.source);
  if (node.op->writes_self) return fault(where, "values never change; use the operator's functional form");
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ValueId& v) { read_at(v, step_); });
  }
  read_in_use(id);
  if (node.is(OpId::state_read) || node.is(OpId::state_write)) return visit_state(node, where);
  if (node.is(OpId::delegate)) return visit_delegate(id, where);
  if (!node.regions.empty()) {
    BERTH_TRY(visit_regions(id, where));
    read_in_use(id);
    return Done{};
  }
  if (node.op->infer == nullptr) return fault(where, "this operator has no form in a program");

  const ViewReason reason = options_.alias ? view_reason(node) : ViewReason::kOff;
  out_.aliases.reasons[id] = reason;
  if (is_view(reason)) {
    make_view(std::get<ValueId>(node.args[arg::view::self]), node.results[0]);
    return Done{};
  }
  for (size_t k = 0; k < node.results.size(); ++k) {
    const ValueId result = node.results[k];
    const bool unplaced = k < 32 && ((node.op->unplaced_outputs >> k) & 1u) != 0 && uses_[result] == 0;
    if (unplaced) {
      out_.aliases.homes[result] = {Home::kNowhere, {}, {}};
    } else {
      BERTH_TRY(make_buffer(result, step_));
    }
  }
  return Done{};
}

Status Analysis::visit_delegate(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  BERTH_TRY(check_kept_state(node, where));
  const auto known = options_.scratch_ports.find(id);
  const std::vector<ScratchPort> inside =
      known == options_.scratch_ports.end() ? std::vector<ScratchPort>() : known->second.outputs;
  for (size_t k = 0; k < node.results.size(); ++k) {
    const auto is_it = [&](const ScratchPort& port) { return port.port == static_cast<int32_t>(k); };
    if (std::none_of(inside.begin(), inside.end(), is_it)) BERTH_TRY(make_buffer(node.results[k], step_));
  }
  BufferId scratch;
  if (scratch_bytes_.contains(id) && scratch_bytes_[id] > 0) {
    TensorType bytes;
    bytes.dtype = DType::kU8;
    bytes.shape = {ir::Dim(scratch_bytes_[id])};
    BERTH_ASSIGN_OR_RETURN(bytes.device, ir::delegate_device(module_.delegates[node.delegate]));
    BERTH_ASSIGN_OR_RETURN(scratch, add_buffer(bytes, false, step_, step_ + 1, where, ValueId{}));
    out_.buffers.scratch[id] = scratch;
  } else if (!node.results.empty()) {
    // What was compiled before and read from a program has its scratch as its last result.
    scratch = out_.aliases.homes[node.results.back()].buffer;
  }
  for (const ScratchPort& output : inside) {
    if (static_cast<size_t>(output.port) >= node.results.size() || !scratch.valid()) continue;  // the loader says so
    out_.aliases.homes[node.results[output.port]] = {Home::kBuffer, scratch, {}, output.offset};
  }
  return Done{};
}

// The delegate writes into its last input, so that must be the state itself.
Status Analysis::check_kept_state(const Node& node, const std::string& where) const {
  const ir::Delegate& delegate = module_.delegates[node.delegate];
  const int64_t bytes = delegate.payload.has_value() ? ir::delegate_specs(delegate).state : 0;
  if (bytes == 0) return Done{};
  const auto& inputs = std::get<ir::ValueList>(node.args[arg::delegate::inputs]);
  const bool is_state = !inputs.empty() && state_at(inputs.back()).valid() &&
                        ir::max_bytes(method_.tensor(inputs.back()), module_.symbols) == bytes &&
                        std::count(inputs.begin(), inputs.end(), inputs.back()) == 1;
  if (is_state) return Done{};
  return fault(where, "the delegate keeps " + std::to_string(bytes) +
                          " bytes of state, and its last input is not state of that size");
}

Status Analysis::check_state_ports() const {
  for (const NodeId id : method_.nodes.ids()) {
    const Node& node = method_.node(id);
    if (!node.is(OpId::delegate) || out_.steps.nodes[id] < 0) continue;
    const auto& inputs = std::get<ir::ValueList>(node.args[arg::delegate::inputs]);
    for (const StatePort& port : find_state_ports(module_, method_, id, options_)) {
      const size_t input = port.input;
      const size_t result = port.result;
      if (input >= inputs.size() || result >= node.results.size()) continue;  // the check of the file says so
      const ValueHome& home = out_.aliases.homes[inputs[input]];
      const ValueHome& next = out_.aliases.homes[node.results[result]];
      if (home.home == Home::kBuffer && next.is(home.buffer)) continue;
      return fault("delegate @" + module_.delegates[node.delegate].name,
                   "it was compiled to change input " + std::to_string(input) +
                       " in place, which here is not state that result " + std::to_string(result) +
                       " replaces and nothing else reads; compile it from the model");
    }
  }
  return Done{};
}

Status Analysis::visit_state(const Node& node, const std::string& where) {
  if (!out_.buffers.states.contains(node.state)) return fault(where, "names no state of the module");
  if (node.is(OpId::state_read)) {
    out_.aliases.homes[node.results[0]] = {Home::kBuffer, out_.buffers.states[node.state], {}};
    return Done{};
  }
  if (depth_ > 0)
    return fault(where,
                 "state is written outside of branches and loops; hoist_state_writes takes it out of all but "
                 "the conditions of loops");
  const ValueId value = std::get<ValueId>(node.args[arg::state_write::value]);
  const auto same_state = [&](const WriteBack& write) { return write.state == node.state; };
  auto& writes = out_.copies.write_backs;
  writes.erase(std::remove_if(writes.begin(), writes.end(), same_state), writes.end());
  writes.push_back({node.state, value});
  return Done{};
}

}  // namespace internal

Expected<Liveness> find_liveness(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                 const IdVector<ir::NodeId, int64_t>& scratch_bytes) {
  return internal::Analysis(module, method, options, scratch_bytes).run();
}

}  // namespace berth::memory
