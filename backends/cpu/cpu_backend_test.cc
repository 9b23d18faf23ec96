// Delegates on the host. The fears: constants that are copied, threads that are not used, another result than the same
// operators outside of a delegate give.

#include "backends/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/nested/nested_programs_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"
#include "runtime/log.h"
#include "runtime/observer.h"

namespace berth {
namespace {

using testing::program_with_delegate;

struct Loaded {
  explicit Loaded(const format::ProgramDesc& desc, ThreadPool* pool = nullptr, bool resident = false,
                  Backend* other = nullptr)
      : file(format::testing::bytes_of(desc)), loader(Span<const uint8_t>(file)) {
    Backend* const backends[] = {other == nullptr ? &backend : other};
    LoadOptions options;
    options.backends = backends;
    options.report = &report;
    Result<Program> loaded = Program::load(loader, portable::kernels(), options);
    if (!loaded.ok()) return;
    program = std::make_unique<Program>(std::move(*loaded));
    HostOptions host;
    host.pool = pool;
    host.resident = resident;
    host.report = &report;
    Result<HostMethod> made = HostMethod::load(*program, "forward", host);
    if (made.ok()) method = std::make_unique<HostMethod>(std::move(*made));
  }

  CpuBackend backend;
  std::vector<uint8_t> file;
  BufferLoader loader;
  Report report;
  std::unique_ptr<Program> program;
  std::unique_ptr<HostMethod> method;
};

std::vector<float> run(Method& method, const std::vector<float>& x, int32_t rows = 0) {
  const int32_t count = static_cast<int32_t>(x.size());
  const std::vector<int32_t> sizes = rows > 0 ? std::vector<int32_t>{rows, count / rows} : std::vector<int32_t>{count};
  EXPECT_EQ(method.set_input(0, x.data(), sizes, DType::kF32), Error::kOk);
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  const Tensor& y = method.get_output(0).tensor();
  return std::vector<float>(y.data<float>(), y.data<float>() + y.numel());
}

TEST(CpuBackend, ServesTheHostOnly) {
  const CpuBackend backend;
  EXPECT_STREQ(backend.name(), "berth.cpu");
  EXPECT_TRUE(backend.serves(DeviceType::kCpu));
  EXPECT_FALSE(backend.serves(DeviceType::kCuda));
  EXPECT_FALSE(backend.serves(DeviceType::kSim));
}

TEST(CpuBackend, UsesConstantsInPlaceInTheFile) {
  Loaded loaded(program_with_delegate({Device(), "berth.cpu", 4, false}));
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  EXPECT_EQ(run(loaded.method->method(), {0, 0, 4, 0}), (std::vector<float>{0, 2, 1, 4}));
  // The weight in the file is the one that is read: -1 becomes 9.
  const std::vector<uint8_t> weight = testing::weight_bytes(4);
  const auto at = std::search(loaded.file.begin(), loaded.file.end(), weight.begin(), weight.end());
  ASSERT_NE(at, loaded.file.end());
  const float nine = 9;
  std::memcpy(&*at, &nine, sizeof(nine));
  EXPECT_EQ(run(loaded.method->method(), {0, 0, 4, 0}), (std::vector<float>{9, 2, 1, 4}));
}

TEST(CpuBackend, TakesInputSizesAndReturnsOutputSizes) {
  Loaded loaded(program_with_delegate({Device(), "berth.cpu", 32, true}));
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  EXPECT_EQ(run(loaded.method->method(), {1, 1, 4, 0, 0, 0, 0, 0}, 2), (std::vector<float>{0, 3, 1, 4, 0, 2, 0, 4}));
  EXPECT_EQ(run(loaded.method->method(), std::vector<float>(32, 1), 8).size(), 32u);
}

// Writes down what runs.
class Diary final : public InstructionObserver {
 public:
  Error before(const InstructionEvent& event) override {
    lines.push_back(std::string(event.method) + " " + event.name);
    return Error::kOk;
  }
  void after(const InstructionEvent& event, Error) override { lines.push_back(std::string("done ") + event.name); }

  std::vector<std::string> lines;
};

TEST(CpuBackend, ReportsStepsWithinACallToAnObserver) {
  Loaded loaded(program_with_delegate({Device(), "berth.cpu", 4, false}));
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  Method& method = loaded.method->method();
  Diary diary;
  method.set_observer(&diary);
  run(method, {0, 0, 4, 0});
  EXPECT_EQ(diary.lines,
            (std::vector<std::string>{"forward berth.cpu", "delegate aten::add.out", "done aten::add.out",
                                      "delegate aten::relu.out", "done aten::relu.out", "done berth.cpu"}));
  method.set_observer(nullptr);
  run(method, {0, 0, 4, 0});
  EXPECT_EQ(diary.lines.size(), 6u);
}

// Counts the work that is handed out.
class CountingPool final : public ThreadPool {
 public:
  int size() const override { return 4; }
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    ++runs;
    for (int64_t i = 0; i < count; i += grain) body.call(body.context, i, i + grain < count ? i + grain : count);
  }
  int runs = 0;
};

TEST(CpuBackend, UsesTheMethodsThreads) {
  CountingPool pool;
  Loaded loaded(program_with_delegate({Device(), "berth.cpu", 1 << 20, false}), &pool);
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  const std::vector<float> y = run(loaded.method->method(), std::vector<float>(1 << 20, 1));
  EXPECT_GT(pool.runs, 0);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[(1 << 20) - 1], 5);
}

TEST(CpuBackend, WarmsUpBeforeTheFirstRunAndComputesTheSame) {
  CountingPool pool;
  Loaded cold(program_with_delegate({Device(), "berth.cpu", 1 << 20, false}), &pool);
  ASSERT_NE(cold.method, nullptr);
  EXPECT_EQ(pool.runs, 0);
  Loaded warm(program_with_delegate({Device(), "berth.cpu", 1 << 20, false}), &pool, true);
  ASSERT_NE(warm.method, nullptr) << warm.report.place << ": " << warm.report.message;
  EXPECT_GT(pool.runs, 0);
  const std::vector<float> x(1 << 20, 1);
  EXPECT_EQ(run(warm.method->method(), x), run(cold.method->method(), x));
  EXPECT_EQ(warm.method->method().next_instruction(), 0u);
}

TEST(CpuBackend, WarmsUpWithTheLargestSizesAndTakesOthers) {
  Loaded loaded(program_with_delegate({Device(), "berth.cpu", 32, true}), nullptr, true);
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  EXPECT_EQ(run(loaded.method->method(), {1, 1, 4, 0, 0, 0, 0, 0}, 2), (std::vector<float>{0, 3, 1, 4, 0, 2, 0, 4}));
}

// relu that does not like zeros, and add as it is.
class FussyBackend final : public NestedBackend {
 public:
  FussyBackend() : NestedBackend("berth.fussy", table()) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }

 private:
  static Error relu(KernelContext& context, Span<EValue* const> args) {
    const float last = args[0]->tensor().data<float>()[3];
    if (last == 4) return context.fail(Error::kInvalidArgument, "nothing was added");
    args[1]->tensor().data<float>()[0] = last;
    return Error::kOk;
  }
  static KernelTable table() {
    static KernelEntry entries[2];
    for (const KernelEntry& entry : portable::kernels()) {
      if (std::strcmp(entry.name, "aten::add.out") == 0) entries[0] = entry;
      if (std::strcmp(entry.name, "aten::relu.out") == 0) entries[1] = entry;
    }
    entries[1].call = relu;
    return entries;
  }
};

TEST(CpuBackend, AFailedWarmUpIsSilentAndNotAFailure) {
  static int told = 0;
  set_log([](void*, LogLevel, const char*) { ++told; }, nullptr);
  FussyBackend fussy;
  Loaded loaded(program_with_delegate({Device(), "berth.fussy", 4, false}), nullptr, true, &fussy);
  ASSERT_NE(loaded.method, nullptr) << loaded.report.place << ": " << loaded.report.message;
  EXPECT_EQ(told, 0);
  // A run may fail, and is told; and one with other inputs succeeds.
  Method& method = loaded.method->method();
  const std::vector<float> zeros(4);
  ASSERT_EQ(method.set_input(0, zeros.data(), std::vector<int32_t>{4}, DType::kF32), Error::kOk);
  EXPECT_EQ(method.execute(), Error::kInvalidArgument);
  EXPECT_GT(told, 0);
  set_log(nullptr, nullptr);
  EXPECT_EQ(run(method, {0, 0, 0, 3})[0], 7);
}

TEST(CpuBackend, ADelegateThatNamesADeviceIsRefused) {
  format::ProgramDesc desc = program_with_delegate({Device(), "berth.cpu", 4, false});
  desc.methods[0].delegates[0].compile_specs[0].value = {'s', 'i', 'm', ':', '0'};
  const Loaded loaded(desc);
  EXPECT_EQ(loaded.method, nullptr);
  EXPECT_NE(loaded.report.message[0], '\0');
}

}  // namespace
}  // namespace berth
