// What has a Vulkan driver: the conformance suite, with Khronos' validation layers, which must have nothing to say.
// BERTH_VULKAN_TEST=staged copies as to a card with memory of its own; =pair opens each device twice.

#include <cstdlib>
#include <string>

#include "backends/vulkan/vulkan_allocator.h"
#include "backends/vulkan/vulkan_backend.h"
#include "runtime/log.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

vulkan::VulkanOptions options() {
  const char* const variant = std::getenv("BERTH_VULKAN_TEST");
  vulkan::VulkanOptions made;
  made.validation = true;
  if (variant != nullptr && std::string(variant) == "staged") made.staged = true;
  if (variant != nullptr && std::string(variant) == "pair") made.times = 2;
  return made;
}

void print(void*, LogLevel level, const char* text) {
  if (level == LogLevel::kError) std::fprintf(stderr, "%s\n", text);
}

// Opened once, as a device with validation takes a tenth of a second; and closed before the layers' own objects end.
class Opened final : public ::testing::Environment {
 public:
  static vulkan::VulkanAllocator& device() {
    if (opened() == nullptr) opened() = std::make_unique<vulkan::VulkanAllocator>(options());
    return *opened();
  }
  void TearDown() override { opened().reset(); }

 private:
  static std::unique_ptr<vulkan::VulkanAllocator>& opened() {
    static std::unique_ptr<vulkan::VulkanAllocator> one;
    return one;
  }
};

[[maybe_unused]] const ::testing::Environment* const kOpened = ::testing::AddGlobalTestEnvironment(new Opened);

class Vulkan final : public DeviceUnderTest {
 public:
  ~Vulkan() override {
    EXPECT_EQ(device().messages(), before_) << "the validation layers have something to say";
    EXPECT_EQ(device().live_streams(), 0u) << "a stream leaked";
  }
  const char* skip_reason() override {
    set_log(print, nullptr);
    static const std::string reason = device().describe();
    return device().device_count() > 0 ? nullptr : reason.c_str();
  }
  DeviceType type() override { return DeviceType::kVulkan; }
  DeviceAllocator& allocator() override { return device(); }
  NestedBackend* backend() override { return &backend_; }
  bool checks_bounds() override { return true; }
  int64_t live() override { return static_cast<int64_t>(device().live_blocks()); }

 private:
  static vulkan::VulkanAllocator& device() { return Opened::device(); }

  vulkan::VulkanBackend backend_{&device()};
  const uint64_t before_ = device().messages();
};

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(Vulkan, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(new berth::device_tests::Vulkan);
})
