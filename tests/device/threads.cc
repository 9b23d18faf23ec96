// Two methods of one program on two threads: no unguarded shared state (run under ThreadSanitizer).

#include <thread>

#include "backends/nested/nested_programs_testing.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

TEST_P(DeviceThreads, AllocateAndCopyAtOnce) {
  const auto work = [&](uint32_t seed) {
    for (uint32_t i = 0; i < 50; ++i) {
      const Piece piece(allocator(), 1024 + i);
      const std::vector<uint8_t> bytes = pattern(1024 + i, seed + i);
      EXPECT_EQ(allocator().copy_host_to_device(piece.get(), bytes.data(), bytes.size(), 0), Error::kOk);
      EXPECT_EQ(read(piece.get(), bytes.size()), bytes);
    }
  };
  std::thread other(work, 1000);
  work(2000);
  other.join();
}

TEST_P(DeviceThreads, TwoMethodsOfOneProgram) {
  if (device_->backend() == nullptr) GTEST_SKIP() << "this device has no backend";
  const testing::Calls calls = {device(), device_->backend()->name(), 256, false};
  LoadedProgram loaded = load_program(testing::program_with_delegate(calls), *device_, registry_);
  ASSERT_NE(loaded.program, nullptr);
  const auto work = [&](float value) {
    // Loaded here: delegates and constants are made and given back on both threads too.
    for (int load = 0; load < 4; ++load) {
      Result<HostMethod> method = HostMethod::load(*loaded.program, "forward");
      ASSERT_TRUE(method.ok());
      for (int run = 0; run < 8; ++run) {
        const std::vector<float> y = run_floats(method->method(), std::vector<float>(256, value));
        ASSERT_EQ(y.size(), 256u);
        // w is -1, 2, -3, 4, …
        ASSERT_EQ(y[0], value - 1);
        ASSERT_EQ(y[255], value + 4);
      }
    }
  };
  std::thread other(work, 10.0f);
  work(20.0f);
  other.join();
}

}  // namespace
}  // namespace berth::device_tests
