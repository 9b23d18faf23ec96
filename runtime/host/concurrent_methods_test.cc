// One Program, several Methods, several threads. Meant for the thread sanitizer; the results are compared in any build.

#include <gtest/gtest.h>

#include <thread>

#include "runtime/device_programs_testing.h"
#include "runtime/host/host_method.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using testing::OnDevices;

// A backend of which each handle, not the backend, has the state: AddBackend counts for tests of one thread.
class QuietAdd final : public Backend {
 public:
  const char* name() const override { return "FakeAdd"; }
  bool serves(DeviceType) const override { return true; }
  Error memory_needed(const DelegateSource&, Span<uint8_t>, int, DelegateMemory* needed, Report*) const override {
    *needed = {16, 0, 2};
    return Error::kOk;
  }
  Result<DelegateHandle*> load(const DelegateSource&, const DelegateLoad& load, Report*) override {
    return static_cast<DelegateHandle*>(load.memory->allocate(16));
  }
  Error execute(DelegateHandle*, KernelContext&, Span<EValue* const> args) override {
    float* out = testing::RecordingAllocator::host(args[2]->tensor().data<float>());
    for (int i = 0; i < 4; ++i) {
      out[i] = testing::RecordingAllocator::host(args[0]->tensor().data<float>())[i] +
               testing::RecordingAllocator::host(args[1]->tensor().data<float>())[i];
    }
    return Error::kOk;
  }
  void unload(DelegateHandle*) override {}
};

void load_and_run(const Program& program, float first, int* wrong) {
  for (int round = 0; round < 5; ++round) {
    Result<HostMethod> method = HostMethod::load(program, "forward");
    if (!method.ok()) {
      ++*wrong;
      return;
    }
    for (int i = 0; i < 20; ++i) {
      const float x = first + static_cast<float>(i);
      const bool ok = testing::set_floats(method->method(), 0, {x, 0, 0, 0}, {2, 2}) == Error::kOk &&
                      testing::set_floats(method->method(), 1, {1, 0, 0, 0}, {2, 2}) == Error::kOk &&
                      method->method().execute() == Error::kOk;
      if (!ok || testing::floats(method->method().get_output(0))[0] != x + 1) ++*wrong;
    }
  }
}

// Holds row 61.
TEST(ConcurrentMethods, OfOneProgramRunOnTheirOwnThreads) {
  OnDevices on(testing::delegated_add());
  QuietAdd add;
  Backend* const backends[] = {&add};
  on.options.backends = backends;
  on.cuda.has_streams = true;
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  std::thread threads[4];
  int wrong[4] = {};
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread(load_and_run, std::cref(*on.program), static_cast<float>(1000 * t), &wrong[t]);
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
  EXPECT_EQ(on.cuda.live(), 0u);
}

}  // namespace
}  // namespace berth
