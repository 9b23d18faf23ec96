// The conformance suite of devices with this room's kernels in nested programs, on a machine without a GPU: the
// simulated device's memory, and the kernels as plain C++.
#include "backends/cuda/kernels_test/emulated_backend.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

class Emulated final : public DeviceUnderTest {
 public:
  DeviceType type() override { return DeviceType::kCuda; }
  DeviceAllocator& allocator() override { return sim_; }
  NestedBackend* backend() override { return &backend_; }
  bool checks_bounds() override { return true; }
  int64_t live() override { return static_cast<int64_t>(sim_.live_bytes()); }

 private:
  SimAllocator sim_{{4, uint64_t{1} << 33, true}};
  cuda::EmulatedBackend backend_{&sim_};
};

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(EmulatedCuda, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(new berth::device_tests::Emulated);
})
