// The device of examples/device passes the suite, and its program runs.

#include "backends/nested/nested_programs_testing.h"
#include "examples/device/toy_device.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

class Toy final : public DeviceUnderTest {
 public:
  DeviceType type() override { return allocator_->device_type(); }
  DeviceAllocator& allocator() override { return *allocator_; }
  NestedBackend* backend() override { return &backend_; }
  bool checks_bounds() override { return false; }
  int64_t live() override { return static_cast<int64_t>(allocator_->blocks()); }

 private:
  // Not on the stack: it is as large as the device's memory.
  std::unique_ptr<toy::ToyAllocator> allocator_ = std::make_unique<toy::ToyAllocator>();
  toy::ToyBackend backend_{allocator_.get()};
};

std::unique_ptr<DeviceUnderTest> make_toy() { return std::make_unique<Toy>(); }

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(Toy, make_toy)
