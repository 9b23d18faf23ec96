#include "runtime/method_meta.h"

#include "base/math.h"
#include "format/tensor_facts.h"
#include "runtime/memory.h"

namespace berth {

using format::length;
using format::text;

namespace {

Result<size_t> entry_of(const flatbuffers::Vector<int32_t>* list, size_t index, const fb::ExecutionPlan& plan) {
  if (index >= length(list)) return Error::kInvalidArgument;
  const int32_t value = list->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (!is_index(value, length(plan.values()))) return Error::kInvalidProgram;
  return static_cast<size_t>(value);
}

Result<Tag> tag_of(const fb::ExecutionPlan& plan, size_t index) {
  const fb::EValue* value = plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (value == nullptr) return Error::kInvalidProgram;
  switch (value->val_type()) {
    case fb::KernelTypes::Null: return Tag::kNone;
    case fb::KernelTypes::Int: return Tag::kInt;
    case fb::KernelTypes::Bool: return Tag::kBool;
    case fb::KernelTypes::Double: return Tag::kDouble;
    case fb::KernelTypes::Tensor: return Tag::kTensor;
    case fb::KernelTypes::String: return Tag::kString;
    case fb::KernelTypes::IntList: return Tag::kIntList;
    case fb::KernelTypes::DoubleList: return Tag::kDoubleList;
    case fb::KernelTypes::BoolList: return Tag::kBoolList;
    case fb::KernelTypes::TensorList:
    case fb::KernelTypes::OptionalTensorList: return Tag::kTensorList;
    default: return Error::kInvalidProgram;
  }
}

Result<TensorInfo> info_of(const fb::ExecutionPlan& plan, size_t index, const DeviceMap& devices) {
  const fb::Tensor* tensor = format::tensor_at(plan, static_cast<int64_t>(index));
  if (tensor == nullptr) return Error::kInvalidArgument;
  TensorInfo info;
  uint64_t nbytes = 0;
  if (tensor->sizes() == nullptr || length(tensor->dim_order()) != length(tensor->sizes()) ||
      !format::tensor_nbytes(*tensor, &nbytes)) {
    return Error::kInvalidProgram;
  }
  if (nbytes > SIZE_MAX) return Error::kNotSupported;
  info.sizes = {tensor->sizes()->data(), tensor->sizes()->size()};
  if (tensor->dim_order() != nullptr) info.dim_order = {tensor->dim_order()->data(), tensor->dim_order()->size()};
  info.dtype = static_cast<DType>(tensor->scalar_type());
  info.dynamism =
      tensor->shape_dynamism() == fb::TensorShapeDynamism::STATIC ? ShapeDynamism::kStatic : ShapeDynamism::kBounded;
  info.device = devices(format::tensor_device(*tensor));
  info.is_memory_planned = format::storage_of(*tensor) != format::Storage::kNone;
  info.nbytes = static_cast<size_t>(nbytes);
  return info;
}

}  // namespace

const char* MethodMeta::name() const { return text(plan_->name()); }
size_t MethodMeta::num_inputs() const { return length(plan_->inputs()); }
size_t MethodMeta::num_outputs() const { return length(plan_->outputs()); }

Result<Tag> MethodMeta::input_tag(size_t index) const {
  BERTH_ASSIGN_OR_RETURN(const size_t value, entry_of(plan_->inputs(), index, *plan_));
  return tag_of(*plan_, value);
}

Result<Tag> MethodMeta::output_tag(size_t index) const {
  BERTH_ASSIGN_OR_RETURN(const size_t value, entry_of(plan_->outputs(), index, *plan_));
  return tag_of(*plan_, value);
}

Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const {
  BERTH_ASSIGN_OR_RETURN(const size_t value, entry_of(plan_->inputs(), index, *plan_));
  return info_of(*plan_, value, devices_);
}

Result<TensorInfo> MethodMeta::output_tensor_meta(size_t index) const {
  BERTH_ASSIGN_OR_RETURN(const size_t value, entry_of(plan_->outputs(), index, *plan_));
  return info_of(*plan_, value, devices_);
}

ValueNames MethodMeta::input_names(size_t index) const {
  const Result<size_t> value = entry_of(plan_->inputs(), index, *plan_);
  return value.ok() ? value_names(*value) : ValueNames();
}

ValueNames MethodMeta::output_names(size_t index) const {
  const Result<size_t> value = entry_of(plan_->outputs(), index, *plan_);
  if (!value.ok()) return ValueNames();
  ValueNames names = value_names(*value);
  const auto* outputs = names_ == nullptr ? nullptr : names_->outputs();
  if (index < length(outputs)) {
    const char* name = text(outputs->Get(static_cast<flatbuffers::uoffset_t>(index)));
    if (name[0] != '\0') names.name = name;
  }
  return names;
}

// Entries are sorted by value.
ValueNames MethodMeta::value_names(size_t value) const {
  ValueNames names;
  if (names_ == nullptr) return names;
  const auto* entries = names_->values();
  size_t low = 0;
  size_t high = length(entries);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const fb::ValueName* entry = entries->Get(static_cast<flatbuffers::uoffset_t>(middle));
    if (entry->value() == static_cast<int64_t>(value)) {
      names.name = text(entry->name());
      names.node = text(entry->node());
      return names;
    }
    if (entry->value() < static_cast<int64_t>(value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return names;
}

namespace {

const char* name_of(const fb::Tensor* tensor) {
  const fb::ExtraTensorInfo* extra = tensor == nullptr ? nullptr : tensor->extra_tensor_info();
  return extra == nullptr ? "" : text(extra->fully_qualified_name());
}

// The value table's entry of the k-th named tensor; sets `count` to their number if k is too large.
size_t find_attribute(const fb::ExecutionPlan& plan, size_t k, size_t* count) {
  *count = 0;
  for (flatbuffers::uoffset_t i = 0; i < length(plan.values()); ++i) {
    if (name_of(format::tensor_at(plan, i))[0] == '\0') continue;
    if ((*count)++ == k) return i;
  }
  return SIZE_MAX;
}

}  // namespace

size_t MethodMeta::num_attributes() const {
  size_t count = 0;
  static_cast<void>(find_attribute(*plan_, SIZE_MAX, &count));
  return count;
}

const char* MethodMeta::attribute_name(size_t index) const {
  size_t count = 0;
  const size_t value = find_attribute(*plan_, index, &count);
  return value == SIZE_MAX ? nullptr : name_of(format::tensor_at(*plan_, static_cast<int64_t>(value)));
}

Result<TensorInfo> MethodMeta::attribute_tensor_meta(size_t index) const {
  size_t count = 0;
  const size_t value = find_attribute(*plan_, index, &count);
  if (value == SIZE_MAX) return Error::kInvalidArgument;
  return info_of(*plan_, value, devices_);
}

size_t MethodMeta::num_memory_planned_buffers() const {
  const size_t entries = length(plan_->non_const_buffer_sizes());
  return entries == 0 ? 0 : entries - 1;
}

Result<uint64_t> MethodMeta::memory_planned_buffer_size(size_t index) const {
  if (index >= num_memory_planned_buffers()) return Error::kInvalidArgument;
  const int64_t bytes = plan_->non_const_buffer_sizes()->Get(static_cast<flatbuffers::uoffset_t>(index + 1));
  if (bytes < 0) return Error::kInvalidProgram;
  return static_cast<uint64_t>(bytes);
}

Result<Device> MethodMeta::memory_planned_buffer_device(size_t index) const {
  if (index >= num_memory_planned_buffers()) return Error::kInvalidArgument;
  return devices_(format::arena_device(*plan_, static_cast<uint32_t>(index + 1)));
}

size_t MethodMeta::memory_planned_buffer_alignment(size_t index) const {
  const auto* arenas = names_ == nullptr ? nullptr : names_->arenas();
  for (flatbuffers::uoffset_t i = 0; i < length(arenas); ++i) {
    const fb::ArenaPlan* arena = arenas->Get(i);
    if (arena->memory_id() == index + 1 && arena->alignment() > kArenaAlignment) return arena->alignment();
  }
  return kArenaAlignment;
}

bool MethodMeta::memory_planned_buffer_follows_sizes(size_t index) const {
  const auto* stacks = names_ == nullptr ? nullptr : names_->stacks();
  for (flatbuffers::uoffset_t i = 0; i < length(stacks); ++i) {
    if (stacks->Get(i)->memory_id() == index + 1) return true;
  }
  return false;
}

size_t MethodMeta::num_operators() const { return length(plan_->operators()); }

size_t MethodMeta::num_instructions() const {
  size_t count = 0;
  for (flatbuffers::uoffset_t i = 0; i < length(plan_->chains()); ++i) {
    count += length(plan_->chains()->Get(i)->instructions());
  }
  return count;
}

size_t MethodMeta::num_delegates() const { return length(plan_->delegates()); }

const char* MethodMeta::delegate_id(size_t index) const {
  if (index >= num_delegates()) return nullptr;
  return text(plan_->delegates()->Get(static_cast<flatbuffers::uoffset_t>(index))->id());
}

}  // namespace berth
