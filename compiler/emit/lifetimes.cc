#include "compiler/emit/lifetimes.h"

#include <algorithm>

#include "compiler/emit/delegates.h"
#include "compiler/emit/state_in_place.h"

namespace berth::emit {
namespace {

using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

size_t at(ValueId id) { return static_cast<size_t>(id.index); }

/// The states that some method of the module mentions.
std::vector<bool> mentioned_states(const Module& module) {
  std::vector<bool> mentioned(module.states.size(), false);
  for (const Method& method : module.methods) {
    for (const NodeId id : method.body.nodes) {
      const ir::StateId state = method.node(id).state;
      if (state >= 0 && static_cast<size_t>(state) < mentioned.size()) mentioned[static_cast<size_t>(state)] = true;
    }
  }
  return mentioned;
}

class Analysis {
 public:
  Analysis(const Module& module, const Method& method, const MemoryOptions& options,
           const std::vector<int64_t>& scratch_bytes)
      : module_(module),
        method_(method),
        options_(options),
        scratch_bytes_(scratch_bytes),
        uses_(ir::count_uses(method)),
        table_(options.alignments, options.pools) {
    const auto nodes = static_cast<int64_t>(method.body.nodes.size());
    save_step_ = nodes + 1;
    write_step_ = nodes + 2;
    read_step_ = nodes + 3;
    out_.places.resize(method.values.size());
    out_.bases.resize(method.values.size());
    out_.states.assign(module.states.size(), -1);
    out_.scratch.assign(method.nodes.size(), -1);
    out_.reasons.assign(method.nodes.size(), ViewReason::kNotAView);
    out_.steps.assign(method.nodes.size(), -1);
    out_.last_reads.assign(method.values.size(), -1);
    returned_.resize(method.values.size(), false);
    given_.resize(method.values.size(), false);
  }

  Expected<Lifetimes> run() {
    BERTH_TRY(place_states());
    for (size_t v = 0; v < method_.values.size(); ++v) {
      const ir::Value& value = method_.values[v];
      if (value.kind == ir::ValueKind::kConstant) out_.places[v] = {Home::kConstant, value.constant};
    }
    for (const ir::Argument& output : method_.body.outputs) {
      ir::for_each_value(output, [&](const ValueId& v) { returned_[at(v)] = true; });
    }
    for (const ValueId input : method_.body.inputs) BERTH_TRY(make_storage(input, 0));
    int64_t step = 0;
    for (const NodeId id : method_.body.nodes) BERTH_TRY(visit(id, ++step));
    BERTH_TRY(finish_outputs());
    drop_empty_storages(&out_);
    offer_in_place(module_, method_, options_.in_place, &out_);
    out_.arenas = std::move(table_).finish(&out_.problem);
    return std::move(out_);
  }

 private:
  Failure fault(const std::string& where, std::string message, Error code = Error::kNotSupported) const {
    return Failure{code, "method " + method_.name + ": " + where, std::move(message)};
  }

  Expected<int32_t> add_storage(const TensorType& type, bool state, int64_t lower, int64_t upper,
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

  Expected<int32_t> pool_of(const TensorType& type, const std::string& name, ValueId first) const {
    const int32_t pool = first.valid() && options_.pool_of ? options_.pool_of(method_, first) : -1;
    if (pool < 0) return -1;
    if (static_cast<size_t>(pool) >= options_.pools.size()) {
      return fault(
          name, "pool " + std::to_string(pool) + " does not exist; there are " + std::to_string(options_.pools.size()),
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
  Status place_states() {
    const std::vector<bool> mentioned = mentioned_states(module_);
    for (size_t s = 0; s < mentioned.size(); ++s) {
      if (!mentioned[s]) continue;
      const ir::State& state = module_.states[s];
      BERTH_ASSIGN_OR_RETURN(const int32_t storage,
                             add_storage(state.type, true, 0, read_step_ + 1, "@" + state.name, ValueId{}));
      out_.states[s] = storage;
      state_of_storage_[static_cast<size_t>(storage)] = static_cast<int32_t>(s);
    }
    return Done{};
  }

  Status make_storage(ValueId value, int64_t step) {
    const TensorType* type = method_.value(value).tensor();
    if (type == nullptr) return Done{};
    const bool boundary = step == 0 || returned_[at(value)];
    if (boundary && is_callers(*type)) {
      out_.places[at(value)] = {Home::kCaller, -1};
      return Done{};
    }
    BERTH_ASSIGN_OR_RETURN(const int32_t storage,
                           add_storage(*type, false, step, step + 1, "%" + method_.value(value).name, value));
    out_.places[at(value)] = {Home::kStorage, storage};
    return Done{};
  }

  /// Whether an input or output of this type is in memory that the caller brings.
  bool is_callers(const TensorType& type) const { return !options_.plan_inputs_and_outputs || !type.device.is_cpu(); }

  /// Keeps the bytes of `value` alive through `step`.
  void read_at(ValueId value, int64_t step) {
    out_.last_reads[at(value)] = std::max(out_.last_reads[at(value)], step);
    const Place& place = out_.places[at(value)];
    if (place.home != Home::kStorage) return;
    int64_t& upper = out_.problem.storages[static_cast<size_t>(place.index)].upper;
    upper = std::max(upper, step + 1);
  }

  ir::StateId state_at(ValueId value) const {
    const Place& place = out_.places[at(value)];
    return place.home == Home::kStorage ? state_of_storage_[static_cast<size_t>(place.index)] : -1;
  }

  ViewReason view_reason(const Node& node) const {
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
      if (is_callers(to)) return ViewReason::kCallersOutput;
      if (home == Home::kConstant) return ViewReason::kOutputOfConstant;
      if (state_at(base) >= 0) return ViewReason::kOutputOfState;
      if (is_input_storage(base)) return ViewReason::kOutputOfInput;
    }
    if (home == Home::kCaller) return ViewReason::kCallersMemory;
    if (from.is_static() && to.is_static()) return ViewReason::kView;
    return home == Home::kConstant ? ViewReason::kConstantOfSymbols : ViewReason::kSizesChange;
  }

  bool is_input_storage(ValueId value) const {
    const Place& place = out_.places[at(value)];
    if (place.home != Home::kStorage) return false;
    const ValueId first = out_.first_value[static_cast<size_t>(place.index)];
    return first.valid() && method_.value(first).kind == ir::ValueKind::kInput;
  }

  Status visit(NodeId id, int64_t step) {
    const Node& node = method_.node(id);
    out_.steps[static_cast<size_t>(id.index)] = step;
    const std::string where = std::string(node.op->functional_name) + (node.source.empty() ? "" : " of " + node.source);
    if (!node.regions.empty() && !node.is(OpId::delegate)) {
      return fault(where, "programs with control flow cannot be written; unroll it or take it out of the model");
    }
    if (node.op->writes_self) return fault(where, "values never change; use the operator's functional form");
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& v) { read_at(v, step); });
    }
    if (node.is(OpId::state_read) || node.is(OpId::state_write)) return visit_state(node, where);
    if (node.is(OpId::delegate)) return visit_delegate(id, step, where);
    if (node.op->infer == nullptr) return fault(where, "this operator has no form in a program");

    const ViewReason reason = view_reason(node);
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
        BERTH_TRY(make_storage(result, step));
      }
    }
    return Done{};
  }

  Status visit_delegate(NodeId id, int64_t step, const std::string& where) {
    const Node& node = method_.node(id);
    for (const ValueId result : node.results) BERTH_TRY(make_storage(result, step));
    const size_t n = static_cast<size_t>(id.index);
    if (n >= scratch_bytes_.size() || scratch_bytes_[n] == 0) return Done{};
    TensorType bytes;
    bytes.dtype = DType::kU8;
    bytes.shape = {ir::Dim(scratch_bytes_[n])};
    BERTH_ASSIGN_OR_RETURN(bytes.device, delegate_device(module_.delegates[static_cast<size_t>(node.delegate)]));
    BERTH_ASSIGN_OR_RETURN(out_.scratch[n], add_storage(bytes, false, step, step + 1, where, ValueId{}));
    return Done{};
  }

  void make_view(ValueId base, ValueId result) {
    out_.places[at(result)] = out_.places[at(base)];
    out_.bases[at(result)] = base;
    const Place& place = out_.places[at(base)];
    if (place.home != Home::kStorage) return;
    // With symbols, the upper ends of the two shapes may differ although their sizes never do.
    int64_t& size = out_.problem.storages[static_cast<size_t>(place.index)].size;
    size = std::max(size, ir::max_bytes(method_.tensor(result), module_.symbols));
  }

  Status visit_state(const Node& node, const std::string& where) {
    const size_t state = static_cast<size_t>(node.state);
    if (node.state < 0 || state >= out_.states.size()) return fault(where, "names no state of the module");
    if (node.is(OpId::state_read)) {
      out_.places[at(node.results[0])] = {Home::kStorage, out_.states[state]};
      return Done{};
    }
    const ValueId value = std::get<ValueId>(node.args[0]);
    const auto same_state = [&](const WriteBack& write) { return write.state == node.state; };
    auto& writes = out_.write_backs;
    writes.erase(std::remove_if(writes.begin(), writes.end(), same_state), writes.end());
    writes.push_back({node.state, value});
    return Done{};
  }

  /// Gives `value` a copy of its own that the write-backs leave alone.
  Status save(ValueId value) {
    for (const Save& save : out_.saves) {
      if (save.value == value && save.output < 0) return Done{};
    }
    BERTH_ASSIGN_OR_RETURN(const int32_t storage, add_storage(method_.tensor(value), false, save_step_, read_step_ + 1,
                                                              "%" + method_.value(value).name, ValueId{}));
    out_.saves.push_back({value, storage, -1});
    return Done{};
  }

  bool is_written(ir::StateId state) const {
    const auto& writes = out_.write_backs;
    return std::any_of(writes.begin(), writes.end(), [&](const WriteBack& write) { return write.state == state; });
  }

  Status finish_outputs() {
    auto& writes = out_.write_backs;
    // A state that is given its own value keeps it.
    const auto idle = [&](const WriteBack& write) { return state_at(write.value) == write.state; };
    writes.erase(std::remove_if(writes.begin(), writes.end(), idle), writes.end());
    for (const WriteBack& write : writes) read_at(write.value, write_step_);
    for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
      const ValueId* value = std::get_if<ValueId>(&method_.body.outputs[k]);
      if (value == nullptr) continue;
      const TensorType* type = method_.value(*value).tensor();
      if (type != nullptr && is_callers(*type)) {
        finish_callers_output(*value, static_cast<int32_t>(k));
      } else {
        read_at(*value, read_step_);
      }
    }
    if (options_.in_place) compute_state_in_place(method_, &out_);
    return save_what_write_backs_change();
  }

  Status save_what_write_backs_change() {
    for (const WriteBack& write : out_.write_backs) {
      if (is_written(state_at(write.value))) BERTH_TRY(save(write.value));
    }
    for (const ir::Argument& output : method_.body.outputs) {
      const ValueId* value = std::get_if<ValueId>(&output);
      if (value == nullptr || !is_written(state_at(*value))) continue;
      const TensorType* type = method_.value(*value).tensor();
      if (type == nullptr || !is_callers(*type)) BERTH_TRY(save(*value));
    }
    return Done{};
  }

  /// A value that a node makes is made where the caller wants it, once; anything else is copied there.
  void finish_callers_output(ValueId value, int32_t output) {
    const bool made_there = out_.places[at(value)].home == Home::kCaller &&
                            method_.value(value).kind == ir::ValueKind::kNode && !out_.bases[at(value)].valid();
    if (made_there && !given_[at(value)]) {
      given_[at(value)] = true;
      return;
    }
    read_at(value, save_step_);
    out_.saves.push_back({value, -1, output});
  }

  const Module& module_;
  const Method& method_;
  const MemoryOptions& options_;
  const std::vector<int64_t>& scratch_bytes_;
  const std::vector<int> uses_;
  ArenaTable table_;
  int64_t save_step_ = 0;
  int64_t write_step_ = 0;
  int64_t read_step_ = 0;
  std::vector<bool> returned_;                 // by value
  std::vector<bool> given_;                    // by value: an output of the caller's is this value itself
  std::vector<ir::StateId> state_of_storage_;  // by storage; -1 for others
  Lifetimes out_;
};

}  // namespace

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
  }
  return "unknown";
}

Expected<Lifetimes> find_lifetimes(const Module& module, const Method& method, const MemoryOptions& options,
                                   const std::vector<int64_t>& scratch_bytes) {
  return Analysis(module, method, options, scratch_bytes).run();
}

}  // namespace berth::emit
