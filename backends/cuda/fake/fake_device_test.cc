// The CUDA room's allocator, streams and backend, as they are on a GPU, on a runtime that runs on the host and does
// everything as late as it may (fake_runtime.h). The fears: work that is never waited for; pinned memory that is reused
// too early; graphs of old addresses; an error that leaks, or leaves the next run wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_backend.h"
#include "backends/cuda/fake/fake_runtime.h"
#include "backends/cuda/kernels/launch_kernel.h"
#include "backends/nested/nested_programs_testing.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

namespace fake = cuda::fake;

class Fake : public DeviceUnderTest {
 public:
  explicit Fake(uint32_t seed) { fake::reset(seed); }
  DeviceType type() override { return DeviceType::kCuda; }
  DeviceAllocator& allocator() override { return allocator_; }
  NestedBackend* backend() override { return &backend_; }
  int64_t live() override { return fake::live_on_devices(); }
  uint64_t replays() const { return backend_.replays(); }
  cuda::CudaCounts counts() const { return backend_.counts(); }

 private:
  cuda::CudaAllocator allocator_;
  cuda::CudaBackend backend_;
};

uint32_t next_seed() {
  static uint32_t seed = 0;
  return ++seed;
}

constexpr int32_t kCount = 256;

testing::Calls calls() { return {Device(DeviceType::kCuda, 0), "berth.cuda", kCount, false}; }

// Runs on inputs of `value`, and expects relu(x + w) of the weight -1, 2, -3, 4, …
Error run(Method& method, float value) {
  const std::vector<float> x(kCount, value);
  const int32_t sizes[] = {kCount};
  if (const Error error = method.set_input(0, x.data(), sizes, DType::kF32); error != Error::kOk) return error;
  if (const Error error = method.execute(); error != Error::kOk) return error;
  const float* y = method.get_output(0).tensor().data<float>();
  constexpr float kWeight[] = {-1, 2, -3, 4};
  for (int32_t i = 0; i < kCount; ++i) {
    const float sum = value + kWeight[i % 4];
    if (y[i] == (sum > 0 ? sum : 0)) continue;
    ADD_FAILURE() << "element " << i << " of an input of " << value << " is " << y[i];
    break;
  }
  return Error::kOk;
}

TEST(FakeCuda, EachRunAfterTheLoadIsOneGraph) {
  Fake device(0);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
  LoadedProgram loaded = load_program(testing::program_with_delegate(calls()), device, registry);
  Result<HostMethod> method = loaded.method();
  ASSERT_TRUE(method.ok()) << loaded.report.message;
  method->method().warm_up();
  EXPECT_EQ(fake::counts().recorded, 2);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(run(method->method(), static_cast<float>(i)), Error::kOk);
  EXPECT_EQ(fake::counts().graphs, 5);
  EXPECT_EQ(device.counts().graphs, 1u);
  EXPECT_EQ(device.counts().submissions, 5u);
  EXPECT_EQ(device.counts().dispatches, 10u);
  EXPECT_EQ(fake::counts().launches, 0);
  EXPECT_EQ(device.replays(), 5u);
}

// The first run is two kernels, the second one makes the graph; an observed one is two kernels again.
TEST(FakeCuda, WhatIsQueuedIsCountedWithGraphsAndWithout) {
  struct Watcher : InstructionObserver {
    Error before(const InstructionEvent&) override { return Error::kOk; }
    void after(const InstructionEvent&, Error) override {}
  } watcher;
  Fake device(0);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
  LoadedProgram loaded = load_program(testing::program_with_delegate(calls()), device, registry);
  Result<HostMethod> method = loaded.method();
  ASSERT_TRUE(method.ok()) << loaded.report.message;
  const uint64_t allocations = cuda::device_allocations();
  ASSERT_EQ(run(method->method(), 1), Error::kOk);
  EXPECT_EQ(device.counts().submissions, 2u);
  ASSERT_EQ(run(method->method(), 2), Error::kOk);
  EXPECT_EQ(device.counts().submissions, 3u);
  EXPECT_EQ(device.counts().dispatches, 4u);
  EXPECT_EQ(device.counts().graphs, 1u);
  method->method().set_observer(&watcher);
  ASSERT_EQ(run(method->method(), 3), Error::kOk);
  EXPECT_EQ(device.counts().submissions, 5u);
  EXPECT_EQ(device.counts().dispatches, 6u);
  EXPECT_EQ(cuda::device_allocations(), allocations);
}

TEST(FakeCuda, AThousandDelaysGiveTheSameNumbers) {
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Fake device(seed);
    DeviceAllocatorRegistry registry;
    ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
    {
      LoadedProgram loaded = load_program(testing::program_with_delegate(calls()), device, registry);
      Result<HostMethod> method = loaded.method();
      Result<HostMethod> other = loaded.method();
      ASSERT_TRUE(method.ok() && other.ok()) << loaded.report.message;
      if (seed % 2 == 0) method->method().warm_up();
      for (int i = 0; i < 4 && !HasFailure(); ++i) {
        ASSERT_EQ(run(method->method(), static_cast<float>(i)), Error::kOk);
        ASSERT_EQ(run(other->method(), static_cast<float>(-i)), Error::kOk);
      }
    }
    ASSERT_EQ(fake::live(), 0);
    if (HasFailure()) return;
  }
}

// x → the device: y = relu(x + w) → the host → the device: z = relu(y + w) → the host.
format::ProgramDesc there_and_back() {
  format::ProgramDesc program = testing::program_with_delegate(calls());
  format::MethodDesc& method = program.methods[0];
  method.values.push_back(method.values[0]);
  method.instructions.push_back(format::KernelCallDesc{0, {4, 1, 1}});
  method.delegates.push_back(method.delegates[0]);
  method.instructions.push_back(format::DelegateCallDesc{1, {1, 2, 3}});
  method.instructions.push_back(format::KernelCallDesc{1, {2, 5, 5}});
  method.outputs = {4, 5};
  return program;
}

Error run_there_and_back(Method& method, float value) {
  const std::vector<float> x(kCount, value);
  const int32_t sizes[] = {kCount};
  if (const Error error = method.set_input(0, x.data(), sizes, DType::kF32); error != Error::kOk) return error;
  if (const Error error = method.execute(); error != Error::kOk) return error;
  const float* const y = method.get_output(0).tensor().data<float>();
  const float* const z = method.get_output(1).tensor().data<float>();
  constexpr float kWeight[] = {-1, 2, -3, 4};
  for (int32_t i = 0; i < kCount; ++i) {
    const float once = std::max(0.0f, value + kWeight[i % 4]);
    if (y[i] == once && z[i] == std::max(0.0f, once + kWeight[i % 4])) continue;
    ADD_FAILURE() << "element " << i << " of an input of " << value << " is " << y[i] << " and " << z[i];
    break;
  }
  return Error::kOk;
}

// What was copied to the host is read there when the host comes to it, whenever it arrives.
TEST(FakeCuda, WhatGoesThroughTheHostIsRightWithAThousandDelays) {
  for (uint32_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Fake device(seed);
    DeviceAllocatorRegistry registry;
    ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
    {
      LoadedProgram loaded = load_program(there_and_back(), device, registry);
      Result<HostMethod> method = loaded.method();
      ASSERT_TRUE(method.ok()) << loaded.report.message;
      for (const float value : {0.0f, 1.0f, 2.0f}) {
        ASSERT_EQ(run_there_and_back(method->method(), value), Error::kOk);
      }
    }
    ASSERT_EQ(fake::live(), 0);
  }
}

// A stream's pinned buffers are used in turn, many times in one copy.
TEST(FakeCuda, ACopyLargerThanItsBuffersIsWhole) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Fake device(seed);
    DeviceAllocator& allocator = device.allocator();
    std::vector<uint32_t> numbers((size_t{7} << 20) / sizeof(uint32_t) + 5);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i * 2654435761u + seed);
    const size_t bytes = numbers.size() * sizeof(uint32_t);
    const Piece piece(allocator, bytes);
    const Result<DeviceStream*> stream = allocator.create_stream(0);
    ASSERT_TRUE(stream.ok());
    std::vector<uint32_t> source = numbers;
    ASSERT_EQ(allocator.copy_host_to_device(piece.get(), source.data(), bytes, 0, *stream), Error::kOk);
    source.assign(source.size(), 0);
    ASSERT_EQ(allocator.copy_device_to_host(source.data(), piece.get(), bytes, 0, *stream), Error::kOk);
    EXPECT_TRUE(source == numbers);
    allocator.destroy_stream(*stream, 0);
  }
}

// The runtime ends the process when a copy's memory is gone.
TEST(FakeCuda, MemoryIsGivenBackWhenItsWorkIsDone) {
  Fake device(0);
  DeviceAllocator& allocator = device.allocator();
  const Result<DeviceStream*> stream = allocator.create_stream(0);
  ASSERT_TRUE(stream.ok());
  const std::vector<uint8_t> source(1000, 7);
  for (int i = 0; i < 3; ++i) {
    const Piece piece(allocator, source.size());
    ASSERT_EQ(allocator.copy_host_to_device(piece.get(), source.data(), source.size(), 0, *stream), Error::kOk);
  }
  // What threads have given back goes when they end.
  std::thread([&] {
    const Piece piece(allocator, source.size());
    EXPECT_EQ(allocator.copy_host_to_device(piece.get(), source.data(), source.size(), 0, *stream), Error::kOk);
  }).join();
  EXPECT_EQ(allocator.synchronize(*stream, 0), Error::kOk);
  allocator.destroy_stream(*stream, 0);
}

// Two streams with work that is still to come: the memory that one of them used goes back in its turn.
TEST(FakeCuda, GivingMemoryBackWaitsForNobody) {
  Fake device(0);
  if (device.allocator().device_count() > 1) GTEST_SKIP() << "several devices have no pools";
  DeviceAllocator& allocator = device.allocator();
  const std::vector<uint8_t> source(1000, 7);
  DeviceStream* streams[2] = {};
  for (DeviceStream*& stream : streams) stream = *allocator.create_stream(0);
  std::thread([&] {
    void* const memory = *allocator.allocate(source.size(), 0);
    const Piece other(allocator, source.size());
    ASSERT_EQ(allocator.copy_host_to_device(memory, source.data(), source.size(), 0, streams[0]), Error::kOk);
    ASSERT_EQ(allocator.copy_host_to_device(other.get(), source.data(), source.size(), 0, streams[1]), Error::kOk);
    const int64_t live = fake::taken_on_devices();
    allocator.deallocate(memory, 0);
    EXPECT_EQ(fake::counts().waits, 0);
    EXPECT_EQ(fake::taken_on_devices(), live);
  }).join();
  EXPECT_EQ(fake::live_on_devices(), 0);
  for (DeviceStream* stream : streams) allocator.destroy_stream(stream, 0);
}

// A workspace is 32 MiB: the first four methods have one each, and later ones share.
TEST(FakeCuda, AHundredMethodsShareFourWorkspaces) {
  Fake device(1);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
  LoadedProgram loaded = load_program(testing::program_with_delegate(calls()), device, registry);
  std::vector<HostMethod> methods;
  std::vector<int64_t> taken;  // with so many methods
  for (int i = 0; i < 100; ++i) {
    Result<HostMethod> method = loaded.method();
    ASSERT_TRUE(method.ok()) << loaded.report.message;
    methods.push_back(std::move(*method));
    taken.push_back(fake::taken_on_devices());
  }
  EXPECT_EQ(taken[3] - taken[2], 2);
  EXPECT_EQ(taken[99] - taken[3], 96);
  // Those that share run at the same time.
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 50; ++turn) ASSERT_EQ(run(methods[i].method(), static_cast<float>(i)), Error::kOk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  methods.clear();
  EXPECT_EQ(fake::live_on_devices(), 0);
}

// What the application's own calls left is not an error of a launch, and stays the application's.
TEST(FakeCuda, ALaunchReturnsItsOwnErrorAlone) {
  const Fake device(0);
  const auto kernel = +[](int64_t, int) {};
  KernelContext context({}, nullptr);
  fake::leave_error();
  EXPECT_EQ(cuda::launch_kernel(context, kernel, 1, 256, 0, int64_t{3}, 4), Error::kOk);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  fake::fail_call(0);
  EXPECT_EQ(cuda::launch_kernel(context, kernel, 1, 256, 0, int64_t{3}, 4), Error::kInternal);
  EXPECT_STREQ(context.message(), "an error of the fake runtime");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(fake::counts().launches, 1);
}

// The runtime ends the process when one thread waits for the device while another makes a graph.
TEST(FakeCuda, LoadingBesideUnloadingIsSafe) {
  Fake device(1);
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
  LoadedProgram loaded = load_program(testing::program_with_delegate(calls()), device, registry);
  const auto work = [&](float value) {
    for (int i = 0; i < 400; ++i) {
      Result<HostMethod> method = HostMethod::load(*loaded.program, "forward");
      ASSERT_TRUE(method.ok());
      method->method().warm_up();
      ASSERT_EQ(run(method->method(), value), Error::kOk);
    }
  };
  std::thread other(work, 3.0f);
  work(-3);
  other.join();
}

// y = the convolution of x [1,4,8,8] with w [16,4,2,2] in steps of 2: [1,16,4,4], of which each side has kCount
// numbers.
format::ProgramDesc nested_convolution() {
  format::ProgramDesc program = testing::nested_add_relu(kCount);
  format::MethodDesc& method = program.methods[0];
  const auto shaped = [&](size_t value, std::vector<int32_t> sizes) {
    format::TensorDesc tensor = std::get<format::TensorDesc>(method.values[value]);
    tensor.sizes = std::move(sizes);
    tensor.dim_order = {0, 1, 2, 3};
    return tensor;
  };
  const auto list = [](int64_t item) { return format::IntListDesc{{item, item}}; };
  constexpr int64_t kTwo = 3, kNone = 4, kOne = 5;
  method.values = {shaped(0, {1, 4, 8, 8}),
                   shaped(1, {16, 4, 2, 2}),
                   format::NullDesc{},
                   int64_t{2},
                   int64_t{0},
                   int64_t{1},
                   list(kTwo),
                   list(kNone),
                   list(kOne),
                   false,
                   shaped(0, {1, 16, 4, 4})};
  method.outputs = {10};
  method.operators = {{"aten::convolution", "out"}};
  method.instructions = {format::KernelCallDesc{0, {0, 1, 2, 6, 7, 8, 9, 7, 5, 10, 10}}};
  return program;
}

format::ProgramDesc program_with_convolution() {
  format::ProgramDesc program = testing::program_with_delegate(calls(), nested_convolution());
  for (const size_t value : {0, 1, 2, 4}) {
    auto& tensor = std::get<format::TensorDesc>(program.methods[0].values[value]);
    tensor.sizes = value < 2 ? std::vector<int32_t>{1, 4, 8, 8} : std::vector<int32_t>{1, 16, 4, 4};
    tensor.dim_order = {0, 1, 2, 3};
  }
  return program;
}

Error run_convolution(Method& method, float value) {
  std::vector<float> x(kCount);
  for (int32_t i = 0; i < kCount; ++i) x[i] = value + static_cast<float>(i % 13);
  const int32_t sizes[] = {1, 4, 8, 8};
  if (const Error error = method.set_input(0, x.data(), sizes, DType::kF32); error != Error::kOk) return error;
  if (const Error error = method.execute(); error != Error::kOk) return error;
  const float* y = method.get_output(0).tensor().data<float>();
  constexpr float kWeight[] = {-1, 2, -3, 4};
  for (int32_t i = 0; i < kCount; ++i) {
    float sum = 0;
    for (int32_t channel = 0; channel < 4; ++channel) {
      for (int32_t tap = 0; tap < 4; ++tap) {
        const int32_t row = i / 4 % 4 * 2 + tap / 2;
        sum += x[(channel * 8 + row) * 8 + i % 4 * 2 + tap % 2] * kWeight[tap];
      }
    }
    if (y[i] == sum) continue;
    ADD_FAILURE() << "element " << i << " of an input of " << value << " is " << y[i] << ", not " << sum;
    break;
  }
  return Error::kOk;
}

TEST(FakeCuda, AConvolutionIsTheLibrarysAndRightWithManyDelays) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Fake device(seed);
    DeviceAllocatorRegistry registry;
    ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
    LoadedProgram loaded = load_program(program_with_convolution(), device, registry);
    Result<HostMethod> method = loaded.method();
    ASSERT_TRUE(method.ok()) << loaded.report.message;
    if (seed % 2 == 0) method->method().warm_up();
    for (int i = 0; i < 4 && !HasFailure(); ++i) {
      ASSERT_EQ(run_convolution(method->method(), static_cast<float>(i)), Error::kOk);
    }
    EXPECT_EQ(device.counts().library_calls, 4u);
    EXPECT_EQ(device.counts().fallbacks, 0u);
    if (HasFailure()) return;
  }
}

// Whatever call fails, it is an error or the right numbers; then a run is right again, and nothing leaks.
void expect_failures_are_survived(const format::ProgramDesc& program, Error (*run_once)(Method&, float)) {
  int64_t failures = 0;
  // Two calls: n, first with graphs that are made at load, then with graphs that are made in the second run.
  bool reached[2] = {true, true};
  for (int64_t n = 0; reached[0] || reached[1]; ++n) {
    const bool warm = n % 2 == 0;
    SCOPED_TRACE(::testing::Message() << "call " << n / 2 << (warm ? ", warmed up" : ""));
    Fake device(0);
    DeviceAllocatorRegistry registry;
    ASSERT_EQ(registry.register_allocator(device.type(), &device.allocator()), Error::kOk);
    fake::fail_call(n / 2);
    bool failed = false;
    {
      LoadedProgram loaded = load_program(program, device, registry);
      Result<HostMethod> method = loaded.method();
      if (method.ok()) {
        if (warm) method->method().warm_up();
        for (int i = 0; i < 4; ++i) {
          if (run_once(method->method(), static_cast<float>(i)) != Error::kOk) ++failures;
        }
        failed = fake::has_failed();
        fake::fail_call(-1);
        ASSERT_EQ(run_once(method->method(), 9), Error::kOk);
      } else {
        failed = true;
        ++failures;
        EXPECT_NE(loaded.report.message[0], '\0');
      }
    }
    ASSERT_EQ(fake::live(), 0);
    reached[n % 2] = failed;
    ASSERT_LT(n, 2000);
  }
  EXPECT_GT(failures, 10);
}

TEST(FakeCuda, EveryCallMayFailOnce) { expect_failures_are_survived(testing::program_with_delegate(calls()), run); }

TEST(FakeCuda, EveryCallOfAWayThroughTheHostMayFailOnce) {
  expect_failures_are_survived(there_and_back(), run_there_and_back);
}

TEST(FakeCuda, EveryCallOfAConvolutionMayFailOnce) {
  expect_failures_are_survived(program_with_convolution(), run_convolution);
}

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(LateCuda, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(new berth::device_tests::Fake(0));
})
BERTH_DEVICE_CONFORMANCE(ChanceCuda, [] {
  return std::unique_ptr<berth::device_tests::DeviceUnderTest>(
      new berth::device_tests::Fake(berth::device_tests::next_seed()));
})
