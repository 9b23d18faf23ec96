// The simulated device: the conformance suite under its own type and as a stand-in for GPUs, with and without streams.

#include "backends/sim/sim_backend.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

class Sim final : public DeviceUnderTest {
 public:
  explicit Sim(DeviceType type, const char* name, bool streams)
      : type_(type), sim_({4, uint64_t{1} << 33, streams}), backend_(name, type, &sim_) {}
  ~Sim() override {
    EXPECT_EQ(sim_.live_streams(), 0u);
    EXPECT_EQ(sim_.bad_deallocations(), 0u);
  }

  DeviceType type() override { return type_; }
  DeviceAllocator& allocator() override { return sim_; }
  NestedBackend* backend() override { return &backend_; }
  size_t max_alignment() override { return size_t{1} << 21; }
  bool checks_bounds() override { return true; }
  int64_t live() override { return static_cast<int64_t>(sim_.live_bytes()); }

 private:
  const DeviceType type_;
  SimAllocator sim_;
  SimBackend backend_;
};

std::unique_ptr<DeviceUnderTest> make_sim() { return std::make_unique<Sim>(DeviceType::kSim, "berth.sim", true); }
std::unique_ptr<DeviceUnderTest> make_sim_without_streams() {
  return std::make_unique<Sim>(DeviceType::kSim, "berth.sim", false);
}
std::unique_ptr<DeviceUnderTest> make_stand_in() {
  return std::make_unique<Sim>(DeviceType::kCuda, "berth.cuda", true);
}

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(Sim, make_sim)
BERTH_DEVICE_CONFORMANCE(SimWithoutStreams, make_sim_without_streams)
BERTH_DEVICE_CONFORMANCE(SimAsCuda, make_stand_in)
