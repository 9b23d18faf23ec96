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
  /// The pinned memory of copies to the host that were begun, and how many of them may be under way.
  static constexpr size_t kArrivalBytes = size_t{2} << 20;
  static constexpr int kArrivals = 16;

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
  /// Queues a copy into pinned memory of the stream, from which it goes to `target` when it is waited for. Its number,
  /// or 0 where there is no room for it: it was waited for then.
  Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes);
  /// Waits for this copy, and those before it, and reports a fault of the kernels, once.
  Error finish_copy_to_host(uint64_t number);
  /// Queues a copy to the host and waits for it, as synchronize().
  Error copy_to_host(void* target, const void* source, size_t bytes);
  /// Waits for the stream's work, and reports a fault of its kernels, once. Copies that were begun have arrived.
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
  // A copy to the host that was begun.
  struct Arrival {
    uint64_t number = 0;
    void* target = nullptr;
    size_t begin = 0;  // in arrival_buffer_
    size_t bytes = 0;
  };

  CudaStream() = default;
  Error initialize();
  Error finish_locked();
  void arrive(uint64_t last);
  Error take_fault();

  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool marked_ = false;
  cudaEvent_t end_ = nullptr;   // of what is queued when memory is given back
  uint8_t* buffers_ = nullptr;  // pinned; kBuffers of kBufferBytes
  cudaEvent_t free_[kBuffers] = {};
  bool in_use_[kBuffers] = {};
  int next_ = 0;
  uint8_t* arrival_buffer_ = nullptr;    // pinned; kArrivalBytes
  cudaEvent_t arrived_[kArrivals] = {};  // of copy n: n modulo kArrivals
  Arrival arrivals_[kArrivals];          // under way, in their order
  int under_way_ = 0;
  uint64_t copies_begun_ = 0;
  uint32_t* fault_ = nullptr;  // the host's address
  Fault last_fault_ = kNoFault;
  uint32_t* device_fault_ = nullptr;
};

}  // namespace berth::cuda
