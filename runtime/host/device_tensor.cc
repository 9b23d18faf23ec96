#include "runtime/host/device_tensor.h"

#include <cstring>

#include "base/math.h"

namespace berth {
namespace {

// The bytes of a tensor of these sizes; InvalidArgument when they are invalid.
Result<size_t> bytes_of(DType dtype, Span<const int32_t> sizes, Span<const uint8_t> dim_order) {
  if (!is_valid_dtype(static_cast<int>(dtype)) || sizes.size() > static_cast<size_t>(kMaxRank) ||
      dim_order.size() != sizes.size()) {
    return Error::kInvalidArgument;
  }
  uint64_t bytes = element_size(dtype);
  uint64_t span = bytes;
  uint32_t seen = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t size = sizes[i] < 0 ? UINT64_MAX : static_cast<uint64_t>(sizes[i]);
    if (dim_order[i] >= sizes.size() || (seen >> dim_order[i] & 1) != 0) return Error::kInvalidArgument;
    seen |= 1u << dim_order[i];
    if (!checked_mul(span, size == 0 ? uint64_t{1} : size, &span) || span > SIZE_MAX / 4) {
      return Error::kInvalidArgument;
    }
    bytes *= size;
  }
  return bytes;
}

// Copies between any two devices, including the host.
Error copy(const Tensor& source, const Tensor& target, const DeviceAllocatorRegistry& registry) {
  const size_t bytes = source.nbytes();
  if (bytes == 0) return Error::kOk;
  if (source.raw() == nullptr) return Error::kInvalidArgument;
  const Device from = source.device();
  const Device to = target.device();
  if (from.is_cpu() && to.is_cpu()) {
    std::memcpy(target.raw(), source.raw(), bytes);
    return Error::kOk;
  }
  DeviceAllocator* const there = registry.get_allocator(to.type);
  if (from.is_cpu()) return there->copy_host_to_device(target.raw(), source.raw(), bytes, to.index);
  DeviceAllocator* const here = registry.get_allocator(from.type);
  if (here == nullptr) return Error::kNotFound;
  if (to.is_cpu()) return here->copy_device_to_host(target.raw(), source.raw(), bytes, from.index);
  if (from.type == to.type) {
    return here->copy_device_to_device(target.raw(), to.index, source.raw(), from.index, bytes);
  }
  BERTH_ASSIGN_OR_RETURN(const HostBuffer between, HostBuffer::make(bytes));
  BERTH_RETURN_IF_ERROR(here->copy_device_to_host(between.bytes().data(), source.raw(), bytes, from.index));
  return there->copy_host_to_device(target.raw(), between.bytes().data(), bytes, to.index);
}

Result<OwnedTensor> clone(const Tensor& source, Device device, const DeviceAllocatorRegistry& registry) {
  if (source.raw() == nullptr && source.nbytes() > 0) return Error::kInvalidArgument;
  BERTH_ASSIGN_OR_RETURN(OwnedTensor target, OwnedTensor::make(source.dtype(), source.sizes(), device,
                                                               source.dim_order(), source.dynamism(), registry));
  BERTH_RETURN_IF_ERROR(copy(source, target.tensor(), registry));
  return target;
}

}  // namespace

Result<OwnedTensor> OwnedTensor::make(DType dtype, Span<const int32_t> sizes, Device device,
                                      Span<const uint8_t> dim_order, ShapeDynamism dynamism,
                                      const DeviceAllocatorRegistry& registry) {
  auto state = std::make_unique<State>();
  state->sizes.assign(sizes.begin(), sizes.end());
  state->strides.resize(sizes.size());
  state->dim_order.assign(dim_order.begin(), dim_order.end());
  for (size_t i = state->dim_order.size(); dim_order.empty() && i < sizes.size(); ++i) {
    state->dim_order.push_back(static_cast<uint8_t>(i));
  }
  BERTH_ASSIGN_OR_RETURN(const size_t bytes, bytes_of(dtype, sizes, state->dim_order));
  void* data = nullptr;
  if (device.is_cpu()) {
    BERTH_ASSIGN_OR_RETURN(state->host, HostBuffer::make(bytes));
    data = state->host.bytes().data();
  } else if (bytes > 0) {
    BERTH_ASSIGN_OR_RETURN(state->memory,
                           DeviceMemoryBuffer::create(bytes, device, DeviceAllocator::kDefaultAlignment, registry));
    data = state->memory.data();
  }
  state->tensor = Tensor(dtype, static_cast<int>(sizes.size()), state->sizes.data(), state->dim_order.data(),
                         state->strides.data(), data, dynamism, device);
  return OwnedTensor(std::move(state));
}

Result<OwnedTensor> clone_to_device(const Tensor& source, Device device, const DeviceAllocatorRegistry& registry) {
  if (device.is_cpu()) return Error::kInvalidArgument;
  return clone(source, device, registry);
}

Result<OwnedTensor> clone_to_host(const Tensor& source, const DeviceAllocatorRegistry& registry) {
  if (source.device().is_cpu()) return Error::kInvalidArgument;
  return clone(source, Device(), registry);
}

Result<OwnedTensor> tensor_from(const void* data, DType dtype, Span<const int32_t> sizes, Device device,
                                const DeviceAllocatorRegistry& registry) {
  if (data == nullptr) return Error::kInvalidArgument;
  BERTH_ASSIGN_OR_RETURN(OwnedTensor target,
                         OwnedTensor::make(dtype, sizes, device, {}, ShapeDynamism::kStatic, registry));
  const size_t bytes = target.tensor().nbytes();
  if (device.is_cpu()) {
    if (bytes > 0) std::memcpy(target.tensor().raw(), data, bytes);
    return target;
  }
  BERTH_RETURN_IF_ERROR(
      registry.get_allocator(device.type)->copy_host_to_device(target.tensor().raw(), data, bytes, device.index));
  return target;
}

}  // namespace berth
