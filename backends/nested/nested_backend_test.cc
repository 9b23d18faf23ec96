// The fears: a nested program that reaches beyond what its call was given; memory that is measured wrongly; constants
// that are taken twice or never given back.

#include "backends/nested/nested_backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backends/nested/test_programs.h"
#include "runtime/observer.h"
#include "runtime/test_kernels.h"

namespace berth {
namespace {

using format::DelegateDesc;
using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::MoveDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::tensor;
using testing::nested_add_relu;
using testing::payload_of;

// How many threads the last call of test::threads had.
int threads_seen = 0;

Error count_threads(KernelContext& context, Span<EValue* const>) {
  threads_seen = context.threads();
  return Error::kOk;
}
Error write_all(KernelContext&, Span<EValue* const> args) {
  for (const EValue* item : args[1]->items()) {
    std::memcpy(item->tensor().raw(), args[0]->tensor().raw(), args[0]->tensor().nbytes());
  }
  return Error::kOk;
}

Span<const KernelTable> test_tables() {
  static constexpr KernelEntry kMore[] = {
      {"test::threads.out", "Tensor self -> Tensor out", count_threads},
      {"test::write_all.out", "Tensor self -> Tensor[] out", write_all},
  };
  static const KernelTable kTables[] = {testing::kernels(), kMore};
  return kTables;
}

// On the host, with the runtime's kernels for tests and those above.
class HostBackend : public NestedBackend {
 public:
  explicit HostBackend(bool host_kernels = true)
      : NestedBackend("test.host", test_tables()), host_kernels_(host_kernels) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
  bool host_kernels() const override { return host_kernels_; }

  int opened = 0;
  int closed = 0;
  int begun = 0;
  int ended = 0;
  size_t blobs_at_close = 0;
  Error open_error = Error::kOk;
  Error begin_error = Error::kOk;

 protected:
  Result<void*> open(const DelegateSource&, const DelegateLoad&, format::Report* report) override {
    if (open_error != Error::kOk) return format::fail(report, open_error, "session", "no session");
    ++opened;
    return static_cast<void*>(this);
  }
  void close(void* session) override {
    EXPECT_EQ(session, this);
    EXPECT_EQ(constants().blobs(), blobs_at_close) << "the method, which may use the session, goes first";
    ++closed;
  }
  Error begin(void*, KernelContext&) override {
    ++begun;
    return begin_error;
  }
  Error end(void*, KernelContext&, Error result) override {
    ++ended;
    return result;
  }

 private:
  bool host_kernels_;
};

// Blobs in memory; counts what is not given back.
class Blobs final : public NamedDataMap {
 public:
  Result<FreeableBuffer> get(const char* key) const override {
    const auto found = blobs.find(key);
    if (found == blobs.end()) return Error::kNotFound;
    ++held;
    return FreeableBuffer(
        found->second.data(), found->second.size(),
        [](void* of, const void*, size_t) { --static_cast<const Blobs*>(of)->held; }, const_cast<Blobs*>(this));
  }

  std::map<std::string, std::vector<uint8_t>> blobs = {{testing::kWeightKey, testing::weight_bytes(4)}};
  mutable int held = 0;
};

// A tensor of the call with its memory.
class Argument {
 public:
  Argument(DType dtype, std::vector<int32_t> sizes, bool bounded = false)
      : sizes_(std::move(sizes)), strides_(sizes_.size()), memory_(std::make_unique<Memory>()) {
    for (size_t i = 0; i < sizes_.size(); ++i) order_.push_back(static_cast<uint8_t>(i));
    tensor = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(),
                    memory_->bytes, bounded ? ShapeDynamism::kBounded : ShapeDynamism::kStatic);
    value = EValue(&tensor);
  }
  Argument(DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> order) : Argument(dtype, std::move(sizes)) {
    order_ = std::move(order);
    tensor = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(),
                    memory_->bytes, ShapeDynamism::kStatic);
  }
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  float* floats() { return reinterpret_cast<float*>(memory_->bytes); }

  Tensor tensor;
  EValue value;

 private:
  struct Memory {
    alignas(64) uint8_t bytes[4096] = {};
  };
  std::vector<int32_t> sizes_;
  std::vector<int64_t> strides_;
  std::vector<uint8_t> order_;
  std::unique_ptr<Memory> memory_;
};

// A delegate and its call, as a Method would hold them.
class NestedTest : public ::testing::Test {
 protected:
  Error measure(const ProgramDesc& program) {
    payload_ = payload_of(program);
    source_.payload = payload_;
    source_.named_data = &blobs_;
    report_ = format::Report();
    // Twice: with room, the temporary memory is known too.
    Error error = backend_->memory_needed(source_, {}, 1, &needed_, &report_);
    if (error != Error::kOk) return error;
    room_.assign(needed_.method_bytes + 16, 0);
    return backend_->memory_needed(source_, aligned(needed_.method_bytes), 1, &needed_, &report_);
  }

  // REQUIRES: measure() succeeded. `less`: so many bytes less than that.
  Error load(size_t less = 0) {
    room_.assign(needed_.method_bytes + 16, 0);
    temp_.assign(needed_.temp_bytes + 64, 0);
    memory_.emplace(aligned(needed_.method_bytes - less));
    DelegateLoad load;
    load.memory = &*memory_;
    load.pool = pool_;
    load.temp = temp();
    load.args = args_;
    Result<DelegateHandle*> handle = backend_->load(source_, load, &report_);
    if (!handle.ok()) return handle.error();
    handle_ = *handle;
    return Error::kOk;
  }
  Error load(const ProgramDesc& program) {
    const Error error = measure(program);
    return error == Error::kOk ? load() : error;
  }

  Error execute() {
    KernelContext context(temp(), pool_, {}, nullptr, observer_);
    const Error error = backend_->execute(handle_, context, args_);
    message_ = context.message() == nullptr ? "" : context.message();
    return error;
  }

  void unload() {
    if (handle_ != nullptr) backend_->unload(handle_);
    handle_ = nullptr;
  }

  void TearDown() override {
    unload();
    EXPECT_EQ(blobs_.held, 0) << "a blob was not given back";
    EXPECT_EQ(backend_->constants().blobs(), 0u);
    EXPECT_EQ(backend_->opened, backend_->closed);
  }

  Span<uint8_t> aligned(size_t bytes) {
    const size_t padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(room_.data()) & 15);
    return {room_.data() + padding, bytes};
  }
  Span<uint8_t> temp() {
    const size_t padding = static_cast<size_t>(-reinterpret_cast<uintptr_t>(temp_.data()) & 63);
    return {temp_.data() + padding, temp_.size() - padding};
  }

  std::unique_ptr<HostBackend> backend_ = std::make_unique<HostBackend>();
  Blobs blobs_;
  Argument x_{DType::kF32, {4}};
  Argument y_{DType::kF32, {4}};
  Argument scratch_{DType::kU8, {16}};
  std::vector<EValue*> args_ = {&x_.value, &y_.value, &scratch_.value};
  DelegateSource source_;
  DelegateMemory needed_;
  format::Report report_;
  std::string message_;
  std::vector<uint8_t> payload_, room_, temp_;
  std::optional<MemoryAllocator> memory_;
  DelegateHandle* handle_ = nullptr;
  ThreadPool* pool_ = nullptr;
  InstructionObserver* observer_ = nullptr;
};

void set(Argument& argument, std::initializer_list<float> values) {
  std::copy(values.begin(), values.end(), argument.floats());
}
std::vector<float> get(Argument& argument) {
  return std::vector<float>(argument.floats(), argument.floats() + argument.tensor.numel());
}

TEST_F(NestedTest, RunsOnWhatItsCallHas) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk) << report_.place << ": " << report_.message;
  set(x_, {0, 0, 4, 0});
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(get(y_), (std::vector<float>{0, 2, 1, 4}));
  // The sum lies in the scratch that the call brought, not elsewhere.
  EXPECT_EQ(get(scratch_).size(), 16u);
  EXPECT_EQ(scratch_.floats()[0], -1);
  EXPECT_EQ(scratch_.floats()[2], 1);
  set(x_, {2, 0, 0, 0});
  ASSERT_EQ(execute(), Error::kOk);
  EXPECT_EQ(get(y_), (std::vector<float>{1, 2, 0, 4}));
  EXPECT_EQ(backend_->begun, 2);
  EXPECT_EQ(backend_->ended, 2);
}

TEST_F(NestedTest, SaysWhichArgumentsItReads) {
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  EXPECT_EQ(needed_.read_arguments, 1u);
}

// Exactly the bytes that were measured suffice; one less is refused, and nothing stays.
TEST_F(NestedTest, MemoryIsMeasuredExactly) {
  for (const bool verify : {true, false}) {
    source_.verify = verify;
    ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
    for (size_t less = needed_.method_bytes; less > 0; less -= (less > 40 ? 37 : 1)) {
      ASSERT_EQ(load(less), Error::kMemoryAllocationFailed) << less;
      EXPECT_EQ(blobs_.held, 0);
      EXPECT_NE(report_.message[0], '\0');
    }
    ASSERT_EQ(load(0), Error::kOk) << report_.message;
    unload();
  }
}

TEST_F(NestedTest, TemporaryMemoryIsMeasuredExactly) {
  ProgramDesc program = nested_add_relu();
  // test::twice takes 16 bytes for four floats; its second output is left out.
  program.methods[0].operators[1] = {"test::twice", "out"};
  program.methods[0].values.push_back(tensor({4}));
  program.methods[0].values.push_back(format::TensorListDesc{{4, 5}});
  program.methods[0].instructions[1] = KernelCallDesc{1, {3, 4, 5, 6}};
  ASSERT_EQ(measure(program), Error::kOk) << report_.message;
  EXPECT_EQ(needed_.temp_bytes, 16u);
  ASSERT_EQ(load(), Error::kOk) << report_.place << report_.message;
  set(x_, {0, 0, 4, 0});
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(get(y_), (std::vector<float>{-2, 4, 2, 8}));
  unload();
  needed_.temp_bytes = 0;
  temp_.clear();
  room_.clear();
  ASSERT_EQ(measure(program), Error::kOk);
  memory_.emplace(aligned(needed_.method_bytes));
  DelegateLoad load;
  load.memory = &*memory_;
  alignas(64) uint8_t few[15];
  load.temp = {few, sizeof(few)};
  load.args = args_;
  EXPECT_EQ(backend_->load(source_, load, &report_).error(), Error::kMemoryAllocationFailed);
}

TEST_F(NestedTest, WithTooLittleRoomTemporaryMemoryIsUnknown) {
  payload_ = payload_of(nested_add_relu());
  source_.payload = payload_;
  ASSERT_EQ(backend_->memory_needed(source_, {}, 1, &needed_, &report_), Error::kOk);
  EXPECT_EQ(needed_.temp_bytes, SIZE_MAX);
}

TEST_F(NestedTest, SizesGoInAndComeBack) {
  const Argument keep(DType::kF32, {1});
  Argument x(DType::kF32, {8, 4}, true), y(DType::kF32, {8, 4}, true), scratch(DType::kU8, {128});
  args_ = {&x.value, &y.value, &scratch.value};
  ProgramDesc program = nested_add_relu(32, true);
  // The test kernel does not broadcast: double x instead of adding the weight.
  program.methods[0].instructions[0] = KernelCallDesc{0, {0, 0, 2, 3, 3}};
  program.methods[0].values[1] = format::NullDesc{};
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  for (const int32_t rows : {8, 2, 5, 1, 8}) {
    ASSERT_EQ(x.tensor.resize(std::vector<int32_t>{rows, 4}), Error::kOk);
    for (int i = 0; i < 4 * rows; ++i) x.floats()[i] = static_cast<float>(i);
    ASSERT_EQ(execute(), Error::kOk) << message_;
    EXPECT_EQ(y.tensor.size(0), rows);
    EXPECT_EQ(y.floats()[4 * rows - 1], static_cast<float>(8 * rows - 2));
  }
}

TEST_F(NestedTest, ConstantsAreUsedInPlaceAndShared) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk);
  EXPECT_EQ(blobs_.held, 1);
  EXPECT_EQ(backend_->constants().blobs(), 1u);
  EXPECT_EQ(backend_->constants().bytes(), 16u);
  // Found where it lies: what is changed there is seen.
  const float changed = 5;
  std::memcpy(blobs_.blobs[testing::kWeightKey].data(), &changed, sizeof(changed));
  DelegateHandle* first = handle_;
  std::vector<uint8_t> first_room = std::move(room_);
  room_ = {};
  ASSERT_EQ(load(), Error::kOk);
  EXPECT_EQ(backend_->constants().blobs(), 1u);
  EXPECT_EQ(blobs_.held, 1);
  backend_->blobs_at_close = 1;
  backend_->unload(first);
  backend_->blobs_at_close = 0;
  EXPECT_EQ(backend_->constants().blobs(), 1u);
  set(x_, {0, 0, 4, 0});
  ASSERT_EQ(execute(), Error::kOk) << "what the other delegate gave back is still needed";
  EXPECT_EQ(get(y_), (std::vector<float>{5, 2, 1, 4}));
}

// Two programs that one backend serves may have other bytes under the same key.
TEST_F(NestedTest, ConstantsOfAnotherProgramAreNotMixedUp) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk);
  DelegateHandle* first = handle_;
  const std::vector<uint8_t> first_room = std::move(room_);
  Blobs others;
  others.blobs[testing::kWeightKey] = std::vector<uint8_t>(16, 0);
  source_.named_data = &others;
  room_ = {};
  ASSERT_EQ(load(), Error::kOk);
  EXPECT_EQ(backend_->constants().blobs(), 2u);
  EXPECT_EQ(others.held, 1);
  set(x_, {1, 2, 3, 4});
  ASSERT_EQ(execute(), Error::kOk);
  EXPECT_EQ(get(y_), (std::vector<float>{1, 2, 3, 4}));
  backend_->blobs_at_close = 1;
  unload();
  EXPECT_EQ(others.held, 0);
  handle_ = first;
  ASSERT_EQ(execute(), Error::kOk);
  EXPECT_EQ(get(y_), (std::vector<float>{0, 4, 0, 8}));
  backend_->blobs_at_close = 0;
  unload();
}

TEST_F(NestedTest, ConstantsThatAreNotThereOrTooShortAreErrors) {
  blobs_.blobs[testing::kWeightKey].resize(15);
  EXPECT_EQ(load(nested_add_relu()), Error::kInvalidExternalData);
  blobs_.blobs.clear();
  EXPECT_EQ(load(nested_add_relu()), Error::kNotFound);
  EXPECT_NE(std::string(report_.message).find("berth.c."), std::string::npos) << report_.message;
}

TEST_F(NestedTest, ASessionThatDoesNotOpenEndsTheLoad) {
  backend_->open_error = Error::kOutOfResources;
  EXPECT_EQ(load(nested_add_relu()), Error::kOutOfResources);
  EXPECT_EQ(backend_->opened, 0);
}

TEST_F(NestedTest, ARunThatDoesNotBeginIsNotEnded) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk);
  backend_->begin_error = Error::kInvalidState;
  EXPECT_EQ(execute(), Error::kInvalidState);
  EXPECT_EQ(backend_->ended, 0);
}

class ThreePools final : public ThreadPool {
 public:
  int size() const override { return 3; }
  void run(int64_t count, int64_t, ParallelBody body) override { body.call(body.context, 0, count); }
};

TEST_F(NestedTest, TheCallsThreadsAreTheKernels) {
  ProgramDesc program = nested_add_relu();
  program.methods[0].operators[1] = {"test::threads", "out"};
  ThreePools pool;
  pool_ = &pool;
  ASSERT_EQ(load(program), Error::kOk) << report_.message;
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(threads_seen, 3);
}

class Names final : public InstructionObserver {
 public:
  Error before(const InstructionEvent& event) override {
    names += std::string(event.method) + ":" + event.name + " ";
    return stops ? Error::kInvalidState : Error::kOk;
  }
  void after(const InstructionEvent&, Error) override {}
  std::string names;
  bool stops = false;
};

TEST_F(NestedTest, TheCallsObserverSeesWhatRunsInside) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk);
  Names names;
  observer_ = &names;
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(names.names, "delegate:aten::add.out delegate:aten::relu.out ");
  names.stops = true;
  EXPECT_EQ(execute(), Error::kInvalidState);
  observer_ = nullptr;
  EXPECT_EQ(execute(), Error::kOk) << "the observer of a call is not that of the next";
}

TEST_F(NestedTest, AKernelsErrorIsTheCallsWithItsPlace) {
  ProgramDesc program = nested_add_relu();
  program.methods[0].operators[0] = {"aten::copy_", ""};
  program.methods[0].values[2] = true;
  std::get<TensorDesc>(program.methods[0].values[3]).sizes = {3};
  program.methods[0].instructions[0] = KernelCallDesc{0, {3, 0, 2, 3}};
  ASSERT_EQ(load(program), Error::kOk) << report_.place << ": " << report_.message;
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_NE(message_.find("instructions[0] aten::copy_"), std::string::npos) << message_;
  EXPECT_EQ(backend_->ended, 1);
}

TEST_F(NestedTest, CallsThatDoNotFitAreRefusedAtLoad) {
  Argument ints(DType::kI32, {4}), matrix(DType::kF32, {2, 2}), small(DType::kF32, {3}), few(DType::kU8, {15});
  EValue number(int64_t{1});
  Argument nowhere(DType::kU8, {16});
  nowhere.tensor.set_data(nullptr);
  const std::vector<std::vector<EValue*>> wrong = {
      {},
      {&x_.value, &y_.value},
      {&x_.value, &y_.value, &scratch_.value, &scratch_.value},
      {&ints.value, &y_.value, &scratch_.value},
      {&matrix.value, &y_.value, &scratch_.value},
      {&number, &y_.value, &scratch_.value},
      {&x_.value, &number, &scratch_.value},
      {&x_.value, &small.value, &scratch_.value},
      {&x_.value, &y_.value, &few.value},
      {&x_.value, &y_.value, &x_.value},
      {&x_.value, &y_.value, &number},
      {&x_.value, &y_.value, &nowhere.value},
  };
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  for (size_t i = 0; i < wrong.size(); ++i) {
    args_ = wrong[i];
    report_ = format::Report();
    EXPECT_EQ(load(), Error::kInvalidProgram) << i;
    EXPECT_EQ(std::string(report_.place).rfind("delegate call", 0), 0u) << i << report_.place;
  }
}

// The same sizes in another order in memory would be read as other elements.
TEST_F(NestedTest, AnotherDimensionOrderIsRefused) {
  Argument x(DType::kF32, {2, 2}), y(DType::kF32, {2, 2}), turned(DType::kF32, {2, 2}, {1, 0});
  ProgramDesc program = nested_add_relu();
  for (size_t i : {0u, 1u, 3u, 4u}) {
    auto& tensor = std::get<TensorDesc>(program.methods[0].values[i]);
    tensor.sizes = {2, 2};
    tensor.dim_order = {0, 1};
  }
  args_ = {&turned.value, &y.value, &scratch_.value};
  EXPECT_EQ(load(program), Error::kInvalidProgram);
  args_ = {&x.value, &turned.value, &scratch_.value};
  EXPECT_EQ(load(program), Error::kInvalidProgram);
  args_ = {&x.value, &y.value, &scratch_.value};
  ASSERT_EQ(load(program), Error::kOk) << report_.message;
  args_ = {&turned.value, &y.value, &scratch_.value};
  EXPECT_EQ(execute(), Error::kInvalidArgument);
}

// A move of the outer program may bring another tensor than the one that was loaded.
TEST_F(NestedTest, ArgumentsThatChangedAreHeldToTheProgramAgain) {
  ASSERT_EQ(load(nested_add_relu()), Error::kOk);
  Argument ints(DType::kI32, {4}), matrix(DType::kF32, {2, 2}), small(DType::kF32, {3});
  EValue number(int64_t{1});
  for (EValue* value : {&ints.value, &matrix.value, &number}) {
    args_ = {value, &y_.value, &scratch_.value};
    EXPECT_EQ(execute(), Error::kInvalidArgument);
    args_ = {&x_.value, value, &scratch_.value};
    EXPECT_EQ(execute(), Error::kInvalidArgument);
  }
  args_ = {&small.value, &y_.value, &scratch_.value};
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  args_ = {&x_.value, &small.value, &scratch_.value};
  EXPECT_EQ(execute(), Error::kInvalidArgument) << "it would write beyond the output";
  args_ = {&x_.value, &y_.value};
  EXPECT_EQ(execute(), Error::kInvalidArgument);
  EXPECT_EQ(backend_->begun, 0);
}

// Each entry makes a sound nested program reach beyond its call.
struct Hostile {
  const char* what;
  void (*bend)(format::MethodDesc& method, ProgramDesc& program);
  const char* place;
};

const Hostile kHostile[] = {
    {"another name", [](auto& m, auto&) { m.name = "forward"; }, "nested program methods"},
    {"two methods",
     [](auto&, auto& p) {
       p.methods.push_back(p.methods[0]);
       p.methods[1].name = "more";
     },
     "nested program methods"},
    {"a delegate of its own",
     [](auto& m, auto& p) {
       m.delegates = {DelegateDesc{"test.host", 0, {}}};
       p.payloads = {format::Bytes::of({1})};
     },
     "nested program delegates[0]"},
    {"an arena on a device",
     [](auto& m, auto&) {
       m.arenas[0].device = Device(DeviceType::kSim, 0);
       std::get<TensorDesc>(m.values[3]).device = Device(DeviceType::kSim, 0);
     },
     "nested program arenas[0]"},
    {"a tensor on a device", [](auto& m, auto&) { std::get<TensorDesc>(m.values[4]).device = DeviceType::kSim; },
     "nested program values[4]"},
    {"a second arena",
     [](auto& m, auto&) {
       m.arenas.push_back({16, Device()});
       std::get<TensorDesc>(m.values[3]).place->memory_id = 2;
     },
     "nested program arenas[1]"},
    {"a constant of its own",
     [](auto& m, auto& p) {
       m.values[1] = format::testing::constant({4}, 1);
       p.constants = {format::Bytes::of(testing::weight_bytes(4))};
     },
     "nested program values[1]"},
    {"state with an initial value",
     [](auto& m, auto& p) {
       std::get<TensorDesc>(m.values[3]).data_buffer_idx = 1;
       p.initial_values = {format::Bytes::of(testing::weight_bytes(4))};
     },
     "nested program values[3]"},
    {"state that begins as zeros", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).name = "state"; },
     "nested program values[3]"},
    {"an input in the scratch", [](auto& m, auto&) { std::get<TensorDesc>(m.values[0]).place = format::Place{}; },
     "nested program inputs[0]"},
    {"an output in the scratch", [](auto& m, auto&) { m.outputs = {3}; }, "nested program outputs[0]"},
    {"an input that is a number", [](auto& m, auto&) { m.inputs = {2}; }, "nested program inputs[0]"},
    {"an input that is a constant", [](auto& m, auto&) { m.inputs = {1}; }, "nested program inputs[0]"},
    {"an input twice",
     [](auto& m, auto&) {
       m.inputs = {0, 0};
     },
     "nested program inputs[1]"},
    {"an output twice",
     [](auto& m, auto&) {
       m.outputs = {4, 4};
     },
     "nested program outputs[1]"},
    {"an input that is the output", [](auto& m, auto&) { m.outputs = {0}; }, "nested program outputs[0]"},
    {"a place beyond the scratch", [](auto& m, auto&) { std::get<TensorDesc>(m.values[3]).place->offset = 16; }, ""},
    {"an input that is an out argument",
     [](auto& m, auto&) {
       m.instructions[0] = KernelCallDesc{0, {0, 1, 2, 0, 0}};
     },
     "nested program instructions[0]"},
    {"an input that is changed in place",
     [](auto& m, auto&) {
       m.operators.push_back({"aten::copy_", ""});
       m.values.push_back(false);
       m.instructions.push_back(KernelCallDesc{2, {0, 3, 5, 0}});
     },
     "nested program instructions[2]"},
    {"an input that becomes a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.instructions.push_back(KernelCallDesc{2, {3, 6, 0}});
     },
     "nested program instructions[2]"},
    {"an output that becomes a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.instructions.push_back(KernelCallDesc{2, {3, 6, 4}});
     },
     "nested program instructions["},
    {"an input that is written through a view",
     [](auto& m, auto&) {
       m.operators.push_back({"executorch_prim::et_view", "default"});
       m.operators.push_back({"aten::copy_", ""});
       m.values.push_back(int64_t{4});
       m.values.push_back(format::IntListDesc{{5}});
       m.values.push_back(tensor({4}));
       m.values.push_back(false);
       m.instructions.push_back(KernelCallDesc{2, {0, 6, 7}});
       m.instructions.push_back(KernelCallDesc{3, {7, 3, 8, 7}});
     },
     "nested program instructions[3]"},
    {"an input in a list of outputs",
     [](auto& m, auto&) {
       m.operators.push_back({"test::write_all", "out"});
       m.values.push_back(format::TensorListDesc{{4, 0}});
       m.instructions.push_back(KernelCallDesc{2, {3, 5, 5}});
     },
     "nested program instructions[2]"},
    {"a move of an input",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{0, 3});
     },
     "nested program instructions[2]"},
    {"a move of a constant",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{1, 3});
     },
     "nested program instructions[2]"},
    {"a move to an output",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{3, 4});
     },
     "nested program instructions[2]"},
    {"a move to an input",
     [](auto& m, auto&) {
       m.instructions.push_back(MoveDesc{3, 0});
     },
     "nested program instructions[2]"},
};

TEST_F(NestedTest, ProgramsThatReachOutsideAreRefusedWithThePlace) {
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  for (const Hostile& hostile : kHostile) {
    SCOPED_TRACE(hostile.what);
    ProgramDesc program = nested_add_relu();
    hostile.bend(program.methods[0], program);
    EXPECT_EQ(measure(program), Error::kInvalidProgram);
    EXPECT_NE(report_.message[0], '\0');
    EXPECT_NE(report_.place[0], '\0');
    EXPECT_EQ(std::string(report_.place).rfind(hostile.place, 0), 0u) << report_.place << ": " << report_.message;
  }
}

// The plan, too, is held before anything runs: here the constant sum is overwritten before it is read.
TEST_F(NestedTest, APlanThatOverwritesWhatIsStillReadIsRefused) {
  ProgramDesc program = nested_add_relu();
  auto& method = program.methods[0];
  method.values.push_back(tensor({4}, 0));
  method.instructions.insert(method.instructions.begin() + 1, KernelCallDesc{1, {0, 5, 5}});
  ASSERT_EQ(measure(program), Error::kOk) << report_.message;
  EXPECT_EQ(load(), Error::kInvalidProgram);
}

TEST_F(NestedTest, HostCodeDoesNotFollowTheAddressesOfADevice) {
  ProgramDesc jump = nested_add_relu();
  jump.methods[0].values.push_back(tensor({}, 0, DType::kBool));
  jump.methods[0].instructions.push_back(JumpFalseDesc{5, 0});
  ProgramDesc scalar = nested_add_relu();
  scalar.methods[0].operators.push_back({"aten::_local_scalar_dense", ""});
  scalar.methods[0].instructions.push_back(KernelCallDesc{2, {3, 2}});
  ProgramDesc sizes = nested_add_relu();
  sizes.methods[0].operators.push_back({"aten::sym_numel", ""});
  sizes.methods[0].instructions.push_back(KernelCallDesc{2, {3, 2}});
  EXPECT_EQ(measure(jump), Error::kOk) << report_.message;
  EXPECT_EQ(measure(scalar), Error::kOk) << report_.message;
  EXPECT_EQ(measure(sizes), Error::kOk) << report_.message;
  backend_ = std::make_unique<HostBackend>(false);
  EXPECT_EQ(measure(jump), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program instructions[2]");
  EXPECT_EQ(measure(scalar), Error::kInvalidProgram);
  EXPECT_STREQ(report_.place, "nested program instructions[2]");
  EXPECT_NE(std::string(report_.message).find("aten::_local_scalar_dense"), std::string::npos) << report_.message;
  EXPECT_EQ(load(scalar), Error::kInvalidProgram) << "nor where it was not measured before";
  EXPECT_EQ(measure(sizes), Error::kOk) << "sizes are no elements: " << report_.message;
}

TEST_F(NestedTest, APayloadThatWasCutOrIsNoneIsRefused) {
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  const std::vector<uint8_t> whole = payload_;
  for (size_t size = 0; size < whole.size(); size += 16) {
    payload_.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    source_.payload = payload_;
    EXPECT_EQ(backend_->memory_needed(source_, {}, 1, &needed_, &report_), Error::kInvalidProgram) << size;
  }
}

TEST_F(NestedTest, AKernelThatIsNotThereIsNamedAtLoad) {
  ProgramDesc program = nested_add_relu();
  program.methods[0].operators[1] = {"berth::fused", "out"};
  ASSERT_EQ(measure(program), Error::kOperatorMissing);
  EXPECT_NE(std::string(report_.message).find("berth::fused.out"), std::string::npos) << report_.message;
}

}  // namespace
}  // namespace berth
