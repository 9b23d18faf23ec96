#include "compiler/emit/emit_method.h"

#include <limits>
#include <unordered_map>

#include "compiler/emit/code.h"
#include "compiler/emit/symbols.h"
#include "compiler/ir/arguments.h"

namespace berth::emit {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::OpId;
using ir::ParameterType;
using ir::TensorType;
using ir::ValueId;

/// MemoryFormat's numbers in ATen; the others need strides that a program has no place for.
constexpr int64_t kContiguousFormat = 0;
constexpr int64_t kPreserveFormat = 1;

class MethodEmitter {
 public:
  MethodEmitter(const Module& module, const Method& method, const memory::MethodPlan& plan, const DelegateCalls& calls,
                const MethodOptions& options, Pools* pools)
      : module_(module),
        method_(method),
        model_(plan.model),
        packing_(plan.packing),
        calls_(calls),
        options_(options),
        pools_(pools),
        code_(method, options.stack_traces),
        symbols_(module, method, plan.model.aliases),
        state_values_(module.states.size(), -1) {
    out_.value_of.assign(method.values.size(), -1);
    pools_->constant_numbers.resize(module.constants.size(), 0);
  }

  Expected<EmittedMethod> run() {
    begin_step(0);
    for (const ValueId input : method_.body.inputs) BERTH_TRY(emit_input(input));
    symbols_.compute_ready(out_.value_of, &code_);
    BERTH_TRY(emit_graph(method_.body));
    code_.come_from(ir::NodeId{});
    begin_step(model_.steps.save);
    for (const memory::Save& save : model_.copies.saves) BERTH_TRY(emit_save(save));
    begin_step(model_.steps.write_back);
    for (const memory::WriteBack& write : model_.copies.write_backs) BERTH_TRY(emit_write_back(write));
    for (const memory::StateUpdate& successor : model_.aliases.state_updates) BERTH_TRY(state_value(successor.state));
    begin_step(model_.steps.read);
    for (const Argument& output : method_.body.outputs) BERTH_TRY(emit_output(output));
    for (size_t k = 0; k < model_.arenas.size(); ++k) {
      const memory::Arena& arena = model_.arenas[k];
      out_.desc.arenas.push_back({static_cast<uint64_t>(arena.bytes(packing_.spaces[k].height)), arena.device});
    }
    out_.desc.name = method_.name;
    out_.state_of = state_values_;
    std::move(code_).take(&out_.desc, &out_.node_of);
    return std::move(out_);
  }

 private:
  static std::string node_name(const Node& node) {
    return node.op->functional_name + (node.source.empty() ? "" : " of " + node.source);
  }
  /// `failure` with the method and `where` before its place.
  Failure in_method(const std::string& where, const Failure& failure) const {
    std::string place = "method " + method_.name;
    for (const std::string& part : {where, failure.place}) {
      if (!part.empty()) place += ": " + part;
    }
    return Failure{failure.code, std::move(place), failure.message};
  }
  static Failure unsupported(std::string where, std::string message) {
    return Failure{Error::kNotSupported, std::move(where), std::move(message)};
  }
  /// What is appended from here on belongs to `step`.
  void begin_step(int64_t step) { out_.first_instruction_of.resize(step + 1, code_.size()); }
  /// A step that no node has: the end of a region, and where a scan takes its slices.
  void next_step() { begin_step(static_cast<int64_t>(out_.first_instruction_of.size())); }

  // Nodes.

  Status emit_graph(const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      begin_step(model_.steps.nodes[id]);
      code_.come_from(id);
      const Status emitted = emit_node(id);
      // A failure from a region has the method and the node in it already.
      if (!emitted.ok() && depth_ > 0) return emitted.error();
      if (!emitted.ok()) return in_method(node_name(node), emitted.error());
      if (depth_ == 0) symbols_.compute_ready(out_.value_of, &code_);
    }
    return Done{};
  }

  Status emit_node(ir::NodeId id) {
    const Node& node = method_.node(id);
    const memory::ViewReason reason = model_.aliases.reasons[id];
    if (node.is(OpId::state_write)) return Done{};
    if (node.is(OpId::state_read)) {
      BERTH_ASSIGN_OR_RETURN(out_.value_of[node.results[0]], state_value(node.state));
      return Done{};
    }
    std::vector<int32_t> results;
    for (const ValueId result : node.results) {
      BERTH_ASSIGN_OR_RETURN(const int32_t value, define(result));
      results.push_back(value);
    }
    if (reason == memory::ViewReason::kView || memory::is_elided(model_, packing_, id)) return Done{};
    if (node.is(OpId::delegate)) return emit_delegate_call(id, std::move(results));
    if (!node.regions.empty()) return emit_regions(id);
    if (reason == memory::ViewReason::kSizesChange || reason == memory::ViewReason::kCallersMemory) {
      BERTH_ASSIGN_OR_RETURN(const int32_t base, use(std::get<ValueId>(node.args[arg::view::self])));
      BERTH_ASSIGN_OR_RETURN(const int32_t sizes, int_list(symbols_.view_sizes(method_, node)));
      code_.call("executorch_prim::et_view", "default", {base, sizes, results[0]});
      return Done{};
    }
    std::vector<int32_t> args;
    for (size_t k = 0; k < node.args.size(); ++k) {
      const ir::Parameter& parameter = node.op->parameters[k];
      if (parameter.functional_only) continue;
      const auto value = argument(node.args[k], parameter.type);
      if (!value.ok()) {
        return Failure{value.error().code, "argument '" + std::string(parameter.name) + "'", value.error().text()};
      }
      args.push_back(*value);
    }
    append_results(*node.op, results, &args);
    code_.call(node.op->id, std::move(args));
    return Done{};
  }

  Status emit_delegate_call(ir::NodeId id, std::vector<int32_t> results) {
    std::vector<int32_t> args;
    for (const ValueId value : std::get<ir::ValueList>(method_.node(id).args[arg::delegate::inputs])) {
      BERTH_ASSIGN_OR_RETURN(const int32_t arg, use(value));
      args.push_back(arg);
    }
    args.insert(args.end(), results.begin(), results.end());
    if (model_.buffers.scratch[id].valid()) args.push_back(scratch(id));
    code_.call_delegate(calls_.index[id], std::move(args));
    return Done{};
  }

  /// A tensor of bytes; sizes of programs have 31 bits, so a large one has two.
  int32_t scratch(ir::NodeId node) {
    constexpr int64_t kRow = memory::kScratchRow;
    const int64_t bytes = calls_.scratch_bytes[node];
    format::TensorDesc tensor;
    tensor.dtype = DType::kU8;
    tensor.sizes = {static_cast<int32_t>(bytes)};
    if (bytes > std::numeric_limits<int32_t>::max()) {
      BERTH_CHECK(bytes % kRow == 0);
      tensor.sizes = {static_cast<int32_t>(bytes / kRow), static_cast<int32_t>(kRow)};
    }
    for (size_t d = 0; d < tensor.sizes.size(); ++d) tensor.dim_order.push_back(static_cast<uint8_t>(d));
    tensor.planned = offset_of(model_.buffers.scratch[node]);
    tensor.device = model_.arenas[tensor.planned->memory_id - 1].device;
    return code_.values.add(std::move(tensor));
  }

  /// The outputs and what the kernel returns: an output again, or a list of them.
  void append_results(const ir::Operator& op, const std::vector<int32_t>& results, std::vector<int32_t>* args) {
    if (op.output_is_list) {
      args->push_back(code_.values.add(format::TensorListDesc{results}));
      args->push_back(code_.values.add(format::TensorListDesc{results}));
      return;
    }
    args->insert(args->end(), results.begin(), results.end());
    args->push_back(results.size() == 1 ? results[0] : code_.values.add(format::TensorListDesc{results}));
  }

  // Branches and loops.

  Status emit_regions(ir::NodeId id) {
    ++depth_;
    const OpId op = method_.node(id).op->id;
    BERTH_TRY(op == OpId::if_ ? emit_if(id) : op == OpId::while_ ? emit_while(id) : emit_scan(id));
    --depth_;
    code_.come_from(id);
    return Done{};
  }

  /// The copies of one place in `id`, those first that save what the others destroy.
  Status emit_transfers(ir::NodeId id, size_t place) {
    const std::vector<memory::Transfer>& transfers = model_.copies.transfers.at(id)[place];
    code_.come_from(id);
    std::vector<int32_t> sources;
    for (const memory::Transfer& transfer : transfers) {
      BERTH_ASSIGN_OR_RETURN(int32_t source, use(transfer.value));
      if (transfer.points && place == 0) {
        BERTH_ASSIGN_OR_RETURN(source, copy_to_last_row(id, source, transfer.into));
      }
      if (transfer.saved.valid()) {
        BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(method_.tensor(transfer.value), transfer.value));
        tensor.planned = offset_of(transfer.saved);
        const int32_t saved = code_.values.add(std::move(tensor));
        emit_copy(source, saved);
        source = saved;
      }
      sources.push_back(source);
    }
    for (size_t i = 0; i < transfers.size(); ++i) {
      const int32_t into = out_.value_of[transfers[i].into];
      if (!transfers[i].points) {
        emit_copy(sources[i], into);
        continue;
      }
      const TensorType& type = method_.tensor(transfers[i].into);
      BERTH_ASSIGN_OR_RETURN(const int32_t sizes, int_list({type.shape.begin(), type.shape.end()}));
      code_.call("executorch_prim::et_view", "default", {sources[i], sizes, into});
    }
    return Done{};
  }

  // Rows of tensors on devices (memory::RowHome).

  /// A tensor like `like`, without a place.
  Expected<int32_t> unplaced(ValueId like) {
    BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(method_.tensor(like), like));
    return code_.values.add(std::move(tensor));
  }

  void find_row(const char* access, int32_t rows, int32_t index, int32_t row) {
    code_.call("berth::row", access, {rows, index, row});
  }

  /// The two rows in which `result` lies by turns: bytes, as each begins where the device aligns.
  int32_t pair_of(ValueId result) {
    const auto known = pairs_.find(result.index);
    if (known != pairs_.end()) return known->second;
    const memory::BufferId buffer = model_.aliases.homes[result].buffer;
    format::TensorDesc tensor;
    tensor.dtype = DType::kU8;
    tensor.sizes = {2, static_cast<int32_t>(model_.buffers.all[buffer].size / 2)};
    tensor.dim_order = {0, 1};
    tensor.planned = offset_of(buffer);
    tensor.device = method_.tensor(result).device;
    return pairs_[result.index] = code_.values.add(std::move(tensor));
  }

  /// Before a loop: the row of `result` that the first iterations leave alone gets a copy of `source`.
  Expected<int32_t> copy_to_last_row(ir::NodeId loop, int32_t source, ValueId result) {
    const Node& node = method_.node(loop);
    const size_t i = static_cast<size_t>(method_.value(result).result);
    const memory::RowHome& home = model_.aliases.rows[std::get<ValueId>(node.regions.back().outputs[i])];
    int64_t last = 1;
    int32_t rows = 0;
    if (home.kind == memory::RowHome::Kind::kPair) {
      rows = pair_of(result);
    } else {
      rows = out_.value_of[home.rows];
      last = std::get<Dim>(node.args[arg::scan::length]).value - 1;
    }
    BERTH_ASSIGN_OR_RETURN(const int32_t row, unplaced(result));
    find_row("write", rows, code_.values.integer(last), row);
    emit_copy(source, row);
    return row;
  }

  /// The slot that counts 0, 1, 0, … in a loop with a pair, set to 0; -1 when it has none.
  int32_t begin_turns(const ir::Graph& body) {
    const auto is_pair = [&](const Argument& output) {
      const ValueId* value = std::get_if<ValueId>(&output);
      return value != nullptr && model_.aliases.rows[*value].kind == memory::RowHome::Kind::kPair;
    };
    if (std::none_of(body.outputs.begin(), body.outputs.end(), is_pair)) return -1;
    const int32_t turn = code_.values.add(int64_t{0});
    code_.call("executorch_prim::sub", "Scalar", {turn, turn, turn});
    return turn;
  }

  void end_turn(int32_t turn) {
    if (turn >= 0) code_.call("executorch_prim::sub", "Scalar", {code_.values.integer(1), turn, turn});
  }

  /// Before the body: finds the rows in which it makes what it gives.
  Status find_rows(const ir::Graph& body, int32_t counter, int32_t turn) {
    for (const Argument& output : body.outputs) {
      const ValueId* value = std::get_if<ValueId>(&output);
      if (value == nullptr) continue;
      const memory::RowHome& home = model_.aliases.rows[*value];
      const bool pair = home.kind == memory::RowHome::Kind::kPair;
      if ((!pair && home.kind != memory::RowHome::Kind::kStack) || out_.value_of[*value] >= 0) continue;
      BERTH_ASSIGN_OR_RETURN(out_.value_of[*value], unplaced(*value));
      const int32_t rows = pair ? pair_of(home.rows) : out_.value_of[home.rows];
      find_row("write", rows, pair ? turn : counter, out_.value_of[*value]);
    }
    return Done{};
  }

  /// After the body: `value` becomes row `counter` of `stack`.
  Status emit_row(ValueId value, ValueId stack, int32_t counter) {
    BERTH_ASSIGN_OR_RETURN(const int32_t row, use(value));
    const int32_t rows = out_.value_of[stack];
    if (method_.tensor(stack).device.is_cpu()) {
      code_.call("executorch_prim::et_copy_index", "tensor", {rows, row, counter});
      return Done{};
    }
    const memory::RowHome& home = model_.aliases.rows[value];
    if (home.kind == memory::RowHome::Kind::kStack && home.rows == stack) return Done{};
    BERTH_ASSIGN_OR_RETURN(const int32_t there, unplaced(value));
    find_row("write", rows, counter, there);
    emit_copy(row, there);
    return Done{};
  }

  /// What a jump asks: a tensor of one bool, or a bool that is known.
  Expected<int32_t> condition(const Argument& argument) {
    if (const ValueId* value = std::get_if<ValueId>(&argument)) return use(*value);
    return code_.values.boolean(std::get<bool>(argument));
  }

  Status emit_if(ir::NodeId id) {
    const Node& node = method_.node(id);
    BERTH_ASSIGN_OR_RETURN(const int32_t value, condition(node.args[arg::if_::cond]));
    const int32_t to_else = code_.jump_unless(value);
    BERTH_TRY(emit_graph(node.regions[0]));
    next_step();
    BERTH_TRY(emit_transfers(id, 0));
    const int32_t to_end = code_.jump_unless(code_.values.boolean(false));
    code_.land(to_else);
    BERTH_TRY(emit_graph(node.regions[1]));
    next_step();
    BERTH_TRY(emit_transfers(id, 1));
    code_.land(to_end);
    return Done{};
  }

  Status emit_while(ir::NodeId id) {
    const Node& node = method_.node(id);
    BERTH_TRY(emit_transfers(id, 0));
    carry(node.regions[0], node.regions[0].inputs.size());
    carry(node.regions[1], node.regions[1].inputs.size());
    const int32_t turn = begin_turns(node.regions[1]);
    const int32_t head = code_.size();
    BERTH_TRY(emit_graph(node.regions[0]));
    next_step();
    code_.come_from(id);
    BERTH_ASSIGN_OR_RETURN(const int32_t value, condition(node.regions[0].outputs[0]));
    const int32_t to_end = code_.jump_unless(value);
    BERTH_TRY(find_rows(node.regions[1], -1, turn));
    BERTH_TRY(emit_graph(node.regions[1]));
    next_step();
    BERTH_TRY(emit_transfers(id, 1));
    end_turn(turn);
    code_.land(code_.jump_unless(code_.values.boolean(false)), head);
    code_.land(to_end);
    return Done{};
  }

  void carry(const ir::Graph& region, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const ValueId input = region.inputs[i];
      out_.value_of[input] = out_.value_of[model_.aliases.stands_for[input]];
    }
  }

  /// The counter is set to zero by the program, as a run that was cut short leaves it anywhere.
  Status emit_scan(ir::NodeId id) {
    const Node& node = method_.node(id);
    const ir::Graph& body = node.regions[0];
    const size_t carried = std::get<ir::ValueList>(node.args[arg::scan::carried]).size();
    BERTH_ASSIGN_OR_RETURN(const int32_t length, symbols_.integer(std::get<Dim>(node.args[arg::scan::length]), &code_));
    BERTH_TRY(emit_transfers(id, 0));
    carry(body, carried);
    const int32_t counter = code_.values.add(int64_t{0});
    const int32_t more = code_.values.add(false);
    const int32_t turn = begin_turns(body);
    code_.call("executorch_prim::sub", "Scalar", {counter, counter, counter});
    const int32_t head = code_.size();
    code_.call("executorch_prim::lt", "Scalar", {counter, length, more});
    const int32_t to_end = code_.jump_unless(more);
    next_step();
    BERTH_TRY(emit_slices(node, counter));
    BERTH_TRY(find_rows(body, counter, turn));
    BERTH_TRY(emit_graph(body));
    next_step();
    code_.come_from(id);
    for (size_t k = carried; k < node.results.size(); ++k) {
      BERTH_TRY(emit_row(std::get<ValueId>(body.outputs[k]), node.results[k], counter));
    }
    BERTH_TRY(emit_transfers(id, 1));
    end_turn(turn);
    code_.call("executorch_prim::add", "Scalar", {counter, code_.values.integer(1), counter});
    code_.land(code_.jump_unless(code_.values.boolean(false)), head);
    code_.land(to_end);
    return Done{};
  }

  Status emit_slices(const Node& node, int32_t counter) {
    const ir::Graph& body = node.regions[0];
    const size_t carried = std::get<ir::ValueList>(node.args[arg::scan::carried]).size();
    const ir::ValueList& scanned = std::get<ir::ValueList>(node.args[arg::scan::scanned]);
    for (size_t j = 0; j < scanned.size(); ++j) {
      BERTH_ASSIGN_OR_RETURN(const int32_t whole, use(scanned[j]));
      const ValueId input = body.inputs[carried + j];
      BERTH_ASSIGN_OR_RETURN(const int32_t slice, define(input));
      if (!method_.tensor(input).device.is_cpu()) {
        const bool is_row = model_.aliases.rows[input].in_row();
        BERTH_ASSIGN_OR_RETURN(const int32_t row, is_row ? Expected<int32_t>(slice) : unplaced(input));
        find_row("read", whole, counter, row);
        if (!is_row) emit_copy(row, slice);
        continue;
      }
      code_.call(OpId::select_copy_int_out, {whole, code_.values.integer(0), counter, slice, slice});
    }
    return Done{};
  }

  // The ends of a method.

  Status emit_input(ValueId input) {
    if (method_.value(input).tensor() == nullptr) {
      return in_method("", unsupported("input %" + method_.value(input).name,
                                       "a program fixes scalar inputs; make it a constant or a tensor"));
    }
    const auto value = define(input);
    if (!value.ok()) return in_method("", value.error());
    out_.desc.inputs.push_back(*value);
    return Done{};
  }

  Status emit_save(const memory::Save& save) {
    BERTH_ASSIGN_OR_RETURN(const int32_t from, use(save.value));
    BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(method_.tensor(save.value), save.value));
    if (save.buffer.valid()) tensor.planned = offset_of(save.buffer);
    const int32_t copy = code_.values.add(std::move(tensor));
    (save.output >= 0 ? output_copies_[save.output] : copy_of_[save.value.index]) = copy;
    emit_copy(from, copy);
    return Done{};
  }

  /// Both are on one device.
  void emit_copy(int32_t from, int32_t to) {
    if (std::get<format::TensorDesc>(code_.values[from]).device.is_cpu()) {
      code_.call(OpId::clone_out, {from, code_.values.null(), to, to});
    } else {
      code_.call(OpId::d2d_copy_out, {from, to, to});
    }
  }

  /// The copy of `value` that the write-backs leave alone, or the value itself when they do not touch it.
  Expected<int32_t> use_at_end(ValueId value) {
    const auto copy = copy_of_.find(value.index);
    if (copy != copy_of_.end()) return copy->second;
    return use(value);
  }

  Status emit_write_back(const memory::WriteBack& write) {
    BERTH_ASSIGN_OR_RETURN(const int32_t state, state_value(write.state));
    BERTH_ASSIGN_OR_RETURN(const int32_t value, use_at_end(write.value));
    if (module_.states[write.state].type.device.is_cpu()) {
      code_.call(OpId::copy_self, {state, value, code_.values.boolean(false), state});
    } else {
      emit_copy(value, state);
    }
    return Done{};
  }

  Status emit_output(const Argument& output) {
    const std::string where = "output " + std::to_string(out_.desc.outputs.size());
    if (std::holds_alternative<ir::ValueList>(output)) {
      return in_method("", unsupported(where, "a method returns its tensors one by one, not as a list"));
    }
    const auto copy = output_copies_.find(static_cast<int32_t>(out_.desc.outputs.size()));
    if (copy != output_copies_.end()) {
      out_.desc.outputs.push_back(copy->second);
      return Done{};
    }
    const ValueId* value = std::get_if<ValueId>(&output);
    auto index = value != nullptr ? use_at_end(*value) : argument(output, ParameterType::kScalar);
    if (!index.ok()) return in_method(where, index.error());
    out_.desc.outputs.push_back(*index);
    return Done{};
  }

  // Values.

  format::ArenaOffset offset_of(memory::BufferId buffer) const {
    const int64_t offset = packing_.offsets[buffer.index];
    return {static_cast<uint32_t>(model_.buffers.all[buffer].space) + 1, static_cast<uint64_t>(offset)};
  }

  Expected<format::TensorDesc> tensor_of(const TensorType& type, ValueId value) const {
    format::TensorDesc tensor;
    tensor.dtype = type.dtype;
    tensor.device = type.device;
    tensor.bounded = !type.is_static();
    tensor.dim_order = type.dim_order;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      const int64_t size = module_.symbols.upper(type.shape[d]);
      if (size < 0 || size > std::numeric_limits<int32_t>::max()) {
        return unsupported(value.valid() ? "%" + method_.value(value).name : "",
                           "dimension " + std::to_string(d) + " may be " + std::to_string(size) +
                               "; a program holds sizes from 0 to 2^31 - 1");
      }
      tensor.sizes.push_back(static_cast<int32_t>(size));
      if (type.dim_order.empty()) tensor.dim_order.push_back(static_cast<uint8_t>(d));
    }
    return tensor;
  }

  /// The index of `value`, which is made now.
  Expected<int32_t> define(ValueId value) {
    const TensorType* type = method_.value(value).tensor();
    if (type == nullptr) return unsupported("%" + method_.value(value).name, "a value of a program is a tensor");
    const ValueId result = model_.aliases.stands_for[value];
    if (result.valid()) return out_.value_of[value] = out_.value_of[result];
    // Its row was found at the beginning of the iteration.
    if (model_.aliases.rows[value].in_row() && out_.value_of[value] >= 0) return out_.value_of[value];
    BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(*type, value));
    tensor.bounded = tensor.bounded || model_.aliases.stacked[value];
    const memory::ValueHome& place = model_.aliases.homes[value];
    const bool found = model_.aliases.rows[value].in_row() || model_.aliases.pointed[value];
    if (place.home == memory::Home::kBuffer && !found) tensor.planned = offset_of(place.buffer);
    if (place.home == memory::Home::kConstant) set_data(place.constant, &tensor);
    out_.value_of[value] = code_.values.add(std::move(tensor));
    return out_.value_of[value];
  }

  /// The index of `value`. Constants are made when they are first used; everything else stands there by now.
  Expected<int32_t> use(ValueId value) {
    const int32_t known = out_.value_of[value];
    if (known >= 0) return known;
    return define(value);
  }

  void set_data(ir::ConstantId id, format::TensorDesc* tensor) {
    if (options_.external_key) {
      tensor->name = options_.external_key(id);
      tensor->external = true;
      return;
    }
    uint32_t& number = pools_->constant_numbers[id];
    if (number == 0) number = pools_->constants.add(module_.constants[id].blob);
    tensor->data_buffer_idx = number;
  }

  Expected<int32_t> state_value(ir::StateId id) {
    int32_t& known = state_values_[id];
    if (known >= 0) return known;
    const ir::State& state = module_.states[id];
    BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(state.type, ValueId{}));
    tensor.planned = offset_of(model_.buffers.states[id]);
    tensor.name = state.name;
    const size_t bytes = ir::max_bytes(state.type, module_.symbols);
    const uint8_t zero[1] = {0};
    tensor.data_buffer_idx =
        pools_->initial_values.add(state.initial.has_value() ? *state.initial : ir::Blob::splat(zero, bytes));
    known = code_.values.add(std::move(tensor));
    return known;
  }

  // Arguments.

  Expected<int32_t> int_list(const ir::DimList& dims) {
    std::vector<int32_t> items;
    for (const Dim dim : dims) {
      BERTH_ASSIGN_OR_RETURN(const int32_t item, symbols_.integer(dim, &code_));
      items.push_back(item);
    }
    return code_.values.int_list(items);
  }

  Expected<int32_t> tensor_list(const ir::ValueList& list, bool optional) {
    std::vector<int32_t> items;
    for (const ValueId item : list) {
      if (!item.valid()) {
        items.push_back(-1);
        continue;
      }
      BERTH_ASSIGN_OR_RETURN(const int32_t value, use(item));
      items.push_back(value);
    }
    if (optional) return code_.values.add(format::OptionalTensorListDesc{std::move(items)});
    return code_.values.add(format::TensorListDesc{std::move(items)});
  }

  /// A Scalar is stored as what it is; for all others the schema's type says how.
  Expected<int32_t> argument(const Argument& argument, ParameterType type) {
    if (ir::is_none(argument)) return code_.values.null();
    if (const ValueId* value = std::get_if<ValueId>(&argument)) {
      if (type == ParameterType::kTensor) return use(*value);
      return unsupported("", "a tensor stands where a number is wanted; a program cannot turn one into the other");
    }
    if (const auto* list = std::get_if<ir::ValueList>(&argument)) {
      return tensor_list(*list, type == ParameterType::kOptionalTensorList);
    }
    if (const Dim* dim = std::get_if<Dim>(&argument)) {
      if (type == ParameterType::kFloat && dim->is_constant())
        return code_.values.real(static_cast<double>(dim->value));
      if (type == ParameterType::kMemoryFormat && dim->value != kContiguousFormat && dim->value != kPreserveFormat) {
        return unsupported("", "memory format " + std::to_string(dim->value) +
                                   " cannot be written; contiguous (0) and preserve (1) can");
      }
      return symbols_.integer(*dim, &code_);
    }
    if (const auto* dims = std::get_if<ir::DimList>(&argument)) return int_list(*dims);
    if (const double* number = std::get_if<double>(&argument)) return code_.values.real(*number);
    if (const auto* list = std::get_if<ir::FloatList>(&argument)) return code_.values.real_list(*list);
    if (const bool* truth = std::get_if<bool>(&argument)) return code_.values.boolean(*truth);
    if (const auto* list = std::get_if<ir::BoolList>(&argument)) return code_.values.bool_list(*list);
    return code_.values.text(std::get<std::string>(argument));
  }

  const Module& module_;
  const Method& method_;
  const memory::MemoryModel& model_;
  const packing::Plan& packing_;
  const DelegateCalls& calls_;
  const MethodOptions& options_;
  Pools* const pools_;
  Code code_;
  SymbolSlots symbols_;
  int depth_ = 0;                                       // regions around what is emitted
  IdVector<ir::StateId, int32_t> state_values_;         // its value, or -1
  std::unordered_map<int32_t, int32_t> copy_of_;        // ValueId → the value of its saved copy
  std::unordered_map<int32_t, int32_t> pairs_;          // ValueId of a loop's result → its two rows
  std::unordered_map<int32_t, int32_t> output_copies_;  // output → the value that is a copy for it alone
  EmittedMethod out_;
};

}  // namespace

Expected<EmittedMethod> emit_method(const Module& module, const Method& method, const memory::MethodPlan& plan,
                                    const DelegateCalls& calls, const MethodOptions& options, Pools* pools) {
  return MethodEmitter(module, method, plan, calls, options, pools).run();
}

}  // namespace berth::emit
