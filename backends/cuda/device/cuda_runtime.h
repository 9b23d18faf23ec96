// Helpers for calls of the CUDA runtime: the current device, and errors. Private to this folder.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>

#include "base/device.h"
#include "base/error.h"

namespace berth::cuda {

/// Logs "cuda: `what`: `the runtime's words`", and gives the code that says it best. A passing error of the thread is
/// cleared; one that makes the process's device useless (an illegal address) comes again with every call.
Error report_error(cudaError_t error, const char* what);

/// kOk where there is nothing to report.
inline Error check(cudaError_t error, const char* what) {
  return error == cudaSuccess ? Error::kOk : report_error(error, what);
}

/// The number of GPUs, determined once; 0 without a driver.
int device_count();

/// Why device_count() is 0: there is no driver, it is too old for this build, there is no GPU. Static.
const char* why_no_device();

/// Held by a thread that records, instantiates or destroys a graph, and by one that waits for a whole device, takes or
/// gives back memory, or makes or destroys a library's handle, which waits too: the driver (580.159) crashes in
/// cuCtxSynchronize while another thread is in cuGraphInstantiate.
std::mutex& graph_lock();

/// Makes device `index` the thread's current device, and restores the previous one on destruction.
class DeviceGuard {
 public:
  /// `what` is static, for the log.
  DeviceGuard(DeviceIndex index, const char* what);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  /// InvalidArgument for an index out of range; the device must not be used then.
  Error error() const { return error_; }

 private:
  Error error_ = Error::kOk;
  int previous_ = -1;  // -1: it was the same
};

}  // namespace berth::cuda
