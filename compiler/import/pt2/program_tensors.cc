#include "compiler/import/pt2/program_tensors.h"

#include "compiler/import/pt2/user_input.h"
#include "compiler/ir/shape_args.h"

namespace berth::pt2 {

// Tensors without elements have no bytes that their sizes would have to fit.
Status ProgramTensors::check_stored(const std::string& target, const ir::TensorType& type) const {
  const std::string problem = ir::type_problem(type, module_.symbols);
  if (problem.empty()) return Done{};
  return Failure{Error::kInvalidProgram, "pt2 tensor \"" + target + "\"", problem};
}

Expected<ir::ValueId> ProgramTensors::constant(const std::string& target, const Payload& payload) {
  const auto key = std::make_tuple(payload.offset, payload.dtype, payload.stored, payload.order, payload.sizes);
  const bool shared = payload.blob.is_mapped();
  if (shared) {
    const auto found = constants_.find(key);
    if (found != constants_.end()) return found->second;
  }
  ir::TensorType type;
  type.dtype = payload.dtype;
  type.shape.assign(payload.stored.begin(), payload.stored.end());
  BERTH_TRY(check_stored(target, type));
  ir::ValueId value = build_.constant(std::move(type), payload.blob, target);
  if (!payload.order.empty()) {
    auto permuted =
        build_.one(ir::OpId::permute_copy_out, {value, ir::dims(payload.order)}, target, target + ".permuted");
    if (!permuted.ok()) return permuted.error();
    value = *permuted;
  }
  const ir::DimList sizes = ir::dims(payload.sizes);
  if (method_.tensor(value).shape != sizes) {
    auto expanded = build_.one(ir::OpId::expand_copy_out, {value, sizes}, target, target + ".expanded");
    if (!expanded.ok()) return expanded.error();
    value = *expanded;
  }
  if (shared) constants_.emplace(key, value);
  return value;
}

Expected<ir::ValueId> ProgramTensors::state(const std::string& target, const std::string& name,
                                            const Payload& payload) {
  ir::State state;
  state.name = target;
  state.type.dtype = payload.dtype;
  state.type.shape.assign(payload.sizes.begin(), payload.sizes.end());
  if (!payload.order.empty() || payload.stored != payload.sizes) {
    return Failure{Error::kNotSupported, "pt2 tensor \"" + target + "\"",
                   "is changed by the model and does not lie in row-major order; make it contiguous"};
  }
  BERTH_TRY(check_stored(target, state.type));
  state.initial = payload.blob;
  for (const ir::State& other : module_.states) {
    if (other.name == target) return input_failure(name, "two inputs are the buffer " + target, Error::kInvalidProgram);
  }
  State made;
  made.id = module_.states.next_id();
  module_.states.push_back(state);
  ir::Node node;
  node.op = &ir::operator_of(ir::OpId::state_read);
  node.state = made.id;
  node.source = target;
  made.start = method_.add_value(state.type, name);
  ir::Value& value = method_.value(made.start);
  value.kind = ir::ValueKind::kNode;
  value.node = method_.nodes.next_id();
  node.results = {made.start};
  method_.body.nodes.push_back(value.node);
  method_.nodes.push_back(std::move(node));
  states_[name] = made;
  return made.start;
}

const ProgramTensors::State* ProgramTensors::state_of_input(const std::string& name) const {
  const auto found = states_.find(name);
  return found == states_.end() ? nullptr : &found->second;
}

const ProgramTensors::State* ProgramTensors::state_of_buffer(const std::string& target) const {
  for (const auto& [name, state] : states_) {
    if (module_.states[state.id].name == target) return &state;
  }
  return nullptr;
}

void ProgramTensors::write(const State& state, ir::ValueId value) {
  ir::Node node;
  node.op = &ir::operator_of(ir::OpId::state_write);
  node.args = {value};
  node.state = state.id;
  node.source = module_.states[state.id].name;
  method_.body.nodes.push_back(method_.nodes.next_id());
  method_.nodes.push_back(std::move(node));
}

}  // namespace berth::pt2
