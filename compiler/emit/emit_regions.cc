// Branches and loops of a method: their regions in line, between jumps.
#include "compiler/emit/method_emitter.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/region_devices.h"

namespace berth::emit {

using ir::Argument;
using ir::Node;
using ir::OpId;
using ir::ValueId;

Status MethodEmitter::emit_regions(ir::NodeId id) {
  ++depth_;
  const OpId op = method_.node(id).op->id;
  BERTH_TRY(op == OpId::if_ ? emit_if(id) : op == OpId::while_ ? emit_while(id) : emit_scan(id));
  --depth_;
  code_.come_from(id);
  return Done{};
}

// The copies of one place in `id`, those first that save what the others destroy.
Status MethodEmitter::emit_transfers(ir::NodeId id, size_t place) {
  const std::vector<memory::Transfer>& transfers = model_.copies.transfers.at(id)[place];
  code_.come_from(id);
  std::vector<int32_t> sources;
  for (const memory::Transfer& transfer : transfers) {
    BERTH_ASSIGN_OR_RETURN(const int32_t source, transfer_source(id, place, transfer));
    sources.push_back(source);
  }
  for (size_t i = 0; i < transfers.size(); ++i) {
    const int32_t into = values_[transfers[i].into];
    if (!transfers[i].points) {
      code_.copy(sources[i], into);
      continue;
    }
    const ir::TensorType& type = method_.tensor(transfers[i].into);
    BERTH_ASSIGN_OR_RETURN(const int32_t sizes, int_list({type.shape.begin(), type.shape.end()}));
    code_.call("executorch_prim::et_view", "default", {sources[i], sizes, into});
  }
  return Done{};
}

// What a transfer copies: the value, its row on a device, or what saves it from the other transfers.
Expected<int32_t> MethodEmitter::transfer_source(ir::NodeId id, size_t place, const memory::Transfer& transfer) {
  BERTH_ASSIGN_OR_RETURN(int32_t source, values_.use(transfer.value));
  if (transfer.points && place == 0) {
    BERTH_ASSIGN_OR_RETURN(source, rows_.copy_to_last_row(id, source, transfer.into));
  }
  if (!transfer.saved.valid()) return source;
  BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, values_.tensor_of(method_.tensor(transfer.value), transfer.value));
  tensor.planned = values_.offset_of(transfer.saved);
  const int32_t saved = code_.values.add(std::move(tensor));
  code_.copy(source, saved);
  return saved;
}

// What a jump asks: a tensor of one bool, or a bool that is known.
Expected<int32_t> MethodEmitter::condition(const Argument& argument) {
  if (const ValueId* value = std::get_if<ValueId>(&argument)) return values_.use(*value);
  return code_.values.boolean(std::get<bool>(argument));
}

Status MethodEmitter::emit_if(ir::NodeId id) {
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

Status MethodEmitter::emit_while(ir::NodeId id) {
  const Node& node = method_.node(id);
  BERTH_TRY(emit_transfers(id, 0));
  carry(node.regions[0], node.regions[0].inputs.size());
  carry(node.regions[1], node.regions[1].inputs.size());
  const int32_t turn = rows_.begin_turns(node.regions[1]);
  const int32_t head = code_.size();
  BERTH_TRY(emit_graph(node.regions[0]));
  next_step();
  code_.come_from(id);
  BERTH_ASSIGN_OR_RETURN(const int32_t value, condition(node.regions[0].outputs[0]));
  const int32_t to_end = code_.jump_unless(value);
  BERTH_TRY(rows_.find(node.regions[1], -1, turn));
  BERTH_TRY(emit_graph(node.regions[1]));
  next_step();
  BERTH_TRY(emit_transfers(id, 1));
  rows_.end_turn(turn);
  code_.land(code_.jump_unless(code_.values.boolean(false)), head);
  code_.land(to_end);
  return Done{};
}

// The first `count` inputs of a region are the values that the loop gives.
void MethodEmitter::carry(const ir::Graph& region, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const ValueId input = region.inputs[i];
    values_.set(input, values_[model_.aliases.stands_for[input]]);
  }
}

// The counter is set to zero by the program, as a run that was cut short leaves it anywhere.
Status MethodEmitter::emit_scan(ir::NodeId id) {
  const Node& node = method_.node(id);
  const ir::Graph& body = node.regions[0];
  const size_t carried = ir::carried_count(node);
  BERTH_ASSIGN_OR_RETURN(const int32_t length,
                         symbols_.integer(std::get<ir::Dim>(node.args[arg::scan::length]), &code_));
  BERTH_TRY(emit_transfers(id, 0));
  carry(body, carried);
  BERTH_TRY(begin_stacks(node));
  const int32_t counter = code_.values.add(int64_t{0});
  const int32_t more = code_.values.add(false);
  const int32_t turn = rows_.begin_turns(body);
  code_.call("executorch_prim::sub", "Scalar", {counter, counter, counter});
  const int32_t head = code_.size();
  code_.call("executorch_prim::lt", "Scalar", {counter, length, more});
  const int32_t to_end = code_.jump_unless(more);
  next_step();
  BERTH_TRY(emit_slices(node, counter));
  BERTH_TRY(rows_.find(body, counter, turn));
  BERTH_TRY(emit_graph(body));
  next_step();
  code_.come_from(id);
  for (size_t k = carried; k < node.results.size(); ++k) {
    BERTH_TRY(emit_row(std::get<ValueId>(body.outputs[k]), node.results[k], counter));
  }
  BERTH_TRY(emit_transfers(id, 1));
  rows_.end_turn(turn);
  code_.call("executorch_prim::add", "Scalar", {counter, code_.values.integer(1), counter});
  code_.land(code_.jump_unless(code_.values.boolean(false)), head);
  code_.land(to_end);
  return Done{};
}

// Rows make a stack as long as it is, and no row would leave it as an earlier run did.
Status MethodEmitter::begin_stacks(const Node& node) {
  const ir::Dim length = std::get<ir::Dim>(node.args[arg::scan::length]);
  if (length.is_constant() || module_.symbols.lower(length) > 0) return Done{};
  for (size_t k = ir::carried_count(node); k < node.results.size(); ++k) {
    ir::DimList sizes = method_.tensor(node.results[k]).shape;
    sizes[0] = ir::Dim(0);
    BERTH_ASSIGN_OR_RETURN(const int32_t list, int_list(sizes));
    const int32_t stack = values_[node.results[k]];
    code_.call(OpId::empty_out, {list, code_.values.null(), stack, stack});
  }
  return Done{};
}

Status MethodEmitter::emit_slices(const Node& node, int32_t counter) {
  const ir::Graph& body = node.regions[0];
  const size_t carried = ir::carried_count(node);
  const ir::ValueList& scanned = std::get<ir::ValueList>(node.args[arg::scan::scanned]);
  for (size_t j = 0; j < scanned.size(); ++j) {
    BERTH_ASSIGN_OR_RETURN(const int32_t whole, values_.use(scanned[j]));
    const ValueId input = body.inputs[carried + j];
    BERTH_ASSIGN_OR_RETURN(const int32_t slice, values_.define(input));
    if (method_.tensor(input).device.is_cpu()) {
      code_.call(OpId::select_copy_int_out, {whole, code_.values.integer(0), counter, slice, slice});
    } else {
      BERTH_TRY(rows_.slice(whole, input, slice, counter));
    }
  }
  return Done{};
}

// After the body: `value` becomes row `counter` of `stack`.
Status MethodEmitter::emit_row(ValueId value, ValueId stack, int32_t counter) {
  BERTH_ASSIGN_OR_RETURN(const int32_t row, values_.use(value));
  if (!method_.tensor(stack).device.is_cpu()) return rows_.stack(row, value, stack, counter);
  code_.call("executorch_prim::et_copy_index", "tensor", {values_[stack], row, counter});
  return Done{};
}

}  // namespace berth::emit
