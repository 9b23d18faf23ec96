// The fears: a nested program whose call does not fit it; memory that is measured wrongly; constants that are taken
// twice or never given back.

#include "backends/nested/nested_backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/nested/nested_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::tensor;
using testing::Argument;
using testing::Blobs;
using testing::get;
using testing::HostBackend;
using testing::nested_add_relu;
using testing::payload_of;
using testing::set;

class NestedBackendTest : public testing::NestedTest {};

TEST_F(NestedBackendTest, RunsOnTheMemoryOfItsCall) {
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

TEST_F(NestedBackendTest, KnowsWhichArgumentsItReads) {
  ASSERT_EQ(measure(nested_add_relu()), Error::kOk);
  EXPECT_EQ(needed_.read_arguments, 1u);
}

// Exactly the bytes that were measured suffice; one less is refused, and nothing stays.
TEST_F(NestedBackendTest, MemoryIsMeasuredExactly) {
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

TEST_F(NestedBackendTest, TemporaryMemoryIsMeasuredExactly) {
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

TEST_F(NestedBackendTest, WithTooLittleMemoryTheTemporaryMemoryIsUnknown) {
  payload_ = payload_of(nested_add_relu());
  source_.payload = payload_;
  ASSERT_EQ(backend_->memory_needed(source_, {}, 1, &needed_, &report_), Error::kOk);
  EXPECT_EQ(needed_.temp_bytes, SIZE_MAX);
}

TEST_F(NestedBackendTest, SizesGoInAndComeOut) {
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

TEST_F(NestedBackendTest, ConstantsAreUsedInPlaceAndShared) {
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
TEST_F(NestedBackendTest, ConstantsOfAnotherProgramAreNotMixedUp) {
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

TEST_F(NestedBackendTest, MissingOrShortConstantsAreErrors) {
  blobs_.blobs[testing::kWeightKey].resize(15);
  EXPECT_EQ(load(nested_add_relu()), Error::kInvalidExternalData);
  blobs_.blobs.clear();
  EXPECT_EQ(load(nested_add_relu()), Error::kNotFound);
  EXPECT_NE(std::string(report_.message).find("berth.c."), std::string::npos) << report_.message;
}

TEST_F(NestedBackendTest, ASessionThatDoesNotOpenFailsTheLoad) {
  backend_->open_error = Error::kOutOfResources;
  EXPECT_EQ(load(nested_add_relu()), Error::kOutOfResources);
  EXPECT_EQ(backend_->opened, 0);
}

TEST_F(NestedBackendTest, ARunThatDoesNotBeginIsNotEnded) {
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

TEST_F(NestedBackendTest, KernelsUseTheCallsThreads) {
  ProgramDesc program = nested_add_relu();
  program.methods[0].operators[1] = {"test::threads", "out"};
  ThreePools pool;
  pool_ = &pool;
  ASSERT_EQ(load(program), Error::kOk) << report_.message;
  ASSERT_EQ(execute(), Error::kOk) << message_;
  EXPECT_EQ(testing::threads_seen, 3);
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

TEST_F(NestedBackendTest, TheCallsObserverSeesTheStepsInside) {
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

TEST_F(NestedBackendTest, AKernelsErrorIsReportedWithItsPlace) {
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

TEST_F(NestedBackendTest, CallsThatDoNotFitAreRefusedAtLoad) {
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
TEST_F(NestedBackendTest, AnotherDimensionOrderIsRefused) {
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

/// y = bytes of x, four floats; with `more`, x is written to z too.
ProgramDesc nested_to_bytes(bool more = false) {
  format::MethodDesc method;
  method.name = format::kNestedMethodName;
  method.values = {tensor({4}),
                   format::TensorListDesc{{0}},
                   format::IntListDesc{{}},
                   format::DoubleListDesc{{}},
                   tensor({4}, -1, DType::kI8),
                   tensor({4})};
  method.inputs = {0};
  method.outputs = {4};
  method.operators = {{"berth::elementwise", "out"}, {"aten::relu", "out"}};
  method.instructions = {KernelCallDesc{0, {1, 2, 3, 4, 4}}};
  if (more) {
    method.outputs.push_back(5);
    method.instructions.push_back(KernelCallDesc{1, {0, 5, 5}});
  }
  ProgramDesc program;
  program.methods = {method};
  return program;
}

// The places of a call's tensors may be set after the load, and may be others in each call. The plan check, which has
// looked at what a file says of them, opens no payload.
TEST_F(NestedBackendTest, AnOutputOverAnInputIsRefusedWheneverItGetsItsPlace) {
  struct Case {
    const char* what;
    bool more;          // the payload is not a chain and nothing else
    bool host_kernels;  // false: those of a device, which do not work from the front
    size_t offset;      // of the output, in the input's bytes
    bool allowed;
  };
  const Case cases[] = {{"the front", false, true, 0, true},       {"another place", false, true, 1, false},
                        {"the last byte", false, true, 15, false}, {"behind it", false, true, 16, true},
                        {"not a chain", true, true, 0, false},     {"behind what is not", true, true, 16, true},
                        {"a device", false, false, 0, false}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    backend_ = std::make_unique<HostBackend>(one.host_kernels);
    Argument y(DType::kI8, {4}), z(DType::kF32, {4});
    args_ = {&x_.value, &y.value};
    if (one.more) args_.push_back(&z.value);
    y.tensor.set_data(nullptr);
    ASSERT_EQ(load(nested_to_bytes(one.more)), Error::kOk) << report_.place << ": " << report_.message;
    set(x_, {1, -2, 3, 100});
    y.tensor.set_data(reinterpret_cast<int8_t*>(x_.floats()) + one.offset);
    EXPECT_EQ(execute(), one.allowed ? Error::kOk : Error::kInvalidArgument) << message_;
    if (one.allowed) {
      const int8_t* bytes = y.tensor.data<int8_t>();
      EXPECT_EQ(std::vector<int8_t>(bytes, bytes + 4), (std::vector<int8_t>{1, -2, 3, 100}));
    } else {
      EXPECT_EQ(message_, "argument 1 lies over an input, which is read after it");
      EXPECT_EQ(get(x_), (std::vector<float>{1, -2, 3, 100})) << "nothing was written";
    }
    unload();
    const bool refused = load() == Error::kInvalidProgram;
    EXPECT_EQ(refused, !one.allowed) << "with its place known at load";
    unload();
  }
}

// A move of the outer program may bring another tensor than the one that was loaded.
TEST_F(NestedBackendTest, ChangedArgumentsAreCheckedAgain) {
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

}  // namespace
}  // namespace berth
