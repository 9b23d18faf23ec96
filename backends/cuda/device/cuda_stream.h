// CudaStream: a DeviceStream of the CudaAllocator. Private to this folder.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backends/cuda/queue.h"
#include "base/result.h"
#include "runtime/device_allocator.h"

namespace berth::cuda {

/// Created and destroyed with its device current. Used by one thread at a time, like a Method; a lock makes copies from
/// several threads safe nevertheless, but while a delegate is recorded.
class CudaStream {
 public:
  /// The size of a pinned buffer; kBuffers of them are used in turn.
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static constexpr int kBuffers = 2;

  static Result<CudaStream*> create();
  /// Waits for the stream's work.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Whether `stream` is an existing CudaStream.
  static bool is_live(const DeviceStream* stream);

  static CudaStream* of(DeviceStream* stream) { return reinterpret_cast<CudaStream*>(stream); }
  DeviceStream* handle() { return reinterpret_cast<DeviceStream*>(this); }

  cudaStream_t get() const { return stream_; }
  /// The device address of the word in which kernels report errors.
  uint32_t* fault() const { return device_fault_; }

  /// Queues a copy through the pinned buffers. `source` may be reused on return.
  Error copy_from_host(void* target, const void* source, size_t bytes);
  /// Waits for the stream's work, and reports a fault of its kernels, once.
  Error synchronize();
  /// The fault of the latest synchronize(); kNoFault when there was none.
  Fault last_fault() const { return last_fault_; }
  Error record();
  /// Work queued in `stream` from now on starts after the latest record() of this stream.
  Error let_wait(cudaStream_t stream);
  /// Work queued in `stream` from now on starts after all that is in any CudaStream. REQUIRES: graph_lock() is held, so
  /// that no stream is being recorded.
  static Error let_wait_for_all(cudaStream_t stream);

 private:
  CudaStream() = default;
  Error initialize();

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool marked_ = false;
  cudaEvent_t end_ = nullptr;   // of what is queued when memory is given back
  uint8_t* buffers_ = nullptr;  // pinned; kBuffers of kBufferBytes
  cudaEvent_t free_[kBuffers] = {};
  bool in_use_[kBuffers] = {};
  int next_ = 0;
  uint32_t* fault_ = nullptr;  // the host's address
  Fault last_fault_ = kNoFault;
  uint32_t* device_fault_ = nullptr;
};

}  // namespace berth::cuda
