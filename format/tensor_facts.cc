#include "format/tensor_facts.h"

#include "base/dtype.h"
#include "base/math.h"

namespace berth::format {

Storage storage_of(const fb::Tensor& tensor) {
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  if (extra != nullptr && extra->location() == fb::TensorDataLocation::EXTERNAL) {
    return is_planned(tensor) ? Storage::kExternalState : Storage::kExternalConstant;
  }
  if (tensor.data_buffer_idx() > 0) return is_planned(tensor) ? Storage::kState : Storage::kConstant;
  return is_planned(tensor) ? Storage::kPlanned : Storage::kNone;
}

uint64_t planned_offset(const fb::AllocationDetails& place) {
  return static_cast<uint64_t>(place.memory_offset_high()) << 32 | place.memory_offset_low();
}

size_t element_alignment(DType dtype) {
  const size_t size = element_size(dtype);
  return is_complex(dtype) ? size / 2 : size;
}

bool tensor_numel(const fb::Tensor& tensor, uint64_t* numel) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < length(tensor.sizes()); ++i) {
    const int32_t size = tensor.sizes()->Get(i);
    if (size < 0 || !checked_mul(product, static_cast<uint64_t>(size), &product)) return false;
  }
  *numel = product;
  return true;
}

bool tensor_nbytes(const fb::Tensor& tensor, uint64_t* nbytes) {
  const int type = static_cast<int>(tensor.scalar_type());
  uint64_t numel = 0;
  if (!is_valid_dtype(type) || !tensor_numel(tensor, &numel)) return false;
  // Kernels count elements and bytes in signed 64-bit numbers.
  return checked_mul(numel, static_cast<uint64_t>(element_size(static_cast<DType>(type))), nbytes) &&
         *nbytes <= static_cast<uint64_t>(INT64_MAX);
}

Device tensor_device(const fb::Tensor& tensor) {
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  if (extra == nullptr) return Device();
  return Device(static_cast<DeviceType>(extra->device_type()), extra->device_index());
}

Device arena_device(const fb::ExecutionPlan& plan, uint32_t memory_id) {
  const auto* entries = plan.non_const_buffer_device();
  for (uint32_t i = 0; i < length(entries); ++i) {
    const fb::NonConstBufferDevice* entry = entries->Get(i);
    if (static_cast<int64_t>(entry->buffer_idx()) == static_cast<int64_t>(memory_id)) {
      return Device(static_cast<DeviceType>(entry->device_type()), entry->device_index());
    }
  }
  return Device();
}

const fb::Tensor* tensor_at(const fb::ExecutionPlan& plan, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(length(plan.values()))) return nullptr;
  const fb::EValue* value = plan.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
  return value == nullptr ? nullptr : value->val_as_Tensor();
}

}  // namespace berth::format
