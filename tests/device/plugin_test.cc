// The memory of a plug-in's device (examples/plugin) passes the suite through the C interface. Its backend runs
// payloads of its own, not nested programs: tests/plugin/plugin_test.cc.

#include "runtime/host/plugin_devices.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

const Plugin* npu() {
  static const Plugin* const plugin = Plugin::open(BERTH_EXAMPLE_NPU).value();
  return plugin;
}

class Npu final : public DeviceUnderTest {
 public:
  DeviceType type() override { return allocator().device_type(); }
  DeviceAllocator& allocator() override { return *devices_.allocators().at(0); }

 private:
  const Plugin* const plugins_[1] = {npu()};
  PluginDevices devices_{plugins_};
};

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(Plugin, [] { return std::unique_ptr<DeviceUnderTest>(new Npu); });
