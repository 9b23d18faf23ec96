#include "backends/cuda/device/cuda_stream.h"

#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "backends/cuda/device/cuda_runtime.h"
#include "runtime/log.h"

namespace berth::cuda {
namespace {

// All existing streams, to validate pointers.
struct Live {
  std::mutex mutex;
  std::set<CudaStream*> streams;
};

// Never destroyed: a Method in a static object of the application may end later.
Live& live() {
  static Live& all = *new Live;
  return all;
}

}  // namespace

bool CudaStream::is_live(const DeviceStream* stream) {
  const std::lock_guard<std::mutex> lock(live().mutex);
  return live().streams.count(CudaStream::of(const_cast<DeviceStream*>(stream))) != 0;
}

Result<CudaStream*> CudaStream::create() {
  std::unique_ptr<CudaStream> stream(new (std::nothrow) CudaStream());
  if (stream == nullptr) return Error::kMemoryAllocationFailed;
  if (const Error error = stream->initialize(); error != Error::kOk) return error;
  return stream.release();
}

Error CudaStream::initialize() {
  // Taking and giving back pinned memory may wait for the device.
  const std::lock_guard<std::mutex> lock_of_graphs(graph_lock());
  BERTH_RETURN_IF_ERROR(check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"));
  BERTH_RETURN_IF_ERROR(check(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming), "making an event"));
  BERTH_RETURN_IF_ERROR(check(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming), "making an event"));
  for (cudaEvent_t& event : free_) {
    BERTH_RETURN_IF_ERROR(check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"));
  }
  for (cudaEvent_t& event : arrived_) {
    BERTH_RETURN_IF_ERROR(check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"));
  }
  void* memory = nullptr;
  BERTH_RETURN_IF_ERROR(check(cudaHostAlloc(&memory, kBuffers * kBufferBytes + kArrivalBytes, cudaHostAllocDefault),
                              "taking pinned memory"));
  buffers_ = static_cast<uint8_t*>(memory);
  arrival_buffer_ = buffers_ + kBuffers * kBufferBytes;
  BERTH_RETURN_IF_ERROR(check(cudaHostAlloc(&memory, sizeof *fault_, cudaHostAllocMapped), "taking pinned memory"));
  fault_ = static_cast<uint32_t*>(memory);
  *fault_ = kNoFault;
  BERTH_RETURN_IF_ERROR(check(cudaHostGetDevicePointer(&memory, fault_, 0), "mapping pinned memory"));
  device_fault_ = static_cast<uint32_t*>(memory);
  const std::lock_guard<std::mutex> lock(live().mutex);
  live().streams.insert(this);
  return Error::kOk;
}

CudaStream::~CudaStream() {
  {
    const std::lock_guard<std::mutex> lock(live().mutex);
    live().streams.erase(this);
  }
  if (stream_ != nullptr) {
    const Error done = check(cudaStreamSynchronize(stream_), "waiting for a stream that is destroyed");
    if (done == Error::kOk) arrive(copies_begun_);
    static_cast<void>(check(cudaStreamDestroy(stream_), "destroying a stream"));
  }
  for (cudaEvent_t event : {mark_, end_, free_[0], free_[1]}) {
    if (event != nullptr) static_cast<void>(check(cudaEventDestroy(event), "destroying an event"));
  }
  for (cudaEvent_t event : arrived_) {
    if (event != nullptr) static_cast<void>(check(cudaEventDestroy(event), "destroying an event"));
  }
  const std::lock_guard<std::mutex> lock_of_graphs(graph_lock());
  if (buffers_ != nullptr) static_cast<void>(check(cudaFreeHost(buffers_), "giving back pinned memory"));
  if (fault_ != nullptr) static_cast<void>(check(cudaFreeHost(fault_), "giving back pinned memory"));
}

Error CudaStream::copy_from_host(void* target, const void* source, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto* to = static_cast<uint8_t*>(target);
  const auto* from = static_cast<const uint8_t*>(source);
  while (bytes > 0) {
    const size_t part = bytes < kBufferBytes ? bytes : kBufferBytes;
    const int turn = next_;
    next_ = (next_ + 1) % kBuffers;
    if (in_use_[turn]) BERTH_RETURN_IF_ERROR(check(cudaEventSynchronize(free_[turn]), "waiting for a copy"));
    uint8_t* buffer = buffers_ + turn * kBufferBytes;
    std::memcpy(buffer, from, part);
    BERTH_RETURN_IF_ERROR(
        check(cudaMemcpyAsync(to, buffer, part, cudaMemcpyHostToDevice, stream_), "copying to the device"));
    BERTH_RETURN_IF_ERROR(check(cudaEventRecord(free_[turn], stream_), "marking a copy"));
    in_use_[turn] = true;
    to += part;
    from += part;
    bytes -= part;
  }
  return Error::kOk;
}

Result<uint64_t> CudaStream::begin_copy_to_host(void* target, const void* source, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t begin = under_way_ == 0 ? 0 : arrivals_[under_way_ - 1].begin + arrivals_[under_way_ - 1].bytes;
  if (under_way_ == kArrivals || bytes > kArrivalBytes - begin) {
    BERTH_RETURN_IF_ERROR(
        check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream_), "copying to the host"));
    BERTH_RETURN_IF_ERROR(finish_locked());
    return uint64_t{0};
  }
  BERTH_RETURN_IF_ERROR(check(cudaMemcpyAsync(arrival_buffer_ + begin, source, bytes, cudaMemcpyDeviceToHost, stream_),
                              "copying to the host"));
  BERTH_RETURN_IF_ERROR(check(cudaEventRecord(arrived_[(copies_begun_ + 1) % kArrivals], stream_), "marking a copy"));
  arrivals_[under_way_++] = {++copies_begun_, target, begin, bytes};
  return copies_begun_;
}

// An event that was recorded anew since stands for more work.
Error CudaStream::finish_copy_to_host(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  BERTH_RETURN_IF_ERROR(check(cudaEventSynchronize(arrived_[number % kArrivals]), "waiting for a copy"));
  arrive(number);
  return take_fault();
}

// Those up to this number are in the pinned memory.
void CudaStream::arrive(uint64_t last) {
  int kept = 0;
  for (int i = 0; i < under_way_; ++i) {
    if (arrivals_[i].number > last) {
      arrivals_[kept++] = arrivals_[i];
    } else {
      std::memcpy(arrivals_[i].target, arrival_buffer_ + arrivals_[i].begin, arrivals_[i].bytes);
    }
  }
  under_way_ = kept;
}

Error CudaStream::copy_to_host(void* target, const void* source, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  BERTH_RETURN_IF_ERROR(
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream_), "copying to the host"));
  return finish_locked();
}

Error CudaStream::synchronize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return finish_locked();
}

Error CudaStream::finish_locked() {
  const Error done = check(cudaStreamSynchronize(stream_), "waiting for a stream");
  if (done == Error::kOk) arrive(copies_begun_);
  // What could not be waited for never arrives: its target may be used for something else from now on.
  under_way_ = 0;
  return done == Error::kOk ? take_fault() : done;
}

Error CudaStream::take_fault() {
  // The device wrote this before the work that the host has just waited for.
  const uint32_t fault = *static_cast<volatile uint32_t*>(fault_);
  last_fault_ = static_cast<Fault>(fault);
  if (fault == kNoFault) return Error::kOk;
  *static_cast<volatile uint32_t*>(fault_) = kNoFault;
  log_message(LogLevel::kError, "cuda: a kernel reports: %s", to_string(last_fault_));
  return Error::kInvalidArgument;
}

Error CudaStream::record() {
  BERTH_RETURN_IF_ERROR(check(cudaEventRecord(mark_, stream_), "marking a stream"));
  marked_ = true;
  return Error::kOk;
}

Error CudaStream::let_wait(cudaStream_t stream) {
  if (!marked_) return Error::kOk;
  return check(cudaStreamWaitEvent(stream, mark_, 0), "waiting for another stream");
}

Error CudaStream::let_wait_for_all(cudaStream_t stream) {
  constexpr const char* kWhat = "waiting for other streams";
  const std::lock_guard<std::mutex> lock(live().mutex);
  for (CudaStream* other : live().streams) {
    BERTH_RETURN_IF_ERROR(check(cudaEventRecord(other->end_, other->stream_), kWhat));
    BERTH_RETURN_IF_ERROR(check(cudaStreamWaitEvent(stream, other->end_, 0), kWhat));
  }
  return Error::kOk;
}

}  // namespace berth::cuda
