#include "backends/cuda/device/cuda_runtime.h"

#include "runtime/log.h"

namespace berth::cuda {

Error report_error(cudaError_t error, const char* what) {
  log_message(LogLevel::kError, "cuda: %s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
  static_cast<void>(cudaGetLastError());
  switch (error) {
    case cudaErrorMemoryAllocation: return Error::kMemoryAllocationFailed;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidMemcpyDirection: return Error::kInvalidArgument;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver: return Error::kNotFound;
    default: return Error::kInternal;
  }
}

int device_count() {
  static const int count = [] {
    int found = 0;
    if (cudaGetDeviceCount(&found) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return 0;
    }
    // What an index can say.
    return found > 127 ? 127 : found;
  }();
  return count;
}

DeviceGuard::DeviceGuard(DeviceIndex index, const char* what) {
  if (index < 0 || index >= device_count()) {
    log_message(LogLevel::kError, "cuda: %s: device %d is not there, the machine has %d", what, static_cast<int>(index),
                device_count());
    error_ = Error::kInvalidArgument;
    return;
  }
  int current = -1;
  error_ = check(cudaGetDevice(&current), what);
  if (error_ != Error::kOk || current == index) return;
  error_ = check(cudaSetDevice(index), what);
  if (error_ == Error::kOk) previous_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (previous_ >= 0) static_cast<void>(check(cudaSetDevice(previous_), "restoring the current device"));
}

}  // namespace berth::cuda
