#include "compiler/emit/method_values.h"

#include <limits>
#include <utility>

namespace berth::emit {

using ir::TensorType;
using ir::ValueId;

Failure unsupported(std::string where, std::string message) {
  return Failure{Error::kNotSupported, std::move(where), std::move(message)};
}

MethodValues::MethodValues(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                           const MethodOptions& options, Pools* pools, Code* code)
    : module_(module),
      method_(method),
      model_(plan.model),
      packing_(plan.packing),
      options_(options),
      pools_(pools),
      code_(code),
      values_(method.values.size(), -1),
      states_(module.states.size(), -1) {
  pools_->constant_numbers.resize(module.constants.size(), 0);
}

Expected<int32_t> MethodValues::define(ValueId value) {
  const TensorType* type = method_.value(value).tensor();
  if (type == nullptr) return unsupported("%" + method_.value(value).name, "a value of a program is a tensor");
  const ValueId result = model_.aliases.stands_for[value];
  if (result.valid()) return values_[value] = values_[result];
  // Its row was found at the beginning of the iteration.
  if (model_.aliases.rows[value].in_row() && values_[value] >= 0) return values_[value];
  BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(*type, value));
  tensor.bounded = tensor.bounded || model_.aliases.stacked[value];
  const memory::ValueHome& place = model_.aliases.homes[value];
  const bool found = model_.aliases.rows[value].in_row() || model_.aliases.pointed[value];
  if (place.home == memory::Home::kBuffer && !found) {
    tensor.planned = offset_of(place.buffer);
    tensor.planned->offset += static_cast<uint64_t>(place.offset);
  }
  if (place.home == memory::Home::kConstant) set_data(place.constant, &tensor);
  values_[value] = code_->values.add(std::move(tensor));
  return values_[value];
}

Expected<int32_t> MethodValues::use(ValueId value) {
  const int32_t known = values_[value];
  if (known >= 0) return known;
  return define(value);
}

Expected<int32_t> MethodValues::state(ir::StateId id) {
  int32_t& known = states_[id];
  if (known >= 0) return known;
  const ir::State& state = module_.states[id];
  BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(state.type, ValueId{}));
  tensor.planned = offset_of(model_.buffers.states[id]);
  tensor.name = state.name;
  const size_t bytes = ir::max_bytes(state.type, module_.symbols);
  const uint8_t zero[1] = {0};
  tensor.data_buffer_idx =
      pools_->initial_values.add(state.initial.has_value() ? *state.initial : ir::Blob::splat(zero, bytes));
  known = code_->values.add(std::move(tensor));
  return known;
}

Expected<int32_t> MethodValues::unplaced(ValueId like) {
  BERTH_ASSIGN_OR_RETURN(format::TensorDesc tensor, tensor_of(method_.tensor(like), like));
  return code_->values.add(std::move(tensor));
}

Expected<format::TensorDesc> MethodValues::tensor_of(const TensorType& type, ValueId value) const {
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

format::ArenaOffset MethodValues::offset_of(memory::BufferId buffer) const {
  const int64_t offset = packing_.offsets[buffer.index];
  return {static_cast<uint32_t>(model_.buffers.all[buffer].space) + 1, static_cast<uint64_t>(offset), buffer.index};
}

void MethodValues::set_data(ir::ConstantId id, format::TensorDesc* tensor) {
  std::string key = options_.external_key ? options_.external_key(id, *tensor) : "";
  if (!key.empty()) {
    tensor->name = std::move(key);
    tensor->external = true;
    return;
  }
  uint32_t& number = pools_->constant_numbers[id];
  if (number == 0) number = pools_->constants.add(module_.constants[id].blob);
  tensor->data_buffer_idx = number;
}

}  // namespace berth::emit
