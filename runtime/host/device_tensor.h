// OwnedTensor: a tensor with its memory, on the host or on a device, and copies between them.
//
//     std::vector<float> x = …;
//     Result<OwnedTensor> there = tensor_from(x.data(), DType::kF32, sizes, Device(DeviceType::kCuda, 0));
//     method.set_input(0, there->value());
//     …
//     Result<OwnedTensor> here = clone_to_host(method.get_output(0).tensor());
//
// All copies are complete when these functions return. Work on the source's stream must have finished before
// (Method::execute() waits for it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "runtime/device_memory_buffer.h"
#include "runtime/host/host_buffer.h"
#include "runtime/value.h"

namespace berth {

/// Move-only; frees its memory on destruction. The allocator of its device must outlive it.
class OwnedTensor {
 public:
  /// Uninitialised on a device, zero on the host. Row-major if `dim_order` is empty. A bounded tensor may shrink, and
  /// grow again up to these sizes.
  ///
  /// InvalidArgument for invalid sizes or an invalid dimension order; NotFound for a device without an allocator;
  /// MemoryAllocationFailed; the allocator's errors.
  static Result<OwnedTensor> make(DType dtype, Span<const int32_t> sizes, Device device = Device(),
                                  Span<const uint8_t> dim_order = {}, ShapeDynamism dynamism = ShapeDynamism::kStatic,
                                  const DeviceAllocatorRegistry& registry = DeviceAllocatorRegistry::instance());

  /// Keeps its address when the OwnedTensor is moved.
  Tensor& tensor() { return state_->tensor; }
  const Tensor& tensor() const { return state_->tensor; }
  EValue value() { return EValue(&state_->tensor); }

 private:
  struct State {
    std::vector<int32_t> sizes;
    std::vector<uint8_t> dim_order;
    std::vector<int64_t> strides;
    HostBuffer host;
    DeviceMemoryBuffer memory;
    Tensor tensor;
  };

  explicit OwnedTensor(std::unique_ptr<State> state) : state_(std::move(state)) {}

  std::unique_ptr<State> state_;
};

/// Copies `source`, from the host or from a device, to `device`. Element type, sizes, dimension order and dynamism are
/// the source's. Copies between devices of one type are direct, others go through the host.
///
/// InvalidArgument when `device` is the host, or the source has elements but no memory; errors as OwnedTensor::make,
/// and those of the copies.
Result<OwnedTensor> clone_to_device(const Tensor& source, Device device,
                                    const DeviceAllocatorRegistry& registry = DeviceAllocatorRegistry::instance());

/// The same, to the host. InvalidArgument when the source is on the host already.
Result<OwnedTensor> clone_to_host(const Tensor& source,
                                  const DeviceAllocatorRegistry& registry = DeviceAllocatorRegistry::instance());

/// Copies `data`, the elements of a row-major tensor of these sizes on the host, to a new tensor on `device`, which may
/// be the host. InvalidArgument for null data; errors as OwnedTensor::make, and those of the copy.
Result<OwnedTensor> tensor_from(const void* data, DType dtype, Span<const int32_t> sizes, Device device,
                                const DeviceAllocatorRegistry& registry = DeviceAllocatorRegistry::instance());

}  // namespace berth
