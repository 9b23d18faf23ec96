
#include <algorithm>
#include <map>

#include "base/backend_facts.h"
#include "base/math.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/delegate.h"
#include "compiler/memory/delegate_state.h"
#include "compiler/memory/liveness_analysis.h"
#include "compiler/memory/output_scratch.h"
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
  for (const StateLink& link : find_state_links(method_, options_.state_ports)) {
    out_.aliases.stands_for[link.value] = link.input;
  }
  for (const ValueId input : method_.body.inputs) BERTH_TRY(make_buffer(input, 0));
  BERTH_TRY(visit(method_.body));
  BERTH_TRY(finish_outputs());
  drop_unused_buffers(&out_);
  out_.buffers.output_scratch = scratch_buffers(method_, scratch_outputs_, out_.aliases, out_.buffers);
  return std::move(out_);
}

void Analysis::find_outputs() {
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    const bool scratch = k < options_.scratch_outputs.size() && options_.scratch_outputs[k];
    ir::for_each_value(method_.body.outputs[k], [&](const ValueId& v) {
      if (!returned_[v]) scratch_outputs_[v] = scratch;
      returned_[v] = true;
    });
  }
}

Failure Analysis::fault(const std::string& where, std::string message, Error code) const {
  return Failure{code, "method " + method_.name + ": " + where, std::move(message)};
}

Expected<BufferId> Analysis::add_buffer(const TensorType& type, bool state, int64_t lower, int64_t upper,
                                        const std::string& name, ValueId first) {
  packing::Buffer storage;
  storage.size = ir::max_bytes(type, module_.symbols);
  if (storage.size > packing::kMaxBytes / 4) {
    return fault(name, "it may take over 2^58 bytes; give its symbolic dimensions smaller bounds",
                 Error::kOutOfResources);
  }
  storage.space = out_.arenas.space(type.device, state);
  storage.alignment = out_.arenas.alignment(storage.space);
  storage.lower = lower;
  storage.upper = upper;
  out_.buffers.first_value.push_back(first);
  state_of_buffer_.push_back({});
  return out_.buffers.all.push_back(storage);
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
      packing::Buffer& storage = out_.buffers.all[buffer];
      int64_t& end = ends[storage.space];
      storage.fixed = align_up(end, storage.alignment);
      end = storage.fixed + storage.size;
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
  packing::Buffer& storage = out_.buffers.all[place.buffer];
  storage.lower = std::min(storage.lower, step);
  storage.upper = std::max(storage.upper, step + 1);
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

// Dimensions of more than one place, from the outermost in memory, as `name_of` calls them.
template <typename F>
static std::vector<int64_t> order_in_memory(const TensorType& type, F&& name_of) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const size_t d = type.dim_order.empty() ? i : type.dim_order[i];
    if (type.shape[d] != ir::Dim(1)) order.push_back(name_of(d));
  }
  return order;
}

/// Whether a permutation, or a copy into another dimension order, leaves every element where it is in memory.
bool Analysis::reorders_nothing(const Node& node) const {
  if (node.op->view != ir::ViewKind::kReorder) return false;
  const bool permutes = node.is(ir::OpId::permute_copy_out);
  const TensorType& from = method_.tensor(std::get<ValueId>(node.args[arg::reorder::self]));
  const TensorType& to = method_.tensor(node.results[0]);
  if (from.dtype != to.dtype) return false;
  const auto same = [](size_t d) { return static_cast<int64_t>(d); };
  const auto source = [&](size_t d) {
    if (!permutes) return static_cast<int64_t>(d);
    const int64_t dim = std::get<ir::DimList>(node.args[arg::permute_copy_out::dims])[d].value;
    return dim < 0 ? dim + from.rank() : dim;
  };
  return order_in_memory(from, same) == order_in_memory(to, source);
}

ViewReason Analysis::view_reason(const Node& node) const {
  if (reorders_nothing(node)) {
    const ValueId base = std::get<ValueId>(node.args[arg::reorder::self]);
    const Home home = out_.aliases.homes[base].home;
    const bool kept = home == Home::kBuffer && !state_at(base).valid() && !is_input_buffer(base);
    const bool same_device = method_.tensor(base).device == method_.tensor(node.results[0]).device;
    if (!kept || !same_device || returned_[node.results[0]]) return ViewReason::kNotAView;
    return method_.tensor(base).is_static() ? ViewReason::kView : ViewReason::kSizesChange;
  }
  if (!node.op->is_reshape()) return ViewReason::kNotAView;
  const ValueId base = std::get<ValueId>(node.args[arg::view::self]);
  const ValueId result = node.results[0];
  const TensorType& from = method_.tensor(base);
  const TensorType& to = method_.tensor(result);
  if (from.device != to.device) return ViewReason::kOtherDevice;
  const bool same_layout = from.shape == to.shape && from.dim_order == to.dim_order;
  if (!same_layout && !(from.is_contiguous() && to.is_contiguous())) return ViewReason::kOrderDiffers;
  const Home home = out_.aliases.homes[base].home;
  if (returned_[result]) {
    if (is_callers(result)) return ViewReason::kCallersOutput;
    if (home == Home::kConstant) return ViewReason::kOutputOfConstant;
    if (state_at(base).valid()) return ViewReason::kOutputOfState;
    if (is_input_buffer(base)) return ViewReason::kOutputOfInput;
  }
  if (home == Home::kCaller) return ViewReason::kCallersMemory;
  if (lies_in_scratch_output(base) &&
      ir::max_bytes(to, module_.symbols) > out_.buffers.all[out_.aliases.homes[base].buffer].size)
    return ViewReason::kScratchOfSymbols;
  const ir::StateId state = state_at(base);
  if (state.valid() &&
      ir::max_bytes(to, module_.symbols) > ir::max_bytes(module_.states[state].type, module_.symbols)) {
    return ViewReason::kStateOfSymbols;
  }
  if (from.is_static() && to.is_static()) return ViewReason::kView;
  return home == Home::kConstant ? ViewReason::kConstantOfSymbols : ViewReason::kSizesChange;
}

Status Analysis::visit(const ir::Graph& graph) {
  for (const NodeId id : graph.nodes) {
    ++step_;
    BERTH_TRY(visit(id));
  }
  return Done{};
}

Status Analysis::visit(NodeId id) {
  const Node& node = method_.node(id);
  out_.steps.nodes[id] = step_;
  const std::string where = std::string(node.op->functional_name) + (node.source.empty() ? "" : " of " + node.source);
  if (node.op->writes_self) return fault(where, "values never change; use the operator's functional form");
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ValueId& v) { read_at(v, step_); });
  }
  if (node.is(OpId::state_read) || node.is(OpId::state_write)) return visit_state(node, where);
  if (node.is(OpId::delegate)) return visit_delegate(id, where);
  if (!node.regions.empty()) return visit_regions(id, where);
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
  for (const ValueId result : node.results) BERTH_TRY(make_buffer(result, step_));
  if (!scratch_bytes_.contains(id) || scratch_bytes_[id] == 0) return Done{};
  TensorType bytes;
  bytes.dtype = DType::kU8;
  bytes.shape = {ir::Dim(scratch_bytes_[id])};
  BERTH_ASSIGN_OR_RETURN(bytes.device, ir::delegate_device(module_.delegates[node.delegate]));
  BERTH_ASSIGN_OR_RETURN(out_.buffers.scratch[id], add_buffer(bytes, false, step_, step_ + 1, where, ValueId{}));
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

void Analysis::make_view(ValueId base, ValueId result) {
  out_.aliases.homes[result] = out_.aliases.homes[base];
  out_.aliases.bases[result] = base;
  const ValueHome& place = out_.aliases.homes[base];
  if (place.home != Home::kBuffer) return;
  // With symbols, the upper ends of the two shapes may differ although their sizes never do.
  int64_t& size = out_.buffers.all[place.buffer].size;
  size = std::max(size, ir::max_bytes(method_.tensor(result), module_.symbols));
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
