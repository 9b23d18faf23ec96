#include "backends/cuda/device/cuda_runtime.h"

#include <string>

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

namespace {

struct Devices {
  int count = 0;
  cudaError_t error = cudaSuccess;
};

const Devices& devices() {
  static const Devices found = [] {
    Devices devices;
    devices.error = cudaGetDeviceCount(&devices.count);
    if (devices.error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      devices.count = 0;
    }
    // What an index can say.
    if (devices.count > 127) devices.count = 127;
    return devices;
  }();
  return found;
}

// A version as CUDA writes it: 13000 is 13.0.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string absence_text() {
  int driver = 0;
  const bool has_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
  if (!has_driver) return "no CUDA driver";
  if (devices().error == cudaErrorInsufficientDriver) {
    return "the driver supports CUDA " + version_text(driver) + " and this build needs " + version_text(CUDART_VERSION);
  }
  if (devices().error != cudaSuccess && devices().error != cudaErrorNoDevice)
    return cudaGetErrorString(devices().error);
  return "no GPU";
}

}  // namespace

int device_count() { return devices().count; }

const char* why_no_device() {
  static const std::string text = absence_text();
  return text.c_str();
}

std::mutex& graph_lock() {
  // Never destroyed: a Method in a static object of the application may end later.
  static std::mutex& lock = *new std::mutex;
  return lock;
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
