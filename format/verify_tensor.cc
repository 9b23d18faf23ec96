#include <algorithm>
#include <cinttypes>

#include "base/dtype.h"
#include "base/math.h"
#include "base/result.h"
#include "format/tensor_facts.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

DType dtype_of(const fb::Tensor& tensor) { return static_cast<DType>(tensor.scalar_type()); }

Error verify_kind(const Spot& spot, const fb::Tensor& tensor) {
  if (!is_valid_dtype(static_cast<int>(tensor.scalar_type()))) {
    return spot.fail(Error::kInvalidProgram, "element type %d does not exist", static_cast<int>(tensor.scalar_type()));
  }
  if (tensor.storage_offset() != 0) {
    return spot.fail(Error::kNotSupported, "storage offset %d; only 0 can be loaded", tensor.storage_offset());
  }
  if (tensor.layout() != 0) {
    return spot.fail(Error::kNotSupported, "layout %d; only 0, strided, can be loaded",
                     static_cast<int>(tensor.layout()));
  }
  if (tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return spot.fail(Error::kNotSupported,
                     "the tensor's size has no upper bound; export the model with a maximum size");
  }
  if (tensor.shape_dynamism() > fb::TensorShapeDynamism::MAX ||
      tensor.shape_dynamism() < fb::TensorShapeDynamism::MIN) {
    return spot.fail(Error::kInvalidProgram, "shape dynamism %d does not exist",
                     static_cast<int>(tensor.shape_dynamism()));
  }
  return Error::kOk;
}

Error verify_shape(const Spot& spot, const fb::Tensor& tensor, uint64_t* nbytes) {
  if (tensor.sizes() == nullptr || tensor.dim_order() == nullptr) {
    return spot.fail(Error::kInvalidProgram, "the tensor has no sizes or no dimension order");
  }
  const uint32_t rank = tensor.sizes()->size();
  if (rank > kMaxRank || tensor.dim_order()->size() != rank) {
    return spot.fail(Error::kInvalidProgram, "%u sizes and %u entries of dimension order; at most %d, and as many",
                     rank, tensor.dim_order()->size(), kMaxRank);
  }
  uint32_t seen = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint32_t dim = tensor.dim_order()->Get(i);
    if (dim >= rank || (seen & (1u << dim)) != 0) {
      return spot.fail(Error::kInvalidProgram, "the dimension order is not a permutation: entry %u is %u", i, dim);
    }
    seen |= 1u << dim;
    if (tensor.sizes()->Get(i) < 0) {
      return spot.fail(Error::kInvalidProgram, "size %d of dimension %u is negative", tensor.sizes()->Get(i), i);
    }
  }
  if (tensor_nbytes(tensor, nbytes)) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "the number of bytes overflows");
}

Error verify_device(const Spot& spot, const fb::Tensor& tensor) {
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  if (extra == nullptr) return Error::kOk;
  if (extra->location() > fb::TensorDataLocation::MAX || extra->location() < fb::TensorDataLocation::MIN) {
    return spot.fail(Error::kInvalidProgram, "data location %d does not exist", static_cast<int>(extra->location()));
  }
  BERTH_RETURN_IF_ERROR(verify_device_number(spot, extra->device_type(), extra->device_index()));
  if (!tensor_device(tensor).is_cpu() && !is_planned(tensor) && storage_of(tensor) != Storage::kNone) {
    return spot.fail(Error::kInvalidProgram, "a constant must be on the host, and this one is on %s",
                     to_text(tensor_device(tensor)).text);
  }
  if (extra->location() == fb::TensorDataLocation::EXTERNAL && text(extra->fully_qualified_name())[0] == '\0') {
    return spot.fail(Error::kInvalidProgram, "the data are in a data file, but the tensor has no name");
  }
  return Error::kOk;
}

Error verify_place(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Tensor& tensor, uint64_t nbytes) {
  const fb::AllocationDetails& place = *tensor.allocation_info();
  const uint32_t arenas = length(plan.non_const_buffer_sizes());
  if (place.memory_id() == 0 || place.memory_id() >= arenas) {
    return spot.fail(Error::kInvalidProgram, "arena %u does not exist; there are arenas 1 to %u", place.memory_id(),
                     arenas - 1);
  }
  const uint64_t size = static_cast<uint64_t>(plan.non_const_buffer_sizes()->Get(place.memory_id()));
  const uint64_t offset = planned_offset(place);
  if (offset > size || nbytes > size - offset) {
    return spot.fail(Error::kInvalidProgram,
                     "%" PRIu64 " bytes at offset %" PRIu64 " do not fit into arena %u of %" PRIu64 " bytes", nbytes,
                     offset, place.memory_id(), size);
  }
  if (offset % element_alignment(dtype_of(tensor)) != 0) {
    return spot.fail(Error::kInvalidProgram, "offset %" PRIu64 " is not a multiple of the element's %zu bytes", offset,
                     element_alignment(dtype_of(tensor)));
  }
  const Device device = tensor_device(tensor);
  const Device arena = arena_device(plan, place.memory_id());
  if (device == arena) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "the tensor is on %s, its arena %u on %s", to_text(device).text,
                   place.memory_id(), to_text(arena).text);
}

Error verify_constant(const Spot& spot, const fb::Tensor& tensor, uint64_t nbytes) {
  const fb::SubsegmentOffsets* table = spot.program->root().constant_segment();
  const bool in_segment = table != nullptr && length(table->offsets()) > 0;
  const uint32_t index = tensor.data_buffer_idx();
  if (!in_segment) {
    Span<const uint8_t> bytes;
    if (spot.program->constant(index, nbytes, &bytes) == Error::kOk) {
      if (reinterpret_cast<uintptr_t>(bytes.data()) % element_alignment(dtype_of(tensor)) == 0) return Error::kOk;
      return spot.fail(Error::kInvalidProgram, "constant %u is not aligned to its elements", index);
    }
    return spot.fail(Error::kInvalidProgram, "constant %u of %" PRIu64 " bytes is not in the file", index, nbytes);
  }
  uint64_t offset = 0;
  if (spot.program->constant_range(index, nbytes, &offset) != Error::kOk) {
    return spot.fail(Error::kInvalidProgram,
                     "constant %u of %" PRIu64 " bytes is not in the constant segment, which has %u entries", index,
                     nbytes, length(table->offsets()));
  }
  if (offset % element_alignment(dtype_of(tensor)) == 0) return Error::kOk;
  return spot.fail(Error::kInvalidProgram,
                   "constant %u lies at byte %" PRIu64
                   " of the file, which is not a multiple of its element's %zu bytes",
                   index, offset, element_alignment(dtype_of(tensor)));
}

Error verify_initial_value(const Spot& spot, const fb::Tensor& tensor, uint64_t nbytes) {
  uint64_t offset = 0;
  if (spot.program->initial_value_range(tensor.data_buffer_idx(), nbytes, &offset) == Error::kOk) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "initial value %u of %" PRIu64 " bytes is not in the file",
                   tensor.data_buffer_idx(), nbytes);
}

}  // namespace

Error verify_device_number(const Spot& spot, fb::DeviceType type, int8_t index) {
  // A number for applications may have its name elsewhere: such a file is loaded where it has an allocator.
  const int number = static_cast<int>(type);
  if (number < kFirstPrivateDeviceType && to_string(static_cast<DeviceType>(type)) == nullptr) {
    return spot.fail(Error::kInvalidProgram, "device type %d does not exist; the types are %s", number,
                     device_type_names());
  }
  const bool host = static_cast<DeviceType>(type) == DeviceType::kCpu;
  if (index >= 0 && (!host || index == 0)) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "device index %d; %s", index,
                   host ? "the host is one, with index 0" : "an index is from 0 to 127");
}

Error verify_tensor(const Spot& spot, const fb::ExecutionPlan& plan, const fb::Tensor& tensor) {
  uint64_t nbytes = 0;
  BERTH_RETURN_IF_ERROR(verify_kind(spot, tensor));
  BERTH_RETURN_IF_ERROR(verify_shape(spot, tensor, &nbytes));
  BERTH_RETURN_IF_ERROR(verify_device(spot, tensor));
  if (is_planned(tensor)) BERTH_RETURN_IF_ERROR(verify_place(spot, plan, tensor, nbytes));
  switch (storage_of(tensor)) {
    case Storage::kConstant: return verify_constant(spot, tensor, nbytes);
    case Storage::kState: return verify_initial_value(spot, tensor, nbytes);
    default: return Error::kOk;
  }
}

}  // namespace berth::format::internal
