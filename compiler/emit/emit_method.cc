#include "compiler/emit/emit_method.h"

#include <limits>

#include "compiler/emit/method_emitter.h"
#include "compiler/emit/stacks.h"
#include "compiler/ir/arguments.h"
#include "compiler/memory/plan_delegate.h"

namespace berth::emit {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ParameterType;
using ir::ValueId;

/// MemoryFormat's numbers in ATen; the others need strides that a program has no place for.
constexpr int64_t kContiguousFormat = 0;
constexpr int64_t kPreserveFormat = 1;

std::string node_name(const Node& node) {
  return node.op->functional_name + (node.source.empty() ? "" : " of " + node.source);
}

}  // namespace

MethodEmitter::MethodEmitter(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                             const DelegateCalls& calls, const MethodOptions& options, Pools* pools)
    : module_(module),
      method_(method),
      model_(plan.model),
      packing_(plan.packing),
      calls_(calls),
      code_(method, options.stack_traces),
      values_(module, method, plan, options, pools, &code_),
      rows_(method, plan.model, &values_, &code_),
      symbols_(module, method, plan.model.aliases) {
  out_.scratch_of.assign(method.nodes.size(), -1);
}

Expected<EmittedMethod> MethodEmitter::run() {
  begin_step(0);
  for (const ValueId input : method_.body.inputs) BERTH_TRY(emit_input(input));
  symbols_.compute_ready(values_.values(), &code_);
  BERTH_TRY(emit_graph(method_.body));
  code_.come_from(ir::NodeId{});
  begin_step(model_.steps.save);
  for (const memory::Save& save : model_.copies.saves) BERTH_TRY(emit_save(save));
  begin_step(model_.steps.write_back);
  for (const memory::WriteBack& write : model_.copies.write_backs) BERTH_TRY(emit_write_back(write));
  for (const memory::StateUpdate& successor : model_.aliases.state_updates) BERTH_TRY(values_.state(successor.state));
  begin_step(model_.steps.read);
  for (const Argument& output : method_.body.outputs) BERTH_TRY(emit_output(output));
  for (size_t k = 0; k < model_.arenas.size(); ++k) {
    const memory::Arena& arena = model_.arenas[k];
    out_.desc.arenas.push_back({static_cast<uint64_t>(arena.bytes(packing_.spaces[k].height)), arena.device});
  }
  out_.desc.name = method_.name;
  out_.value_of = values_.values();
  out_.state_of = values_.states();
  std::move(code_).take(&out_.desc, &out_.node_of);
  return std::move(out_);
}

// `failure` with the method and `where` before its place.
Failure MethodEmitter::in_method(const std::string& where, const Failure& failure) const {
  std::string place = "method " + method_.name;
  for (const std::string& part : {where, failure.place}) {
    if (!part.empty()) place += ": " + part;
  }
  return Failure{failure.code, std::move(place), failure.message};
}

// What is appended from here on belongs to `step`.
void MethodEmitter::begin_step(int64_t step) { out_.first_instruction_of.resize(step + 1, code_.size()); }

// A step that no node has: the end of a region, and where a scan takes its slices.
void MethodEmitter::next_step() { begin_step(static_cast<int64_t>(out_.first_instruction_of.size())); }

// Nodes.

Status MethodEmitter::emit_graph(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.nodes) {
    const Node& node = method_.node(id);
    begin_step(model_.steps.nodes[id]);
    code_.come_from(id);
    const Status emitted = emit_node(id);
    // A failure from a region has the method and the node in it already.
    if (!emitted.ok() && depth_ > 0) return emitted.error();
    if (!emitted.ok()) return in_method(node_name(node), emitted.error());
    if (depth_ == 0) symbols_.compute_ready(values_.values(), &code_);
  }
  return Done{};
}

Status MethodEmitter::emit_node(ir::NodeId id) {
  const Node& node = method_.node(id);
  const memory::ViewReason reason = model_.aliases.reasons[id];
  if (node.is(OpId::state_write)) return Done{};
  if (node.is(OpId::state_read)) {
    BERTH_ASSIGN_OR_RETURN(const int32_t state, values_.state(node.state));
    values_.set(node.results[0], state);
    return Done{};
  }
  std::vector<int32_t> results;
  for (const ValueId result : node.results) {
    BERTH_ASSIGN_OR_RETURN(const int32_t value, values_.define(result));
    results.push_back(value);
  }
  if (reason == memory::ViewReason::kView || memory::is_elided(model_, packing_, id)) return Done{};
  if (node.is(OpId::delegate)) return emit_delegate_call(id, std::move(results));
  if (!node.regions.empty()) return emit_regions(id);
  if (reason == memory::ViewReason::kSizesChange || reason == memory::ViewReason::kCallersMemory) {
    return emit_sizes_view(node, results[0]);
  }
  return emit_call(node, results);
}

// A view that the program makes, as its sizes or its bytes are known only when it runs.
Status MethodEmitter::emit_sizes_view(const Node& node, int32_t result) {
  BERTH_ASSIGN_OR_RETURN(const int32_t base, values_.use(std::get<ValueId>(node.args[arg::view::self])));
  BERTH_ASSIGN_OR_RETURN(const int32_t sizes, int_list(symbols_.view_sizes(method_, node)));
  code_.call("executorch_prim::et_view", "default", {base, sizes, result});
  return Done{};
}

Status MethodEmitter::emit_call(const Node& node, const std::vector<int32_t>& results) {
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
  code_.call(node.op->name, node.op->out_overload, std::move(args));
  return Done{};
}

Status MethodEmitter::emit_delegate_call(ir::NodeId id, std::vector<int32_t> results) {
  std::vector<int32_t> args;
  for (const ValueId value : std::get<ir::ValueList>(method_.node(id).args[arg::delegate::inputs])) {
    BERTH_ASSIGN_OR_RETURN(const int32_t arg, values_.use(value));
    args.push_back(arg);
  }
  args.insert(args.end(), results.begin(), results.end());
  if (model_.buffers.scratch[id].valid()) args.push_back(scratch(id));
  code_.call_delegate(calls_.index[id], std::move(args));
  return Done{};
}

// A tensor of bytes; sizes of programs have 31 bits, so a large one has two.
int32_t MethodEmitter::scratch(ir::NodeId node) {
  constexpr int64_t kRow = memory::kScratchRow;
  const int64_t bytes = calls_.scratch_bytes[node];
  format::TensorDesc tensor;
  tensor.dtype = DType::kU8;
  tensor.sizes = {static_cast<int32_t>(bytes)};
  if (bytes > std::numeric_limits<int32_t>::max()) {
    BERTH_CHECK(bytes % kRow == 0);
    tensor.sizes = {static_cast<int32_t>(bytes / kRow), static_cast<int32_t>(kRow)};
  } else {
    tensor.bounded = follows_sizes(module_, method_);
  }
  for (size_t d = 0; d < tensor.sizes.size(); ++d) tensor.dim_order.push_back(static_cast<uint8_t>(d));
  tensor.planned = values_.offset_of(model_.buffers.scratch[node]);
  tensor.device = model_.arenas[tensor.planned->memory_id - 1].device;
  return out_.scratch_of[node] = code_.values.add(std::move(tensor));
}

// The outputs and what the kernel returns: an output again, or a list of them.
void MethodEmitter::append_results(const ir::Operator& op, const std::vector<int32_t>& results,
                                   std::vector<int32_t>* args) {
  if (op.output_is_list) {
    args->push_back(code_.values.add(format::TensorListDesc{results}));
    args->push_back(code_.values.add(format::TensorListDesc{results}));
    return;
  }
  args->insert(args->end(), results.begin(), results.end());
  args->push_back(results.size() == 1 ? results[0] : code_.values.add(format::TensorListDesc{results}));
}

// The ends of a method.

Status MethodEmitter::emit_input(ValueId input) {
  if (method_.value(input).tensor() == nullptr) {
    return in_method("", unsupported("input %" + method_.value(input).name,
                                     "a program fixes scalar inputs; make it a constant or a tensor"));
  }
  const auto value = values_.define(input);
  if (!value.ok()) return in_method("", value.error());
  out_.desc.inputs.push_back(*value);
  return Done{};
}

Status MethodEmitter::emit_save(const memory::Save& save) {
  BERTH_ASSIGN_OR_RETURN(const int32_t from, values_.use(save.value));
  BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, values_.tensor_of(method_.tensor(save.value), save.value));
  if (save.buffer.valid()) tensor.planned = values_.offset_of(save.buffer);
  const int32_t copy = code_.values.add(std::move(tensor));
  (save.output >= 0 ? output_copies_[save.output] : copy_of_[save.value.index]) = copy;
  code_.copy(from, copy);
  return Done{};
}

// The copy of `value` that the write-backs leave alone, or the value itself when they do not touch it.
Expected<int32_t> MethodEmitter::use_at_end(ValueId value) {
  const auto copy = copy_of_.find(value.index);
  if (copy != copy_of_.end()) return copy->second;
  return values_.use(value);
}

Status MethodEmitter::emit_write_back(const memory::WriteBack& write) {
  BERTH_ASSIGN_OR_RETURN(const int32_t state, values_.state(write.state));
  BERTH_ASSIGN_OR_RETURN(const int32_t value, use_at_end(write.value));
  if (module_.states[write.state].type.device.is_cpu()) {
    code_.call(OpId::copy_self, {state, value, code_.values.boolean(false), state});
  } else {
    code_.copy(value, state);
  }
  return Done{};
}

Status MethodEmitter::emit_output(const Argument& output) {
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

// Arguments.

// A Scalar is stored as what it is; for all others the schema's type says how.
Expected<int32_t> MethodEmitter::argument(const Argument& argument, ParameterType type) {
  if (ir::is_none(argument)) return code_.values.null();
  if (const ValueId* value = std::get_if<ValueId>(&argument)) {
    if (type == ParameterType::kTensor) return values_.use(*value);
    return unsupported("", "a tensor stands where a number is wanted; a program cannot turn one into the other");
  }
  if (const auto* list = std::get_if<ir::ValueList>(&argument)) {
    return tensor_list(*list, type == ParameterType::kOptionalTensorList);
  }
  if (const Dim* dim = std::get_if<Dim>(&argument)) return number(*dim, type);
  if (const auto* dims = std::get_if<ir::DimList>(&argument)) return int_list(*dims);
  if (const double* real = std::get_if<double>(&argument)) return code_.values.real(*real);
  if (const auto* list = std::get_if<ir::FloatList>(&argument)) return code_.values.real_list(*list);
  if (const bool* truth = std::get_if<bool>(&argument)) return code_.values.boolean(*truth);
  if (const auto* list = std::get_if<ir::BoolList>(&argument)) return code_.values.bool_list(*list);
  return code_.values.text(std::get<std::string>(argument));
}

Expected<int32_t> MethodEmitter::number(Dim dim, ParameterType type) {
  if (type == ParameterType::kFloat && dim.is_constant()) return code_.values.real(static_cast<double>(dim.value));
  if (type == ParameterType::kMemoryFormat && dim.value != kContiguousFormat && dim.value != kPreserveFormat) {
    return unsupported(
        "", "memory format " + std::to_string(dim.value) + " cannot be written; contiguous (0) and preserve (1) can");
  }
  return symbols_.integer(dim, &code_);
}

Expected<int32_t> MethodEmitter::int_list(const ir::DimList& dims) {
  std::vector<int32_t> items;
  for (const Dim dim : dims) {
    BERTH_ASSIGN_OR_RETURN(const int32_t item, symbols_.integer(dim, &code_));
    items.push_back(item);
  }
  return code_.values.int_list(items);
}

Expected<int32_t> MethodEmitter::tensor_list(const ir::ValueList& list, bool optional) {
  std::vector<int32_t> items;
  for (const ValueId item : list) {
    if (!item.valid()) {
      items.push_back(-1);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const int32_t value, values_.use(item));
    items.push_back(value);
  }
  if (optional) return code_.values.add(format::OptionalTensorListDesc{std::move(items)});
  return code_.values.add(format::TensorListDesc{std::move(items)});
}

Expected<EmittedMethod> emit_method(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                    const DelegateCalls& calls, const MethodOptions& options, Pools* pools) {
  return MethodEmitter(module, method, plan, calls, options, pools).run();
}

}  // namespace berth::emit
