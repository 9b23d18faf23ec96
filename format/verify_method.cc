#include <cinttypes>
#include <cstring>

#include "base/result.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

const char* kind_name(const fb::EValue& value) {
  return value.val_type() >= fb::KernelTypes::MIN && value.val_type() <= fb::KernelTypes::MAX
             ? fb::EnumNameKernelTypes(value.val_type())
             : "unknown";
}

Error verify_int_list(const Spot& spot, const fb::ExecutionPlan& plan, const fb::IntList& list) {
  const int64_t count = plan.values()->size();
  BERTH_RETURN_IF_ERROR(spot.spend(length(list.items())));
  for (uint32_t i = 0; i < length(list.items()); ++i) {
    const int64_t item = list.items()->Get(i);
    if (item < 0 || item >= count) {
      return spot.fail(Error::kInvalidProgram, "item %u is value %" PRId64 "; there are %" PRId64 " values", i, item,
                       count);
    }
    const fb::EValue& value = *plan.values()->Get(static_cast<uint32_t>(item));
    if (value.val_type() == fb::KernelTypes::Int) continue;
    return spot.fail(Error::kInvalidType, "item %u of the list of Int is value %" PRId64 ", of kind %s", i, item,
                     kind_name(value));
  }
  return Error::kOk;
}

/// `optional`: -1 and Null values mean None.
Error verify_tensor_list(const Spot& spot, const fb::ExecutionPlan& plan, const flatbuffers::Vector<int32_t>* items,
                         bool optional) {
  BERTH_RETURN_IF_ERROR(spot.spend(length(items)));
  for (uint32_t i = 0; i < length(items); ++i) {
    const int64_t item = items->Get(i);
    if (item == -1 && optional) continue;
    if (item < 0 || item >= spot.index) {
      return spot.fail(Error::kInvalidProgram,
                       "item %u is value %" PRId64 "; the tensors of a list must come before it", i, item);
    }
    const fb::EValue& value = *plan.values()->Get(static_cast<uint32_t>(item));
    if (value.val_type() == fb::KernelTypes::Tensor) continue;
    if (value.val_type() == fb::KernelTypes::Null && optional) continue;
    return spot.fail(Error::kInvalidType, "item %u of the list of Tensor is value %" PRId64 ", of kind %s", i, item,
                     kind_name(value));
  }
  return Error::kOk;
}

/// Numbers of 8 bytes are used in place.
bool has_aligned_items(const fb::EValue& value) {
  switch (value.val_type()) {
    case fb::KernelTypes::IntList: return is_aligned(value.val_as_IntList()->items());
    case fb::KernelTypes::DoubleList: return is_aligned(value.val_as_DoubleList()->items());
    default: return true;
  }
}

bool has_items(const fb::EValue& value) {
  switch (value.val_type()) {
    case fb::KernelTypes::IntList: return value.val_as_IntList()->items() != nullptr;
    case fb::KernelTypes::DoubleList: return value.val_as_DoubleList()->items() != nullptr;
    case fb::KernelTypes::BoolList: return value.val_as_BoolList()->items() != nullptr;
    case fb::KernelTypes::TensorList: return value.val_as_TensorList()->items() != nullptr;
    case fb::KernelTypes::OptionalTensorList: return value.val_as_OptionalTensorList()->items() != nullptr;
    default: return true;
  }
}

/// Booleans are one byte each; bytes other than 0 and 1 are invalid.
Error verify_bool_list(const Spot& spot, const fb::BoolList& list) {
  BERTH_RETURN_IF_ERROR(spot.spend(list.items()->size()));
  for (uint32_t i = 0; i < list.items()->size(); ++i) {
    if (list.items()->Get(i) > 1) return spot.fail(Error::kInvalidProgram, "item %u is neither true nor false", i);
  }
  return Error::kOk;
}

/// Whether set_input() of a runtime accepts the value.
bool can_be_input(const fb::EValue& value) {
  switch (value.val_type()) {
    case fb::KernelTypes::Null:
    case fb::KernelTypes::Int:
    case fb::KernelTypes::Bool:
    case fb::KernelTypes::Double:
    case fb::KernelTypes::Tensor:
    case fb::KernelTypes::String: return true;
    default: return false;
  }
}

Error verify_io(const Spot& spot, const fb::ExecutionPlan& plan) {
  const int64_t count = plan.values()->size();
  for (const auto* list : {plan.inputs(), plan.outputs()}) {
    const bool inputs = list == plan.inputs();
    BERTH_RETURN_IF_ERROR(spot.spend(list->size()));
    for (uint32_t i = 0; i < list->size(); ++i) {
      const Spot here = spot.at(inputs ? "inputs" : "outputs", i);
      const int64_t index = list->Get(i);
      if (index < 0 || index >= count) {
        return here.fail(Error::kInvalidProgram, "value %" PRId64 " does not exist; there are %" PRId64, index, count);
      }
      const fb::EValue& value = *plan.values()->Get(static_cast<uint32_t>(index));
      if (!inputs || can_be_input(value)) continue;
      return here.fail(Error::kNotSupported, "value %" PRId64 " is of kind %s, which no runtime can set", index,
                       kind_name(value));
    }
  }
  return Error::kOk;
}

Error verify_lists_present(const Spot& spot, const fb::ExecutionPlan& plan) {
  const char* missing = plan.values() == nullptr                     ? "values"
                        : plan.inputs() == nullptr                   ? "inputs"
                        : plan.outputs() == nullptr                  ? "outputs"
                        : length(plan.chains()) == 0                 ? "chains"
                        : plan.operators() == nullptr                ? "operators"
                        : plan.delegates() == nullptr                ? "delegates"
                        : length(plan.non_const_buffer_sizes()) == 0 ? "non_const_buffer_sizes"
                                                                     : nullptr;
  if (missing == nullptr) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "the method has no list of %s", missing);
}

}  // namespace

Error verify_arenas(const Spot& spot, const fb::ExecutionPlan& plan) {
  const auto* sizes = plan.non_const_buffer_sizes();
  if (!is_aligned(sizes)) return spot.fail(Error::kInvalidProgram, "the list of arenas is not aligned");
  if (sizes->size() > kMaxArenas) {
    return spot.fail(Error::kOutOfResources, "%u arenas, the limit is %u", sizes->size(), kMaxArenas);
  }
  for (uint32_t i = 0; i < sizes->size(); ++i) {
    if (sizes->Get(i) >= 0) continue;
    return spot.at("non_const_buffer_sizes", i).fail(Error::kInvalidProgram, "%" PRId64 " bytes", sizes->Get(i));
  }
  const auto* devices = plan.non_const_buffer_device();
  bool seen[kMaxArenas] = {};
  for (uint32_t i = 0; i < length(devices); ++i) {
    const Spot here = spot.at("non_const_buffer_device", i);
    const fb::NonConstBufferDevice& entry = *devices->Get(i);
    if (entry.buffer_idx() < 1 || static_cast<uint32_t>(entry.buffer_idx()) >= sizes->size()) {
      return here.fail(Error::kInvalidProgram, "arena %d does not exist; there are arenas 1 to %u", entry.buffer_idx(),
                       sizes->size() - 1);
    }
    if (seen[entry.buffer_idx()]) {
      return here.fail(Error::kInvalidProgram, "arena %d has a device already", entry.buffer_idx());
    }
    seen[entry.buffer_idx()] = true;
    BERTH_RETURN_IF_ERROR(verify_device_number(here, entry.device_type(), entry.device_index()));
  }
  return Error::kOk;
}

Error verify_value(const Spot& spot, const fb::ExecutionPlan& plan, uint32_t index) {
  const fb::EValue& value = *plan.values()->Get(index);
  const fb::KernelTypes type = value.val_type();
  if (type == fb::KernelTypes::NONE || type > fb::KernelTypes::MAX) {
    return spot.fail(Error::kInvalidProgram, "kind %d of value does not exist", static_cast<int>(type));
  }
  if (type == fb::KernelTypes::Null) return Error::kOk;
  if (value.val() == nullptr) return spot.fail(Error::kInvalidProgram, "the %s has no content", kind_name(value));
  if (!has_items(value)) return spot.fail(Error::kInvalidProgram, "the %s has no items", kind_name(value));
  if (!has_aligned_items(value)) {
    return spot.fail(Error::kInvalidProgram, "the items of the %s are not aligned", kind_name(value));
  }
  switch (type) {
    case fb::KernelTypes::Tensor: return verify_tensor(spot, plan, *value.val_as_Tensor());
    case fb::KernelTypes::String:
      if (value.val_as_String()->string_val() != nullptr) return Error::kOk;
      return spot.fail(Error::kInvalidProgram, "the String has no text");
    case fb::KernelTypes::IntList: return verify_int_list(spot, plan, *value.val_as_IntList());
    case fb::KernelTypes::BoolList: return verify_bool_list(spot, *value.val_as_BoolList());
    case fb::KernelTypes::TensorList: return verify_tensor_list(spot, plan, value.val_as_TensorList()->items(), false);
    case fb::KernelTypes::OptionalTensorList:
      return verify_tensor_list(spot, plan, value.val_as_OptionalTensorList()->items(), true);
    default: return Error::kOk;
  }
}

Error verify_method(const Spot& spot, const fb::ExecutionPlan& plan) {
  BERTH_RETURN_IF_ERROR(verify_lists_present(spot, plan));
  BERTH_RETURN_IF_ERROR(verify_arenas(spot, plan));
  for (uint32_t i = 0; i < plan.values()->size(); ++i) {
    BERTH_RETURN_IF_ERROR(verify_value(spot.at("values", i), plan, i));
  }
  BERTH_RETURN_IF_ERROR(verify_io(spot, plan));
  return verify_calls(spot, plan);
}

}  // namespace berth::format::internal
