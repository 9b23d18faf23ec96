#include "backends/cuda/device/cuda_allocator.h"

#include <atomic>
#include <cstdint>
#include <mutex>

#include "backends/cuda/device/cuda_runtime.h"
#include "backends/cuda/device/cuda_stream.h"
#include "runtime/log.h"

namespace berth::cuda {
namespace {

std::atomic<uint64_t> allocations{0};

// The queue of calls without a stream: one for each thread, so that threads do not wait for each other.
cudaStream_t own_queue() { return cudaStreamPerThread; }

Error finish_own_queue(const char* what) { return check(cudaStreamSynchronize(own_queue()), what); }

// Memory of a pool is open to another device only where the pool says so; where there are several, it is plain memory,
// which they copy to and from as they can.
bool has_pools(DeviceIndex index) {
  if (device_count() > 1) return false;
  int supported = 0;
  if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, index) == cudaSuccess) return supported != 0;
  static_cast<void>(cudaGetLastError());
  return false;
}

Error refuse(const char* what) {
  log_message(LogLevel::kError, "cuda: %s", what);
  return Error::kInvalidArgument;
}

// The addresses of a copy, which may be null for 0 bytes.
Error check_ends(const void* target, const void* source) {
  return target == nullptr || source == nullptr ? refuse("a copy from or to a null address") : Error::kOk;
}

Error take(DeviceIndex index, size_t bytes, void** memory) {
  constexpr const char* kWhat = "allocating memory";
  const std::lock_guard<std::mutex> lock(graph_lock());
  if (!has_pools(index)) return check(cudaMalloc(memory, bytes), kWhat);
  BERTH_RETURN_IF_ERROR(check(cudaMallocAsync(memory, bytes, own_queue()), kWhat));
  // Other streams may use it at once.
  const Error error = finish_own_queue(kWhat);
  if (error != Error::kOk) static_cast<void>(cudaFreeAsync(*memory, own_queue()));
  return error;
}

// Memory of a pool goes back when the streams' work so far is done, without a wait. cudaFree waits for the device.
void give_back(DeviceIndex index, void* memory) {
  constexpr const char* kWhat = "giving memory back";
  const std::lock_guard<std::mutex> lock(graph_lock());
  const bool pools = has_pools(index);
  if (!pools || CudaStream::let_wait_for_all(own_queue()) != Error::kOk) {
    static_cast<void>(check(cudaDeviceSynchronize(), kWhat));
  }
  static_cast<void>(check(pools ? cudaFreeAsync(memory, own_queue()) : cudaFree(memory), kWhat));
}

}  // namespace

uint64_t device_allocations() { return allocations.load(std::memory_order_relaxed); }

int CudaAllocator::device_count() const { return cuda::device_count(); }

const char* describe_devices() {
  if (device_count() > 0) {
    static const cudaDeviceProp properties = [] {
      cudaDeviceProp found{};
      static_cast<void>(check(cudaGetDeviceProperties(&found, 0), "asking for a device's name"));
      return found;
    }();
    return properties.name;
  }
  return why_no_device();
}

Result<void*> CudaAllocator::allocate(size_t bytes, DeviceIndex index, size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kAlignment) {
    return refuse("an alignment must be a power of two of at most 256");
  }
  const DeviceGuard guard(index, "allocating memory");
  if (guard.error() != Error::kOk) return guard.error();
  if (bytes > PTRDIFF_MAX) {
    log_message(LogLevel::kError, "cuda: %zu bytes are more than any device has", bytes);
    return Error::kMemoryAllocationFailed;
  }
  void* memory = nullptr;
  const Error error = take(index, bytes == 0 ? 1 : bytes, &memory);
  allocations.fetch_add(1, std::memory_order_relaxed);
  // A number of bytes that the driver rejects is more than the device has.
  if (error == Error::kInvalidArgument) return Error::kMemoryAllocationFailed;
  if (error != Error::kOk) return error;
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    give_back(index, memory);
    log_message(LogLevel::kError, "cuda: the driver's memory is not aligned to %zu", alignment);
    return Error::kInternal;
  }
  return memory;
}

void CudaAllocator::deallocate(void* memory, DeviceIndex index) {
  if (memory == nullptr) return;
  const DeviceGuard guard(index, "giving memory back");
  if (guard.error() == Error::kOk) give_back(index, memory);
}

Error CudaAllocator::copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                                         DeviceStream* stream) {
  const DeviceGuard guard(index, "copying to the device");
  if (guard.error() != Error::kOk || bytes == 0) return guard.error();
  BERTH_RETURN_IF_ERROR(check_ends(target, source));
  if (stream != nullptr) return CudaStream::of(stream)->copy_from_host(target, source, bytes);
  BERTH_RETURN_IF_ERROR(
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, own_queue()), "copying to the device"));
  return finish_own_queue("copying to the device");
}

Error CudaAllocator::copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                         DeviceStream* stream) {
  const DeviceGuard guard(index, "copying to the host");
  if (guard.error() != Error::kOk || bytes == 0) return guard.error();
  BERTH_RETURN_IF_ERROR(check_ends(target, source));
  if (stream != nullptr) return CudaStream::of(stream)->copy_to_host(target, source, bytes);
  BERTH_RETURN_IF_ERROR(
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, own_queue()), "copying to the host"));
  return finish_own_queue("copying to the host");
}

Result<uint64_t> CudaAllocator::begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                                   DeviceStream* stream) {
  if (stream == nullptr || bytes == 0) {
    return DeviceAllocator::begin_copy_to_host(target, source, bytes, index, stream);
  }
  const DeviceGuard guard(index, "copying to the host");
  if (guard.error() != Error::kOk) return guard.error();
  BERTH_RETURN_IF_ERROR(check_ends(target, source));
  return CudaStream::of(stream)->begin_copy_to_host(target, source, bytes);
}

Error CudaAllocator::finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) {
  const DeviceGuard guard(index, "waiting for a copy");
  return guard.error() == Error::kOk ? CudaStream::of(stream)->finish_copy_to_host(number) : guard.error();
}

Error CudaAllocator::copy_device_to_device(void* target, DeviceIndex target_index, const void* source,
                                           DeviceIndex source_index, size_t bytes, DeviceStream* stream) {
  constexpr const char* kWhat = "copying between devices";
  if (source_index < 0 || source_index >= device_count()) return refuse("a copy from a device that is not there");
  const DeviceGuard guard(target_index, kWhat);
  if (guard.error() != Error::kOk || bytes == 0) return guard.error();
  BERTH_RETURN_IF_ERROR(check_ends(target, source));
  const cudaStream_t queue = stream == nullptr ? own_queue() : CudaStream::of(stream)->get();
  const cudaError_t error = source_index == target_index
                                ? cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, queue)
                                : cudaMemcpyPeerAsync(target, target_index, source, source_index, bytes, queue);
  BERTH_RETURN_IF_ERROR(check(error, kWhat));
  return stream == nullptr ? finish_own_queue(kWhat) : Error::kOk;
}

Result<DeviceStream*> CudaAllocator::create_stream(DeviceIndex index) {
  const DeviceGuard guard(index, "making a stream");
  if (guard.error() != Error::kOk) return guard.error();
  BERTH_ASSIGN_OR_RETURN(CudaStream * stream, CudaStream::create());
  return stream->handle();
}

void CudaAllocator::destroy_stream(DeviceStream* stream, DeviceIndex index) {
  if (stream == nullptr) return;
  const DeviceGuard guard(index, "destroying a stream");
  if (guard.error() == Error::kOk) delete CudaStream::of(stream);
}

Error CudaAllocator::synchronize(DeviceStream* stream, DeviceIndex index) {
  const DeviceGuard guard(index, "waiting for a stream");
  if (guard.error() != Error::kOk || stream == nullptr) return guard.error();
  return CudaStream::of(stream)->synchronize();
}

Error CudaAllocator::record(DeviceStream* stream, DeviceIndex index) {
  const DeviceGuard guard(index, "marking a stream");
  if (guard.error() != Error::kOk || stream == nullptr) return guard.error();
  return CudaStream::of(stream)->record();
}

Error CudaAllocator::wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) {
  if (other_index < 0 || other_index >= device_count()) return refuse("a wait for a device that is not there");
  const DeviceGuard guard(index, "waiting for another stream");
  if (guard.error() != Error::kOk || stream == nullptr || other == nullptr) return guard.error();
  return CudaStream::of(other)->let_wait(CudaStream::of(stream)->get());
}

}  // namespace berth::cuda
