// The fears: a recording that is replayed for other addresses or sizes than those it was made with; a device that does
// not record, or fails to; recordings that are never given back.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "backends/nested/nested_testing.h"
#include "backends/nested/recordings.h"
#include "runtime/device_explanation.h"

namespace berth {
namespace {

using testing::get;
using testing::nested_add_relu;
using testing::set;

using Work = std::vector<std::function<void()>>;

// Whether the next call of a kernel fails.
bool kernel_fails = false;

// Where kernels queue their work: done at once, or recorded.
struct Queue {
  Work* recorded = nullptr;
  void put(std::function<void()> work) {
    if (recorded == nullptr) return work();
    recorded->push_back(std::move(work));
  }
};

Error queue_add(KernelContext& context, Span<EValue* const> args) {
  if (kernel_fails) return context.fail(Error::kInvalidArgument, "a kernel that was told to fail");
  const Tensor& a = args[0]->tensor();
  const Tensor& b = args[1]->tensor();
  Tensor& out = args[4]->tensor();
  if (const Error error = out.resize(a.sizes()); error != Error::kOk) return error;
  static_cast<Queue*>(context.user())
      ->put([x = a.data<float>(), y = b.data<float>(), z = out.data<float>(), n = out.numel(), m = b.numel()] {
        for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i % m];
      });
  return Error::kOk;
}

Error queue_relu(KernelContext& context, Span<EValue* const> args) {
  const Tensor& a = args[0]->tensor();
  Tensor& out = args[1]->tensor();
  if (const Error error = out.resize(a.sizes()); error != Error::kOk) return error;
  static_cast<Queue*>(context.user())->put([x = a.data<float>(), z = out.data<float>(), n = out.numel()] {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] > 0 ? x[i] : 0;
  });
  return Error::kOk;
}

constexpr KernelEntry kQueued[] = {
    {"aten::add.out", "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out", queue_add},
    {"aten::relu.out", "Tensor self -> Tensor out", queue_relu},
};

// A device that records, on the host. Fails on request.
class RecordingBackend final : public NestedBackend {
 public:
  RecordingBackend() : NestedBackend("test.host", KernelTable(kQueued)) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }

  int recorded = 0;
  int replayed = 0;
  int discarded = 0;
  int settled = 0;
  bool fails_to_begin = false;
  bool fails_to_end = false;
  bool fails_to_replay = false;
  bool fails_to_settle = false;
  const char* explanation = nullptr;

 protected:
  Result<void*> open(const DelegateSource&, const DelegateLoad&, format::Report*) override { return &queue_; }
  bool records() const override { return true; }
  Error settle(void*) override {
    ++settled;
    if (!fails_to_settle) return Error::kOk;
    if (explanation != nullptr) explain_error(explanation);
    return Error::kInvalidArgument;
  }
  Error begin_recording(void*) override {
    if (fails_to_begin) return Error::kInternal;
    queue_.recorded = new Work;
    return Error::kOk;
  }
  Result<void*> end_recording(void*) override {
    Work* work = std::exchange(queue_.recorded, nullptr);
    if (!fails_to_end) return ++recorded, static_cast<void*>(work);
    delete work;
    return Error::kInternal;
  }
  Error replay(void*, void* recording) override {
    if (fails_to_replay) return Error::kInternal;
    ++replayed;
    for (const auto& work : *static_cast<Work*>(recording)) work();
    return Error::kOk;
  }
  void discard(void*, void* recording) override {
    ++discarded;
    delete static_cast<Work*>(recording);
  }

 private:
  Queue queue_;
};

class ReplayTest : public testing::NestedTest {
 protected:
  Error load_recorded(const format::ProgramDesc& program) {
    payload_ = testing::payload_of(program);
    source_.payload = payload_;
    source_.named_data = &blobs_;
    Error error = device_.memory_needed(source_, {}, 1, &needed_, &report_);
    if (error != Error::kOk) return error;
    room_.assign(needed_.method_bytes + 16, 0);
    memory_.emplace(aligned(needed_.method_bytes));
    DelegateLoad load;
    load.memory = &*memory_;
    load.args = args_;
    Result<DelegateHandle*> handle = device_.load(source_, load, &report_);
    if (!handle.ok()) return handle.error();
    recorded_ = *handle;
    return Error::kOk;
  }
  Error run() {
    KernelContext context({}, nullptr, {}, nullptr, observer_);
    const Error error = device_.execute(recorded_, context, args_);
    message_ = context.message() == nullptr ? "" : context.message();
    return error;
  }
  // Runs with these inputs, and expects relu(x + w) of the weight -1, 2, -3, 4.
  void expect_run(float first) {
    set(x_, {first, first, first, first});
    set(y_, {-9, -9, -9, -9});
    ASSERT_EQ(run(), Error::kOk) << message_;
    const auto relu = [](float x) { return x > 0 ? x : 0; };
    EXPECT_EQ(get(y_), (std::vector<float>{relu(first - 1), relu(first + 2), relu(first - 3), relu(first + 4)}));
  }
  void TearDown() override {
    if (recorded_ != nullptr) device_.unload(recorded_);
    EXPECT_EQ(device_.discarded, device_.recorded) << "a recording was not given back";
    NestedTest::TearDown();
  }

  RecordingBackend device_;
  DelegateHandle* recorded_ = nullptr;
};

TEST_F(ReplayTest, TheSecondRunIsRecordedAndTheNextOnesReplayed) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk) << report_.message;
  expect_run(1);
  EXPECT_EQ(device_.recorded, 0);
  expect_run(2);
  EXPECT_EQ(device_.recorded, 1);
  for (int i = 0; i < 5; ++i) expect_run(static_cast<float>(i));
  EXPECT_EQ(device_.recorded, 1);
  EXPECT_EQ(device_.replayed, 6);
}

TEST_F(ReplayTest, WarmUpRecordsSoThatTheFirstRunIsReplayed) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  set(y_, {5, 5, 5, 5});
  device_.warm_up(recorded_);
  EXPECT_EQ(get(y_), (std::vector<float>{5, 5, 5, 5})) << "warming up computed something";
  expect_run(3);
  EXPECT_EQ(device_.recorded, 1);
  EXPECT_EQ(device_.replayed, 1);
  device_.warm_up(recorded_);
  EXPECT_EQ(device_.recorded, 1);
}

TEST_F(ReplayTest, OtherAddressesAreNotThoseOfTheRecording) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  for (int i = 0; i < 3; ++i) expect_run(1);
  testing::Argument other(DType::kF32, {4});
  set(other, {7, 7, 7, 7});
  args_[0] = &other.value;
  for (int i = 0; i < 4; ++i) {
    set(y_, {0, 0, 0, 0});
    ASSERT_EQ(run(), Error::kOk) << message_;
    EXPECT_EQ(get(y_), (std::vector<float>{6, 9, 4, 11}));
  }
  args_[0] = &x_.value;
  expect_run(2);
  EXPECT_EQ(device_.recorded, 2);
}

TEST_F(ReplayTest, AScratchThatMovesIsNotThatOfTheRecording) {
  testing::Argument first(DType::kU8, {16}, true), second(DType::kU8, {16}, true);
  args_[2] = &first.value;
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk) << report_.message;
  for (int i = 0; i < 3; ++i) expect_run(1);
  EXPECT_EQ(device_.recorded, 1);
  args_[2] = &second.value;
  const int replayed = device_.replayed;
  std::memset(first.tensor.raw(), 0x5A, 16);
  expect_run(2);
  EXPECT_EQ(device_.replayed, replayed) << "with the bytes of another scratch";
  EXPECT_EQ(static_cast<uint8_t*>(first.tensor.raw())[0], 0x5A);
  for (int i = 0; i < 2; ++i) expect_run(3);
  EXPECT_EQ(device_.recorded, 2);
}

TEST_F(ReplayTest, OutputsHaveTheSizesOfTheirOwnRecording) {
  testing::Argument x(DType::kF32, {8, 4}, true), y(DType::kF32, {8, 4}, true), scratch(DType::kU8, {128});
  args_ = {&x.value, &y.value, &scratch.value};
  ASSERT_EQ(load_recorded(nested_add_relu(32, true)), Error::kOk) << report_.message;
  for (int round = 0; round < 3; ++round) {
    for (const int32_t rows : {1, 3, 8, 0}) {
      const int32_t sizes[] = {rows, 4};
      ASSERT_EQ(x.tensor.resize(sizes), Error::kOk);
      for (int32_t i = 0; i < 4 * rows; ++i) x.floats()[i] = static_cast<float>(round + rows);
      std::fill(y.floats(), y.floats() + 32, -9.0f);
      ASSERT_EQ(run(), Error::kOk) << message_;
      ASSERT_EQ(y.tensor.sizes()[0], rows) << round;
      for (int32_t i = 0; i < 4 * rows; i += 4) EXPECT_EQ(y.floats()[i + 1], static_cast<float>(round + rows + 2));
      if (rows == 8) continue;
      EXPECT_EQ(y.floats()[4 * rows], -9) << "written beyond its sizes";
    }
  }
  EXPECT_EQ(device_.recorded, 4);
  EXPECT_EQ(device_.replayed, 8);
}

TEST_F(ReplayTest, TheOldestOfTooManyIsDiscarded) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  std::vector<std::unique_ptr<testing::Argument>> inputs;
  for (size_t i = 0; i < Recordings::kMost + 1; ++i) {
    inputs.push_back(std::make_unique<testing::Argument>(DType::kF32, std::vector<int32_t>{4}));
    set(*inputs.back(), {1, 1, 1, 1});
  }
  for (const auto& input : inputs) {
    args_[0] = &input->value;
    for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), Error::kOk);
  }
  EXPECT_EQ(device_.recorded, static_cast<int>(inputs.size()));
  EXPECT_EQ(device_.discarded, 1);
  // The second is still there, the first is not.
  const int replayed = device_.replayed;
  args_[0] = &inputs[1]->value;
  ASSERT_EQ(run(), Error::kOk);
  EXPECT_EQ(device_.replayed, replayed + 1);
  args_[0] = &inputs[0]->value;
  ASSERT_EQ(run(), Error::kOk);
  EXPECT_EQ(device_.replayed, replayed + 1);
}

TEST_F(ReplayTest, ADeviceThatDoesNotRecordRunsAllTheSame) {
  for (const bool at_the_end : {false, true}) {
    ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
    device_.fails_to_begin = !at_the_end;
    device_.fails_to_end = at_the_end;
    for (int i = 0; i < 4; ++i) expect_run(static_cast<float>(i));
    EXPECT_EQ(device_.recorded, 0);
    device_.unload(std::exchange(recorded_, nullptr));
  }
}

TEST_F(ReplayTest, ARunThatFailsWhileItIsRecordedIsRecordedLater) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  expect_run(1);
  kernel_fails = true;
  EXPECT_EQ(run(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("told to fail"), std::string::npos) << message_;
  kernel_fails = false;
  for (int i = 0; i < 3; ++i) expect_run(static_cast<float>(i));
  EXPECT_EQ(device_.replayed, 3);
}

TEST_F(ReplayTest, AddressesOfOneCallDriveOutNoRecording) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  for (int i = 0; i < 3; ++i) expect_run(1);
  std::vector<std::unique_ptr<testing::Argument>> inputs;
  for (size_t i = 0; i < 3 * Recordings::kMost; ++i) {
    inputs.push_back(std::make_unique<testing::Argument>(DType::kF32, std::vector<int32_t>{4}));
    args_[0] = &inputs.back()->value;
    ASSERT_EQ(run(), Error::kOk);
  }
  EXPECT_EQ(device_.discarded, 0);
  args_[0] = &x_.value;
  const int replayed = device_.replayed;
  expect_run(2);
  EXPECT_EQ(device_.replayed, replayed + 1);
}

TEST_F(ReplayTest, AFailedReplayIsAnError) {
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  expect_run(1);
  device_.fails_to_replay = true;
  EXPECT_EQ(run(), Error::kInternal);
  EXPECT_NE(message_, "");
  device_.fails_to_replay = false;
  expect_run(2);
}

// An observer sees each instruction when its work is done; a replay has none to show.
TEST_F(ReplayTest, ObservedRunsAreNeitherRecordedNorReplayed) {
  class Counter final : public InstructionObserver {
   public:
    Error before(const InstructionEvent&) override { return Error::kOk; }
    void after(const InstructionEvent&, Error) override { ++seen; }
    int seen = 0;
  } counter;
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  observer_ = &counter;
  for (int i = 0; i < 3; ++i) expect_run(1);
  EXPECT_EQ(device_.recorded, 0);
  EXPECT_EQ(counter.seen, 6);
  EXPECT_EQ(device_.settled, 6);
  observer_ = nullptr;
  for (int i = 0; i < 3; ++i) expect_run(2);
  EXPECT_EQ(device_.replayed, 2);
}

// What a kernel finds wrong is known when its work is done: the observer sees it, and the run ends with it.
TEST_F(ReplayTest, AnObservedRunFailsWhereWorkDoes) {
  class Last final : public InstructionObserver {
   public:
    Error before(const InstructionEvent&) override { return Error::kOk; }
    void after(const InstructionEvent&, Error result) override { last = result, ++seen; }
    Error last = Error::kOk;
    int seen = 0;
  } observer;
  ASSERT_EQ(load_recorded(nested_add_relu()), Error::kOk);
  observer_ = &observer;
  device_.fails_to_settle = true;
  EXPECT_EQ(run(), Error::kInvalidArgument);
  EXPECT_EQ(observer.last, Error::kInvalidArgument);
  EXPECT_EQ(observer.seen, 1) << "what would read the result does not run";
  EXPECT_EQ(message_, "an instruction's work on the device failed");
  device_.explanation = "index 9 is outside";
  EXPECT_EQ(run(), Error::kInvalidArgument);
  EXPECT_EQ(message_, "index 9 is outside");
  device_.fails_to_settle = false;
  expect_run(1);
}

}  // namespace
}  // namespace berth
