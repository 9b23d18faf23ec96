// Delegates on a device: nested programs with their constants, scratch and dynamic sizes.

#include "backends/nested/nested_programs_testing.h"
#include "runtime/host/thread_pool.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

using testing::Calls;
using testing::program_with_delegate;

// relu(x + w), worked out here.
std::vector<float> expected(const std::vector<float>& x) {
  constexpr float kWeight[4] = {-1, 2, -3, 4};
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] + kWeight[i % 4] > 0 ? x[i] + kWeight[i % 4] : 0;
  return y;
}

std::vector<float> numbers(size_t count, float first) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = first + static_cast<float>(i % 7) - 3;
  return x;
}

#define SKIP_WITHOUT_BACKEND() \
  if (device_->backend() == nullptr) GTEST_SKIP() << "this device has no backend"

Calls calls_on(DeviceUnderTest& device, int index, int32_t count, bool bounded = false) {
  return {Device(device.type(), static_cast<DeviceIndex>(index)), device.backend()->name(), count, bounded};
}

TEST_P(DeviceDelegates, ComputeOnTheirDevice) {
  SKIP_WITHOUT_BACKEND();
  for (const DeviceIndex index : indices()) {
    for (const int32_t count : {4, 1000}) {
      LoadedProgram loaded = load_program(program_with_delegate(calls_on(*device_, index, count)), *device_, registry_);
      Result<HostMethod> method = loaded.method();
      ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
      for (const float first : {0.0f, 2.0f, -1.5f}) {
        const std::vector<float> x = numbers(count, first);
        EXPECT_EQ(run_floats(method->method(), x), expected(x));
      }
    }
  }
}

TEST_P(DeviceDelegates, ComputeOnThreads) {
  SKIP_WITHOUT_BACKEND();
  HostThreadPool pool(3);
  LoadedProgram loaded = load_program(program_with_delegate(calls_on(*device_, 0, 100000)), *device_, registry_);
  Result<HostMethod> method = loaded.method("forward", &pool);
  ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
  const std::vector<float> x = numbers(100000, 1);
  EXPECT_EQ(run_floats(method->method(), x), expected(x));
}

TEST_P(DeviceDelegates, TakeInputSizesAndReturnOutputSizes) {
  SKIP_WITHOUT_BACKEND();
  LoadedProgram loaded = load_program(program_with_delegate(calls_on(*device_, 0, 32, true)), *device_, registry_);
  Result<HostMethod> method = loaded.method();
  ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
  for (const int32_t rows : {8, 1, 5, 8}) {
    const std::vector<float> x = numbers(4 * rows, 1);
    EXPECT_EQ(run_floats(method->method(), x, rows), expected(x));
    EXPECT_EQ(method->method().get_output(0).tensor().size(0), rows);
  }
}

TEST_P(DeviceDelegates, ShareTheirConstants) {
  SKIP_WITHOUT_BACKEND();
  const NestedBackend* backend = device_->backend();
  format::ProgramDesc desc = program_with_delegate(calls_on(*device_, 0, 64));
  // A second method with a delegate of its own, for the same constant.
  desc.methods.push_back(desc.methods[0]);
  desc.methods[1].name = "again";
  LoadedProgram loaded = load_program(desc, *device_, registry_);
  {
    Result<HostMethod> a = loaded.method();
    ASSERT_TRUE(a.ok()) << loaded.report.place << ": " << loaded.report.message;
    EXPECT_EQ(backend->constants().blobs(), 1u);
    Result<HostMethod> b = loaded.method("again");
    Result<HostMethod> c = loaded.method("again");
    ASSERT_TRUE(b.ok() && c.ok());
    EXPECT_EQ(backend->constants().blobs(), 1u);
    EXPECT_EQ(backend->constants().bytes(), 256u);
    const std::vector<float> x = numbers(64, 1);
    EXPECT_EQ(run_floats(b->method(), x), expected(x));
  }
  EXPECT_EQ(backend->constants().blobs(), 0u);
}

TEST_P(DeviceDelegates, OnSeveralDevicesHaveAConstantOnEach) {
  SKIP_WITHOUT_BACKEND();
  if (indices().size() < 2) GTEST_SKIP() << "there is one device";
  const NestedBackend* backend = device_->backend();
  LoadedProgram first = load_program(program_with_delegate(calls_on(*device_, 0, 8)), *device_, registry_);
  LoadedProgram second = load_program(program_with_delegate(calls_on(*device_, 1, 8)), *device_, registry_);
  Result<HostMethod> a = first.method();
  Result<HostMethod> b = second.method();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(backend->constants().blobs(), 2u);
}

// Holds row 253.
TEST_P(DeviceDelegates, RefuseTensorsOfAnotherDevice) {
  SKIP_WITHOUT_BACKEND();
  format::ProgramDesc desc = program_with_delegate(calls_on(*device_, 0, 4));
  // The call reads x on the host instead of its copy.
  std::get<format::DelegateCallDesc>(desc.methods[0].instructions[1]).args[0] = 0;
  LoadedProgram loaded = load_program(desc, *device_, registry_);
  EXPECT_EQ(loaded.method().error(), Error::kInvalidProgram);
  EXPECT_NE(std::string(loaded.report.message).find("argument 0 does not match input 0: it is on another device"),
            std::string::npos)
      << loaded.report.message;
}

// Holds row 245.
TEST_P(DeviceDelegates, RefuseAPayloadOfAnotherVersion) {
  SKIP_WITHOUT_BACKEND();
  const Calls calls = calls_on(*device_, 0, 4);
  format::ProgramDesc desc = program_with_delegate(calls);
  std::vector<uint8_t> payload = testing::payload_of(testing::nested_add_relu());
  payload[8] = static_cast<uint8_t>(format::kNestedPortInScratchVersion + 1);
  desc.payloads[0] = format::Bytes::of(payload);
  LoadedProgram loaded = load_program(desc, *device_, registry_);
  EXPECT_EQ(loaded.method().error(), Error::kDelegateInvalidCompatibility);
}

}  // namespace
}  // namespace berth::device_tests
