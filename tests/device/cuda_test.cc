// NVIDIA GPUs: the conformance suite, where there is one.
#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

class Cuda final : public DeviceUnderTest {
 public:
  const char* skip_reason() override { return allocator_.device_count() > 0 ? nullptr : cuda::describe_devices(); }
  DeviceType type() override { return DeviceType::kCuda; }
  DeviceAllocator& allocator() override { return allocator_; }
  NestedBackend* backend() override { return &backend_; }

 private:
  cuda::CudaAllocator allocator_;
  cuda::CudaBackend backend_;
};

}  // namespace
}  // namespace berth::device_tests

// Holds row 78.
BERTH_DEVICE_CONFORMANCE(Cuda, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(new berth::device_tests::Cuda);
})
