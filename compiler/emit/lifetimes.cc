#include "compiler/emit/lifetimes.h"

#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/emit/delegates.h"
#include "compiler/emit/lent_results.h"
#include "compiler/emit/lifetimes_analysis.h"
#include "compiler/emit/slots.h"
#include "compiler/emit/state_in_place.h"
#include "compiler/ir/delegate.h"

namespace berth::emit {
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
      const ir::Delegate& delegate = module.delegates[static_cast<size_t>(method.node(id).delegate)];
      bytes = std::max(bytes, bytes_behind_arenas(delegate.backend.c_str()));
    }
  });
  return bytes;
}

/// The states that some method of the module mentions.
std::vector<bool> mentioned_states(const Module& module) {
  std::vector<bool> mentioned(module.states.size(), false);
  for (const Method& method : module.methods) {
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (const NodeId id : graph.nodes) {
        const ir::StateId state = method.node(id).state;
        if (state >= 0 && static_cast<size_t>(state) < mentioned.size()) mentioned[static_cast<size_t>(state)] = true;
      }
    });
  }
  return mentioned;
}

}  // namespace

Analysis::Analysis(const Module& module, const Method& method, const MemoryOptions& options,
                   const std::vector<int64_t>& scratch_bytes)
    : module_(module),
      method_(method),
      options_(options),
      scratch_bytes_(scratch_bytes),
      uses_(ir::count_uses(method)),
      table_(options.alignments, options.pools, bytes_behind(module, method)),
      returned_(method.values.size(), false),
      given_(method.values.size(), false),
      lent_(method.values.size(), false) {
  out_.places.resize(method.values.size());
  out_.bases.resize(method.values.size());
  out_.stands_for.resize(method.values.size());
  out_.stacked.assign(method.values.size(), false);
  out_.states.assign(module.states.size(), -1);
  out_.scratch.assign(method.nodes.size(), -1);
  out_.reasons.assign(method.nodes.size(), ViewReason::kNotAView);
  out_.steps.assign(method.nodes.size(), -1);
  out_.last_reads.assign(method.values.size(), -1);
}

Expected<Lifetimes> Analysis::run() {
  out_.in_place_set = options_.in_place_set;
  BERTH_TRY(place_states());
  for (size_t v = 0; v < method_.values.size(); ++v) {
    const ir::Value& value = method_.values[v];
    if (value.kind == ir::ValueKind::kConstant) out_.places[v] = {Home::kConstant, value.constant};
  }
  out_.lent.assign(method_.body.outputs.size(), -1);
  for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
    const bool lent = k < options_.lent_outputs.size() && options_.lent_outputs[k];
    ir::for_each_value(method_.body.outputs[k], [&](const ValueId& v) {
      if (!returned_[at(v)]) lent_[at(v)] = lent;
      returned_[at(v)] = true;
    });
  }
  for (const ValueId input : method_.body.inputs) BERTH_TRY(make_storage(input, 0));
  BERTH_TRY(visit(method_.body));
  BERTH_TRY(finish_outputs());
  drop_empty_storages(&out_);
  find_lent(method_, lent_, &out_);
  offer_slots(module_, method_, options_.slots, &out_);
  offer_in_place(module_, method_, options_.in_place, &out_);
  out_.arenas = std::move(table_).finish(&out_.problem);
  lay_lent(&out_);
  return std::move(out_);
}

Failure Analysis::fault(const std::string& where, std::string message, Error code) const {
  return Failure{code, "method " + method_.name + ": " + where, std::move(message)};
}

Expected<int32_t> Analysis::add_storage(const TensorType& type, bool state, int64_t lower, int64_t upper,
                                        const std::string& name, ValueId first) {
  plan::Storage storage;
  storage.size = ir::max_bytes(type, module_.symbols);
  if (storage.size > plan::kMaxBytes / 4) {
    return fault(name, "it may take over 2^58 bytes; give its symbolic dimensions smaller bounds",
                 Error::kOutOfResources);
  }
  BERTH_ASSIGN_OR_RETURN(const int32_t pool, pool_of(type, name, first));
  storage.space = table_.space(type.device, state, pool);
  storage.alignment = table_.alignment(storage.space);
  storage.lower = lower;
  storage.upper = upper;
  out_.problem.storages.push_back(storage);
  out_.first_value.push_back(first);
  state_of_storage_.push_back(-1);
  return static_cast<int32_t>(out_.problem.storages.size() - 1);
}

Expected<int32_t> Analysis::pool_of(const TensorType& type, const std::string& name, ValueId first) const {
  const int32_t pool = first.valid() && options_.pool_of ? options_.pool_of(method_, first) : -1;
  if (pool < 0) return -1;
  if (static_cast<size_t>(pool) >= options_.pools.size()) {
    return fault(name,
                 "pool " + std::to_string(pool) + " does not exist; there are " + std::to_string(options_.pools.size()),
                 Error::kInvalidArgument);
  }
  const Device device = options_.pools[static_cast<size_t>(pool)].device;
  if (device == type.device) return pool;
  return fault(name,
               "it lives on " + std::string(to_text(type.device).text) + ", pool " + std::to_string(pool) +
                   " is memory of " + to_text(device).text,
               Error::kInvalidArgument);
}

/// Every state that any method of the module mentions lies in the state's arena of every method, in the module's
/// order: so methods that share the arena find the same state at the same place.
Status Analysis::place_states() {
  const std::vector<bool> mentioned = mentioned_states(module_);
  for (size_t s = 0; s < mentioned.size(); ++s) {
    if (!mentioned[s]) continue;
    const ir::State& state = module_.states[s];
    BERTH_ASSIGN_OR_RETURN(const int32_t storage, add_storage(state.type, true, 0, 1, "@" + state.name, ValueId{}));
    out_.states[s] = storage;
    state_of_storage_[static_cast<size_t>(storage)] = static_cast<int32_t>(s);
    if (!state.type.device.is_cpu() && module_.methods.size() > 1) number_arenas_alike();
  }
  return Done{};
}

/// The host's state is always in arena 2. A device's comes after the arenas of the devices before it: methods that use
/// other ones would count it differently, and not share it. So each then has all arenas of all methods, empty ones too.
void Analysis::number_arenas_alike() {
  for (const Method& method : module_.methods) {
    for (const ir::Value& value : method.values) {
      if (value.tensor() != nullptr) table_.space(value.tensor()->device, false, -1);
    }
  }
  for (size_t pool = 0; pool < options_.pools.size(); ++pool) {
    table_.space(options_.pools[pool].device, false, static_cast<int32_t>(pool));
  }
}

Status Analysis::make_storage(ValueId value, int64_t step) {
  const TensorType* type = method_.value(value).tensor();
  if (type == nullptr) return Done{};
  const ValueId result = out_.stands_for[at(value)];
  if (result.valid()) {
    out_.places[at(value)] = out_.places[at(result)];
    alive_at(result, step);
    return Done{};
  }
  const bool boundary = step == 0 || returned_[at(value)];
  const bool planned = step != 0 && (is_lent(value) || lent_by_payload(module_, method_, value));
  if (boundary && is_callers(value) && !planned) {
    out_.places[at(value)] = {Home::kCaller, -1};
    return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(const int32_t storage,
                         add_storage(*type, false, step, step + 1, "%" + method_.value(value).name, value));
  out_.places[at(value)] = {Home::kStorage, storage};
  return Done{};
}

bool Analysis::is_lent(ValueId value) const {
  return lent_[at(value)] && ir::max_bytes(method_.tensor(value), module_.symbols) > 0;
}

bool Analysis::lies_in_lent(ValueId value) const {
  const Place& place = out_.places[at(value)];
  if (place.home != Home::kStorage) return false;
  const ValueId first = out_.first_value[static_cast<size_t>(place.index)];
  return first.valid() && lent_[at(first)];
}

void Analysis::read_at(ValueId value, int64_t step) {
  out_.last_reads[at(value)] = std::max(out_.last_reads[at(value)], step);
  alive_at(value, step);
}

void Analysis::alive_at(ValueId value, int64_t step) {
  const Place& place = out_.places[at(value)];
  if (place.home != Home::kStorage) return;
  plan::Storage& storage = out_.problem.storages[static_cast<size_t>(place.index)];
  storage.lower = std::min(storage.lower, step);
  storage.upper = std::max(storage.upper, step + 1);
}

ir::StateId Analysis::state_at(ValueId value) const {
  const Place& place = out_.places[at(value)];
  return place.home == Home::kStorage ? state_of_storage_[static_cast<size_t>(place.index)] : -1;
}

bool Analysis::is_input_storage(ValueId value) const {
  const Place& place = out_.places[at(value)];
  if (place.home != Home::kStorage) return false;
  const ValueId first = out_.first_value[static_cast<size_t>(place.index)];
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
  const bool permutes = node.is(ir::OpId::permute_copy_out);
  if (!permutes && !node.is(ir::OpId::clone_dim_order_out)) return false;
  const TensorType& from = method_.tensor(std::get<ValueId>(node.args[0]));
  const TensorType& to = method_.tensor(node.results[0]);
  if (from.dtype != to.dtype || !from.is_static() || !to.is_static()) return false;
  const auto same = [](size_t d) { return static_cast<int64_t>(d); };
  const auto source = [&](size_t d) {
    if (!permutes) return static_cast<int64_t>(d);
    const int64_t dim = std::get<ir::DimList>(node.args[1])[d].value;
    return dim < 0 ? dim + from.rank() : dim;
  };
  return order_in_memory(from, same) == order_in_memory(to, source);
}

ViewReason Analysis::view_reason(const Node& node) const {
  if (reorders_nothing(node)) {
    const ValueId base = std::get<ValueId>(node.args[0]);
    const Home home = out_.places[at(base)].home;
    const bool kept = home == Home::kStorage && state_at(base) < 0 && !is_input_storage(base);
    const bool same_device = method_.tensor(base).device == method_.tensor(node.results[0]).device;
    return kept && same_device && !returned_[at(node.results[0])] ? ViewReason::kView : ViewReason::kNotAView;
  }
  if (node.op->view != ir::ViewKind::kReshape) return ViewReason::kNotAView;
  const ValueId base = std::get<ValueId>(node.args[0]);
  const ValueId result = node.results[0];
  const TensorType& from = method_.tensor(base);
  const TensorType& to = method_.tensor(result);
  if (from.device != to.device) return ViewReason::kOtherDevice;
  const bool same_layout = from.shape == to.shape && from.dim_order == to.dim_order;
  if (!same_layout && !(from.is_contiguous() && to.is_contiguous())) return ViewReason::kOrderDiffers;
  const Home home = out_.places[at(base)].home;
  if (returned_[at(result)]) {
    if (is_callers(result)) return ViewReason::kCallersOutput;
    if (home == Home::kConstant) return ViewReason::kOutputOfConstant;
    if (state_at(base) >= 0) return ViewReason::kOutputOfState;
    if (is_input_storage(base)) return ViewReason::kOutputOfInput;
  }
  if (home == Home::kCaller) return ViewReason::kCallersMemory;
  if (lies_in_lent(base) &&
      ir::max_bytes(to, module_.symbols) > out_.problem.storages[static_cast<size_t>(out_.places[at(base)].index)].size)
    return ViewReason::kLentOfSymbols;
  const int32_t state = state_at(base);
  if (state >= 0 && ir::max_bytes(to, module_.symbols) >
                        ir::max_bytes(module_.states[static_cast<size_t>(state)].type, module_.symbols)) {
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
  out_.steps[static_cast<size_t>(id.index)] = step_;
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
  out_.reasons[static_cast<size_t>(id.index)] = reason;
  if (is_view(reason)) {
    make_view(std::get<ValueId>(node.args[0]), node.results[0]);
    return Done{};
  }
  for (size_t k = 0; k < node.results.size(); ++k) {
    const ValueId result = node.results[k];
    const bool unplaced = k < 32 && ((node.op->unplaced_outputs >> k) & 1u) != 0 && uses_[at(result)] == 0;
    if (unplaced) {
      out_.places[at(result)] = {Home::kNowhere, -1};
    } else {
      BERTH_TRY(make_storage(result, step_));
    }
  }
  return Done{};
}

Status Analysis::visit_delegate(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  for (const ValueId result : node.results) BERTH_TRY(make_storage(result, step_));
  const size_t n = static_cast<size_t>(id.index);
  if (n >= scratch_bytes_.size() || scratch_bytes_[n] == 0) return Done{};
  TensorType bytes;
  bytes.dtype = DType::kU8;
  bytes.shape = {ir::Dim(scratch_bytes_[n])};
  BERTH_ASSIGN_OR_RETURN(bytes.device, ir::delegate_device(module_.delegates[static_cast<size_t>(node.delegate)]));
  BERTH_ASSIGN_OR_RETURN(out_.scratch[n], add_storage(bytes, false, step_, step_ + 1, where, ValueId{}));
  return Done{};
}

void Analysis::make_view(ValueId base, ValueId result) {
  out_.places[at(result)] = out_.places[at(base)];
  out_.bases[at(result)] = base;
  const Place& place = out_.places[at(base)];
  if (place.home != Home::kStorage) return;
  // With symbols, the upper ends of the two shapes may differ although their sizes never do.
  int64_t& size = out_.problem.storages[static_cast<size_t>(place.index)].size;
  size = std::max(size, ir::max_bytes(method_.tensor(result), module_.symbols));
}

Status Analysis::visit_state(const Node& node, const std::string& where) {
  const size_t state = static_cast<size_t>(node.state);
  if (node.state < 0 || state >= out_.states.size()) return fault(where, "names no state of the module");
  if (node.is(OpId::state_read)) {
    out_.places[at(node.results[0])] = {Home::kStorage, out_.states[state]};
    return Done{};
  }
  if (depth_ > 0) return fault(where, "state is written at the end of the method, so outside of branches and loops");
  const ValueId value = std::get<ValueId>(node.args[0]);
  const auto same_state = [&](const WriteBack& write) { return write.state == node.state; };
  auto& writes = out_.write_backs;
  writes.erase(std::remove_if(writes.begin(), writes.end(), same_state), writes.end());
  writes.push_back({node.state, value});
  return Done{};
}

}  // namespace internal

const char* to_string(ViewReason reason) {
  switch (reason) {
    case ViewReason::kView: return "view";
    case ViewReason::kSizesChange: return "sizes-change";
    case ViewReason::kCallersMemory: return "callers-memory";
    case ViewReason::kNotAView: return "not-a-view";
    case ViewReason::kOrderDiffers: return "order-differs";
    case ViewReason::kOtherDevice: return "other-device";
    case ViewReason::kOutputOfInput: return "output-of-input";
    case ViewReason::kOutputOfConstant: return "output-of-constant";
    case ViewReason::kOutputOfState: return "output-of-state";
    case ViewReason::kCallersOutput: return "callers-output";
    case ViewReason::kConstantOfSymbols: return "constant-of-symbols";
    case ViewReason::kStateOfSymbols: return "state-of-symbols";
    case ViewReason::kLentOfSymbols: return "lent-of-symbols";
    case ViewReason::kOff: return "off";
  }
  return "unknown";
}

Expected<Lifetimes> find_lifetimes(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                                   const std::vector<int64_t>& scratch_bytes) {
  return internal::Analysis(module, method, options, scratch_bytes).run();
}

}  // namespace berth::emit
