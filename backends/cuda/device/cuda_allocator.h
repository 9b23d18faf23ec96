// CudaAllocator: the DeviceAllocator of NVIDIA GPUs, "cuda:0", "cuda:1", … in the order of the CUDA runtime.
//
//     CudaAllocator cuda;
//     DeviceAllocatorRegistry registry;
//     if (cuda.device_count() > 0) registry.register_allocator(&cuda);
//
// Without a GPU or a driver, device_count() is 0 and everything else returns InvalidArgument. It has no state, so
// several may exist for the same devices.
//
//   allocate      from the device's memory pool where the driver has one (cudaMallocAsync) and the GPU is the only one,
//                 ready on return; addresses are multiples of 256, the largest supported alignment
//   deallocate    after the work that is in the allocator's streams; the host does not wait where there are pools, and
//                 for all work on the device where there are none
//   copies        with a stream, host memory goes through pinned buffers of the stream, so that it can be reused on
//                 return while the copy is still in progress; without one, everything is complete on return.
//                 Between devices without a peer connection the driver goes through the host
//   streams       do not wait for the CUDA runtime's default stream. synchronize() and copies to the host also report
//                 errors that kernels found in elements that they read (backends/cuda/queue.h): InvalidArgument, once
//
// Every call restores the calling thread's current device. Failures are logged.
#pragma once

#include "runtime/device_allocator.h"

namespace berth::cuda {

class CudaAllocator final : public DeviceAllocator {
 public:
  /// The alignment of every allocation, and the largest that can be requested.
  static constexpr size_t kAlignment = 256;

  DeviceType device_type() const override { return DeviceType::kCuda; }
  int device_count() const override;

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment = kDefaultAlignment) override;
  void deallocate(void* memory, DeviceIndex index) override;

  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream = nullptr) override;
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream = nullptr) override;
  Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                      DeviceStream* stream) override;
  Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) override;
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream = nullptr) override;

  Result<DeviceStream*> create_stream(DeviceIndex index) override;
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override;
  Error synchronize(DeviceStream* stream, DeviceIndex index) override;
  Error record(DeviceStream* stream, DeviceIndex index) override;
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override;
};

/// How often this room has taken memory of devices so far.
uint64_t device_allocations();

/// The name of GPU 0, or why there is none: "no CUDA driver", "no GPU", "the driver supports CUDA 12.4 and this build
/// needs 13.0". Static.
const char* describe_devices();

}  // namespace berth::cuda
