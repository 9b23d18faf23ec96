// CudaStream: what a DeviceStream of the CudaAllocator is. For this folder alone.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/result.h"
#include "runtime/device_allocator.h"

namespace berth::cuda {

/// Made and destroyed with its device current. Used by one thread at a time, as a Method is; the lock is for those who
/// copy through it from several nevertheless.
class CudaStream {
 public:
  /// Bytes that go through one pinned buffer at a time; there are kBuffers of them, taken in turn.
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static constexpr int kBuffers = 2;

  static Result<CudaStream*> create();
  /// Waits for the stream's work.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Whether `stream` is one of those that there are now.
  static bool is_live(const DeviceStream* stream);

  static CudaStream* of(DeviceStream* stream) { return reinterpret_cast<CudaStream*>(stream); }
  DeviceStream* handle() { return reinterpret_cast<DeviceStream*>(this); }

  cudaStream_t get() const { return stream_; }
  /// The device's address of the word in which kernels say what they found wrong.
  uint32_t* fault() const { return device_fault_; }

  /// Queues a copy through the pinned buffers. `source` is free on return.
  Error copy_from_host(void* target, const void* source, size_t bytes);
  /// Waits for the stream's work, and reports a fault of its kernels, once.
  Error synchronize();
  Error record();
  /// What is queued in `stream` from now on starts after the last record() of this one.
  Error let_wait(cudaStream_t stream);

 private:
  CudaStream() = default;
  Error initialize();

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool marked_ = false;
  uint8_t* buffers_ = nullptr;  // pinned; kBuffers of kBufferBytes
  cudaEvent_t free_[kBuffers] = {};
  bool in_use_[kBuffers] = {};
  int next_ = 0;
  uint32_t* fault_ = nullptr;  // the host's address
  uint32_t* device_fault_ = nullptr;
};

}  // namespace berth::cuda
