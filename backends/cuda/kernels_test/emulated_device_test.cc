// The conformance suite of devices with this room's kernels in nested programs, on a machine without a GPU: the
// simulated device's memory, and the kernels as plain C++.
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/queue.h"
#include "backends/sim/sim_allocator.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

class EmulatedBackend final : public NestedBackend {
 public:
  explicit EmulatedBackend(const SimAllocator* allocator)
      : NestedBackend("berth.cuda", cuda::kernels()), allocator_(allocator) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCuda; }

 protected:
  // As on a GPU: nothing of the host may look at the device's elements.
  bool host_kernels() const override { return false; }
  Error reach(const DeviceUse& use, void* address, size_t bytes, void** reached) const override {
    *reached = allocator_->alias(address, bytes, use.device.index);
    return *reached == nullptr ? Error::kInvalidArgument : Error::kOk;
  }
  Result<void*> open(const DelegateSource&, const DelegateLoad&, format::Report*) override {
    return static_cast<void*>(new cuda::Queue());
  }
  void close(void* session) override { delete static_cast<cuda::Queue*>(session); }

 private:
  const SimAllocator* allocator_;
};

class Emulated final : public DeviceUnderTest {
 public:
  DeviceType type() override { return DeviceType::kCuda; }
  DeviceAllocator& allocator() override { return sim_; }
  NestedBackend* backend() override { return &backend_; }
  bool checks_bounds() override { return true; }
  int64_t live() override { return static_cast<int64_t>(sim_.live_bytes()); }

 private:
  SimAllocator sim_{{4, uint64_t{1} << 33, true}};
  EmulatedBackend backend_{&sim_};
};

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(EmulatedCuda, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(new berth::device_tests::Emulated);
})
