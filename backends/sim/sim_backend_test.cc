// Whole programs on the simulated device. The fears: a copy too many, a device's allocator that is another one than the
// backend's, memory that is lost when something fails half way.

#include "backends/sim/sim_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "backends/nested/nested_programs_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/device_tensor.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

using format::ProgramDesc;
using testing::program_on_two_devices;
using testing::program_with_delegate;

// A file with what it needs to run, on a device that the test looks into.
class Machine {
 public:
  explicit Machine(const ProgramDesc& desc, DeviceType type = DeviceType::kSim, const char* name = "berth.sim")
      : backend_(name, type, &sim), file_(format::testing::bytes_of(desc)), loader_(Span<const uint8_t>(file_)) {
    registry_.register_allocator(type, &sim);
  }

  /// Loads and runs all of it, x = 0, 0, 4, 0; the error of whatever fails first. A run that fails is followed, with
  /// `again`, by one that must not.
  Error run(std::vector<float>* y, bool again = false) {
    Backend* const backends[] = {&backend_};
    LoadOptions options;
    options.registry = &registry_;
    options.backends = backends;
    options.report = &report;
    const Result<Program> program = Program::load(loader_, portable::kernels(), options);
    if (!program.ok()) return program.error();
    HostOptions host;
    host.report = &report;
    Result<HostMethod> method = HostMethod::load(*program, "forward", host);
    if (!method.ok()) return method.error();
    after_load = sim.counts();
    const Error error = execute(method->method(), y);
    if (error == Error::kOk || !again) return error;
    const Error second = execute(method->method(), y);
    EXPECT_EQ(second, Error::kOk) << method->method().last_report().message;
    return error;
  }

  bool is_clean() const {
    return sim.live_bytes() == 0 && sim.live_streams() == 0 && sim.bad_deallocations() == 0 &&
           backend_.constants().blobs() == 0;
  }

  SimAllocator sim;
  Report report;
  SimCounts after_load;

 private:
  Error execute(Method& method, std::vector<float>* y) {
    const float x[4] = {0, 0, 4, 0};
    BERTH_RETURN_IF_ERROR(method.set_input(0, x, std::vector<int32_t>{4}, DType::kF32));
    const Error error = method.execute();
    report = method.last_report();
    if (error != Error::kOk) return error;
    const Tensor& out = method.get_output(0).tensor();
    y->resize(4);
    if (!out.device().is_cpu()) {
      return sim.copy_device_to_host(y->data(), out.raw(), 16, out.device().index, nullptr);
    }
    std::copy(out.data<float>(), out.data<float>() + 4, y->begin());
    return error;
  }

  SimBackend backend_;
  DeviceAllocatorRegistry registry_;
  std::vector<uint8_t> file_;
  BufferLoader loader_;
};

const Device kSim0(DeviceType::kSim, 0);
const Device kSim1(DeviceType::kSim, 1);
// relu(x + w), and the same again.
const std::vector<float> kOnce = {0, 2, 1, 4};
const std::vector<float> kTwice = {0, 4, 0, 8};

// Holds row 54.
TEST(SimBackend, HostProgramsTakeNothingFromADevice) {
  ProgramDesc desc = format::testing::add_relu();
  Machine machine(desc);
  std::vector<float> y;
  ASSERT_EQ(machine.run(&y), Error::kOk) << machine.report.message;
  EXPECT_EQ(machine.sim.calls(SimCall::kAllocate), 0u);
  EXPECT_EQ(machine.sim.calls(SimCall::kCopy), 0u);
  EXPECT_EQ(machine.sim.calls(SimCall::kCreateStream), 0u);
}

// Holds row 58. One arena and one constant are taken, at load; all of it goes back when the method does.
TEST(SimBackend, TheArenaIsTakenOnceAndFreedOnce) {
  Machine machine(program_with_delegate());
  std::vector<float> y;
  ASSERT_EQ(machine.run(&y), Error::kOk) << machine.report.place << ": " << machine.report.message;
  EXPECT_EQ(y, kOnce);
  EXPECT_EQ(machine.sim.counts(0).allocations, 2u);
  EXPECT_EQ(machine.sim.counts(0).deallocations, 2u);
  EXPECT_EQ(machine.sim.counts(1).allocations, 0u);
  EXPECT_TRUE(machine.is_clean());
}

// Values that cross: x goes in, the intermediate result from one device to the other, y comes out. Nothing else moves
// while the program runs.
TEST(SimBackend, CopiesOnlyValuesThatCross) {
  Machine machine(program_on_two_devices(kSim0, kSim1, "berth.sim"));
  std::vector<float> y;
  ASSERT_EQ(machine.run(&y), Error::kOk) << machine.report.place << ": " << machine.report.message;
  EXPECT_EQ(y, kTwice);
  // The constant, once to each device.
  EXPECT_EQ(machine.after_load.host_to_device.count, 2u);
  EXPECT_EQ(machine.after_load.host_to_device.bytes, 32u);
  EXPECT_EQ(machine.after_load.device_to_device.count, 0u);
  const SimCounts all = machine.sim.counts();
  EXPECT_EQ(all.host_to_device.count, 3u);
  EXPECT_EQ(all.host_to_device.bytes, 48u);
  EXPECT_EQ(all.device_to_device.count, 1u);
  EXPECT_EQ(all.device_to_device.bytes, 16u);
  EXPECT_EQ(all.device_to_host.count, 1u);
  EXPECT_EQ(all.device_to_host.bytes, 16u);
  EXPECT_EQ(machine.sim.counts(1).device_to_device.count, 1u);
}

TEST(SimBackend, StandsInForAGpu) {
  Machine machine(program_on_two_devices(Device(DeviceType::kCuda, 0), Device(DeviceType::kCuda, 3), "berth.cuda"),
                  DeviceType::kCuda, "berth.cuda");
  std::vector<float> y;
  ASSERT_EQ(machine.run(&y), Error::kOk) << machine.report.place << ": " << machine.report.message;
  EXPECT_EQ(y, kTwice);
  EXPECT_GT(machine.sim.counts(3).allocations, 0u);
}

TEST(SimBackend, AnotherAllocatorsDeviceIsRefused) {
  SimAllocator registered, other;
  SimBackend backend(&other);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&registered), Error::kOk);
  const std::vector<uint8_t> file = format::testing::bytes_of(program_with_delegate());
  const BufferLoader loader{Span<const uint8_t>(file)};
  Backend* const backends[] = {&backend};
  Report report;
  LoadOptions options;
  options.registry = &registry;
  options.backends = backends;
  const Result<Program> program = Program::load(loader, portable::kernels(), options);
  HostOptions host;
  host.report = &report;
  EXPECT_FALSE(HostMethod::load(*program, "forward", host).ok());
  EXPECT_EQ(registered.live_bytes(), 0u);
}

// x and y are the caller's, on the device: the delegate reads and writes them where they lie.
TEST(SimBackend, TheCallersDeviceTensorsAreNotCopied) {
  ProgramDesc desc = program_with_delegate();
  format::MethodDesc& method = desc.methods[0];
  method.inputs = {1};
  method.outputs = {2};
  for (const size_t value : {1, 2}) std::get<format::TensorDesc>(method.values[value]).planned.reset();
  method.instructions = {method.instructions[1]};
  SimAllocator sim;
  SimBackend backend(&sim);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&sim), Error::kOk);
  const std::vector<uint8_t> file = format::testing::bytes_of(desc);
  const BufferLoader loader{Span<const uint8_t>(file)};
  Backend* const backends[] = {&backend};
  LoadOptions options;
  options.registry = &registry;
  options.backends = backends;
  const Result<Program> program = Program::load(loader, portable::kernels(), options);
  ASSERT_TRUE(program.ok());
  Report report;
  HostOptions host;
  host.report = &report;
  Result<HostMethod> loaded = HostMethod::load(*program, "forward", host);
  ASSERT_TRUE(loaded.ok()) << report.place << ": " << report.message;

  const float values[4] = {0, 0, 4, 0};
  const std::vector<int32_t> sizes = {4};
  Result<OwnedTensor> x = tensor_from(values, DType::kF32, sizes, kSim0, registry);
  Result<OwnedTensor> y = OwnedTensor::make(DType::kF32, sizes, kSim0, {}, ShapeDynamism::kStatic, registry);
  ASSERT_TRUE(x.ok() && y.ok());
  sim.reset_counts();
  ASSERT_EQ(loaded->method().set_input(0, x->value()), Error::kOk) << loaded->method().last_report().message;
  ASSERT_EQ(loaded->method().set_output_data_ptr(0, y->tensor().raw(), 16, kSim0), Error::kOk);
  ASSERT_EQ(loaded->method().execute(), Error::kOk) << loaded->method().last_report().message;
  EXPECT_EQ(sim.counts().host_to_device.count + sim.counts().device_to_device.count, 0u);
  EXPECT_EQ(sim.counts().device_to_host.count, 0u);
  EXPECT_EQ(sim.counts().allocations, 0u);
  EXPECT_EQ(loaded->method().get_output(0).tensor().raw(), y->tensor().raw());
  Result<OwnedTensor> here = clone_to_host(y->tensor(), registry);
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(std::vector<float>(here->tensor().data<float>(), here->tensor().data<float>() + 4), kOnce);

  // Memory that is not the device's is found out before a kernel follows it.
  ASSERT_EQ(loaded->method().set_input(0, values, sizes, DType::kF32, kSim0), Error::kOk);
  EXPECT_EQ(loaded->method().execute(), Error::kInvalidArgument);
}

struct Failure {
  SimCall call;
  Error error;
  // Whether y stays on the second device: then execute() waits for its stream.
  bool stays = false;
};

class SimBackendFailureTest : public ::testing::TestWithParam<Failure> {};

// The n-th allocation (copy, stream, …) fails, for each n until there are no more: an error with a sentence, nothing
// lost, the same method runs afterwards if it was loaded, and a later load works.
TEST_P(SimBackendFailureTest, NothingLeaks) {
  const Failure failure = GetParam();
  ProgramDesc desc = program_on_two_devices(kSim0, kSim1, "berth.sim");
  if (failure.stays) {
    desc.methods[0].outputs = {5};
    desc.methods[0].instructions.pop_back();
  }
  Machine machine(desc);
  std::vector<float> y;
  uint64_t n = 1;
  for (;; ++n) {
    ASSERT_LT(n, 100u);
    SCOPED_TRACE(n);
    const uint64_t before = machine.sim.calls(failure.call);
    machine.sim.fail(failure.call, n, failure.error);
    machine.report = Report();
    const Error error = machine.run(&y, true);
    if (machine.sim.calls(failure.call) - before < n) break;
    EXPECT_EQ(error, failure.error) << machine.report.message;
    EXPECT_TRUE(machine.is_clean());
    y.clear();
    ASSERT_EQ(machine.run(&y), Error::kOk) << machine.report.place << ": " << machine.report.message;
    EXPECT_EQ(y, kTwice);
    EXPECT_TRUE(machine.is_clean());
  }
  EXPECT_GT(n, 1u) << "nothing of the kind was ever called";
  machine.sim.fail(failure.call, 0, Error::kOk);
}

INSTANTIATE_TEST_SUITE_P(All, SimBackendFailureTest,
                         ::testing::Values(Failure{SimCall::kAllocate, Error::kMemoryAllocationFailed},
                                           Failure{SimCall::kCopy, Error::kAccessFailed},
                                           Failure{SimCall::kCreateStream, Error::kOutOfResources},
                                           Failure{SimCall::kRecord, Error::kAccessFailed},
                                           Failure{SimCall::kWait, Error::kAccessFailed},
                                           Failure{SimCall::kSynchronize, Error::kAccessFailed, true},
                                           Failure{SimCall::kCopy, Error::kAccessFailed, true}));

}  // namespace
}  // namespace berth
