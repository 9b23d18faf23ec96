// Delegates: found, measured, loaded, called, given back.

#include <gtest/gtest.h>

#include <cstring>

#include "base/target_device.h"
#include "runtime/device_programs_testing.h"

namespace berth {
namespace {

using format::DelegateCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;
using testing::AddBackend;
using testing::delegated_add;
using testing::device_io_add;
using testing::kA;
using testing::kB;
using testing::kCuda0;
using testing::kTwoByTwo;
using testing::OnDevices;
using testing::RecordingAllocator;

// The same on the host, without target_device.
ProgramDesc host_add() {
  ProgramDesc desc = delegated_add(Device());
  MethodDesc& m = desc.methods[0];
  m.values = {format::testing::tensor({2, 2}, 0), format::testing::tensor({2, 2}, 16),
              format::testing::tensor({2, 2}, 32)};
  m.outputs = {2};
  m.operators = {};
  m.instructions = {DelegateCallDesc{0, {0, 1, 2}}};
  m.arenas = {{48, Device()}};
  return desc;
}

Error run(OnDevices& on) {
  BERTH_RETURN_IF_ERROR(on.method->set_input(0, kA, kTwoByTwo, DType::kF32));
  BERTH_RETURN_IF_ERROR(on.method->set_input(1, kB, kTwoByTwo, DType::kF32));
  return on.method->execute();
}

TEST(MethodDelegates, RunOnTheHostToo) {
  OnDevices on(host_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(run(on), Error::kOk);
  EXPECT_EQ(on.method->get_output(0).tensor().data<float>()[1], 22);
  EXPECT_STREQ(on.method->instruction_name(0), "FakeAdd");
  EXPECT_TRUE(on.cuda.calls().empty());
}

TEST(MethodDelegates, GetTheLoadersUserPointer) {
  int mine = 0;
  OnDevices on(host_add());
  on.method_options.user = &mine;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(run(on), Error::kOk);
  EXPECT_EQ(on.add.users, std::vector<void*>{&mine});
}

TEST(MethodDelegates, AreUnloadedOnceWithTheMethod) {
  OnDevices on(host_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.add.loads, 1);
  EXPECT_EQ(on.add.live, 1);
  on.method.reset();
  EXPECT_EQ(on.add.live, 0);
}

// Holds row 65.
TEST(MethodDelegates, AMovedMethodWorksAndUnloadsOnce) {
  OnDevices on(host_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  {
    Method moved(std::move(*on.method));
    on.method.reset();
    EXPECT_EQ(on.add.live, 1);
    ASSERT_EQ(moved.set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
    ASSERT_EQ(moved.set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
    EXPECT_EQ(moved.execute(), Error::kOk);
    EXPECT_EQ(moved.set_input(2, kB, kTwoByTwo, DType::kF32), Error::kInvalidArgument);
    EXPECT_TRUE(moved.get_output(1).is_none());
    OnDevices other(host_add());
    ASSERT_EQ(other.load(), Error::kOk);
    moved = std::move(*other.method);
    EXPECT_EQ(on.add.live, 0);
    EXPECT_EQ(other.add.live, 1);
    moved = Method(nullptr);
    EXPECT_EQ(other.add.live, 0);
  }
  EXPECT_EQ(on.add.live, 0);
}

TEST(MethodDelegates, AMissingBackendIsNamedAndTheFileCanBeInspected) {
  OnDevices on(delegated_add());
  on.options.backends = {};
  EXPECT_EQ(on.load(), Error::kNotFound);
  EXPECT_EQ(on.said(),
            "methods[forward].delegates[0]: no backend \"FakeAdd\" was given to Program::load (LoadOptions::backends)");
  const MethodMeta meta = on.program->method_meta("forward").value();
  EXPECT_EQ(meta.num_delegates(), 1u);
  EXPECT_STREQ(meta.delegate_id(0), "FakeAdd");
  EXPECT_TRUE(on.cuda.calls().empty());

  Backend* null[] = {nullptr};
  on.options.backends = null;
  EXPECT_EQ(on.open(), Error::kInvalidArgument);
  Backend* many[Program::kMaxBackends + 1];
  for (Backend*& backend : many) backend = &on.add;
  on.options.backends = many;
  EXPECT_EQ(on.open(), Error::kInvalidArgument);
}

// Two stand-ins of one name, as where a simulated device stands in for another: the device decides.
TEST(MethodDelegates, BackendsOfOneNameAreChosenByDevice) {
  AddBackend first, second, third;
  first.refused = DeviceType::kCuda;
  second.refused = DeviceType::kSim;
  third.refused = DeviceType::kSim;
  Backend* const backends[] = {&first, &second, &third};
  OnDevices on(delegated_add());
  on.options.backends = backends;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.program->find_backend("FakeAdd", DeviceType::kCuda), &second);
  EXPECT_EQ(on.program->find_backend("FakeAdd", DeviceType::kSim), &first);
  EXPECT_EQ(on.program->find_backend("FakeAdd", DeviceType::kCpu), &first) << "the first that serves it";
  EXPECT_EQ(on.program->find_backend("FakeAdd"), &first);
  EXPECT_EQ(on.program->find_backend("fakeadd", DeviceType::kCuda), nullptr);
  EXPECT_EQ(on.program->find_backend("", DeviceType::kCuda), nullptr);
  EXPECT_EQ(first.loads, 0);
  EXPECT_EQ(second.live, 1) << "the delegate is on cuda:0";
  ASSERT_EQ(run(on), Error::kOk);
  EXPECT_EQ(second.runs, 1);
  on.method.reset();
}

// Where none serves the device, the first of the name says so.
TEST(MethodDelegates, BackendsOfOneNameAreFoundThoughNoneServesTheDevice) {
  AddBackend first, second;
  first.refused = second.refused = DeviceType::kCuda;
  Backend* const backends[] = {&first, &second};
  OnDevices on(delegated_add());
  on.options.backends = backends;
  EXPECT_EQ(on.load(), Error::kNotSupported);
  EXPECT_EQ(on.program->find_backend("FakeAdd", DeviceType::kCuda), &first);
}

TEST(MethodDelegates, ABackendMustServeTheDelegatesDevice) {
  OnDevices on(delegated_add());
  on.add.refused = DeviceType::kCuda;
  EXPECT_EQ(on.load(), Error::kNotSupported);
  EXPECT_EQ(on.said(), "methods[forward].delegates[0]: backend \"FakeAdd\" does not run on cuda:0");
}

TEST(MethodDelegates, TargetDeviceIsParsedStrictly) {
  const auto said = [](std::vector<std::string> texts) {
    ProgramDesc desc = delegated_add();
    auto& specs = desc.methods[0].delegates[0].compile_specs;
    specs.clear();
    for (const std::string& text : texts) specs.push_back({kTargetDevice, {text.begin(), text.end()}});
    OnDevices on(desc);
    EXPECT_NE(on.load(), Error::kOk);
    EXPECT_EQ(on.add.loads, 0);
    return on.said();
  };
  EXPECT_EQ(said({"tpu:0"}),
            std::string(
                "methods[forward].delegates[0]: target_device \"tpu:0\" is not a device; expected one of the types ") +
                device_type_names() + ", all but cpu with an index from 0 to 127 as in cuda:0");
  EXPECT_NE(said({"cuda:300"}).find("is not a device"), std::string::npos);
  EXPECT_NE(said({""}).find("is not a device"), std::string::npos);
  EXPECT_EQ(said({"cuda:0", "cuda:1"}),
            "methods[0].delegates[0]: target_device is both cuda:0 and cuda:1; expected one device");
  EXPECT_NE(said({"cuda:1"}).find("argument 0 is on cuda:0, the delegate on cuda:1"), std::string::npos);
  EXPECT_NE(said(std::vector<std::string>(33, "cuda:0")).find("at most 32 compile specs, found 33"), std::string::npos);
}

TEST(MethodDelegates, MemoryNeededIncludesThem) {
  const auto needed = [](size_t method, size_t temp) {
    OnDevices on(host_add());
    on.add.method_bytes = method;
    on.add.temp_bytes = temp;
    EXPECT_EQ(on.load(), Error::kOk) << on.said();
    EXPECT_EQ(run(on), Error::kOk);
    return on.needed;
  };
  const MemoryNeeded small = needed(64, 0);
  const MemoryNeeded large = needed(64 + 4000, 5000);
  EXPECT_EQ(large.method_bytes - small.method_bytes, 4000u);
  EXPECT_EQ(small.temp_bytes, 0u);
  EXPECT_EQ(large.temp_bytes, 5000u);
}

TEST(MethodDelegates, TooLittleMemoryIsRefusedBeforeAnyIsLoaded) {
  OnDevices on(host_add());
  on.add.temp_bytes = 4096;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  on.method.reset();
  alignas(16) static uint8_t memory[16384];
  const HierarchicalAllocator planned(on.spans, on.devices);
  for (const size_t bytes : {on.needed.method_bytes - 1, size_t{0}}) {
    MemoryAllocator allocator({memory, bytes});
    EXPECT_EQ(on.program->load_method("forward", MemoryManager(allocator, planned, on.temp)).error(),
              Error::kMemoryAllocationFailed);
  }
  MemoryAllocator allocator(memory);
  std::vector<uint8_t> temp(4095);
  EXPECT_EQ(on.program->load_method("forward", MemoryManager(allocator, planned, temp), nullptr, &on.report).error(),
            Error::kMemoryAllocationFailed);
  EXPECT_EQ(on.said().find("temp memory: 4096 bytes"), 0u);
  EXPECT_EQ(on.add.loads, 1);
  EXPECT_EQ(on.add.live, 0);
}

// Two delegates; the one that fails takes the other with it.
TEST(MethodDelegates, AFailedLoadUnloadsTheLoaded) {
  for (int n = 1; n <= 3; ++n) {
    ProgramDesc desc = delegated_add();
    MethodDesc& m = desc.methods[0];
    m.delegates.push_back(m.delegates[0]);
    m.instructions.insert(m.instructions.begin() + 3, DelegateCallDesc{1, {2, 3, 4}});
    OnDevices on(desc);
    on.cuda.has_streams = true;
    on.add.fail_load = n;
    const Error error = on.load();
    if (n == 3) {
      ASSERT_EQ(error, Error::kOk) << on.said();
      EXPECT_EQ(on.add.live, 2);
      continue;
    }
    EXPECT_EQ(error, Error::kOutOfResources);
    EXPECT_EQ(on.said(), n == 1 ? "methods[forward].delegates[0]: FakeAdd, chip: it is busy"
                                : "methods[forward].delegates[1]: FakeAdd, chip: it is busy");
    EXPECT_EQ(on.add.live, 0);
    on.device_arenas.clear();
    EXPECT_EQ(on.cuda.live(), 0u);
  }
}

// Each delegate has its backend read its payload: a file of a megabyte must not make that hours.
TEST(MethodDelegates, ALargePayloadIsNotReadOnceForEachOfManyDelegates) {
  ProgramDesc desc = delegated_add();
  desc.payloads[0] = format::Bytes::of(std::vector<uint8_t>(size_t{1} << 20, 7));
  MethodDesc& method = desc.methods[0];
  method.delegates.resize(48, method.delegates[0]);
  {
    OnDevices on(desc);
    EXPECT_EQ(on.load(), Error::kOk) << on.said();
  }
  method.delegates.resize(80, method.delegates[0]);
  OnDevices on(desc);
  EXPECT_EQ(on.load(), Error::kInvalidProgram);
  EXPECT_NE(on.said().find("delegates share payloads so often"), std::string::npos) << on.said();
}

TEST(MethodDelegates, ARefusedPayloadIsReportedInTheBackendsWords) {
  ProgramDesc desc = host_add();
  desc.payloads = {format::Bytes::of({'a'})};
  OnDevices on(desc);
  EXPECT_EQ(on.load(), Error::kInvalidProgram);
  EXPECT_EQ(on.said(), "methods[forward].delegates[0]: FakeAdd, payload: it is too short");
}

TEST(MethodDelegates, AFailedRunHasThePlaceAndTheReason) {
  OnDevices on(delegated_add());
  on.add.fail_run = 1;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(run(on), Error::kAccessFailed);
  EXPECT_STREQ(on.method->last_report().place, "methods[forward].instructions[2] FakeAdd");
  EXPECT_STREQ(on.method->last_report().message, "the chip does not answer");
  EXPECT_EQ(on.method->next_instruction(), 0u);
  EXPECT_EQ(run(on), Error::kOk);
}

class NamedBackend final : public Backend {
 public:
  explicit NamedBackend(const char* name) : name_(name) {}
  const char* name() const override { return name_; }
  bool serves(DeviceType) const override { return true; }
  Error memory_needed(const DelegateSource&, Span<uint8_t>, int, DelegateMemory* needed,
                      format::Report*) const override {
    *needed = {0, 0, read_arguments};
    return Error::kOk;
  }
  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad&, format::Report*) override {
    seen = source;
    ++loads;
    return reinterpret_cast<DelegateHandle*>(this);
  }
  Error execute(DelegateHandle*, KernelContext&, Span<EValue* const>) override {
    ++runs;
    return Error::kOk;
  }
  void unload(DelegateHandle*) override {}

  size_t read_arguments = SIZE_MAX;
  DelegateSource seen;
  int loads = 0;
  int runs = 0;

 private:
  const char* name_;
};

TEST(MethodDelegates, OneOfBerthsOwnIsCalledOnce) {
  for (const char* name : {"berth.toy", "toy"}) {
    ProgramDesc desc = host_add();
    MethodDesc& m = desc.methods[0];
    m.delegates[0].id = name;
    m.instructions.emplace_back(DelegateCallDesc{0, {0, 1, 2}});
    NamedBackend toy(name);
    Backend* backends[] = {&toy};
    OnDevices on(desc);
    on.options.backends = backends;
    if (name[0] == 'b') {
      EXPECT_EQ(on.load(), Error::kInvalidProgram);
      EXPECT_EQ(on.said(),
                "methods[forward].instructions[1]: delegate 0 of berth.toy is called by instruction 0 already; each "
                "call needs its own delegate");
      EXPECT_EQ(toy.loads, 0);
      continue;
    }
    ASSERT_EQ(on.load(), Error::kOk) << on.said();
    ASSERT_EQ(run(on), Error::kOk);
    EXPECT_EQ(toy.loads, 1);
    EXPECT_EQ(toy.runs, 2);
    on.method.reset();
  }
}

TEST(MethodDelegates, OneThatNothingCallsIsNotLoaded) {
  ProgramDesc desc = host_add();
  desc.methods[0].delegates.push_back(desc.methods[0].delegates[0]);
  OnDevices on(desc);
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.add.loads, 1);
}

// Holds row 93.
TEST(MethodDelegates, TheSourceHasPayloadSpecsDeviceAndBlobs) {
  ProgramDesc desc = delegated_add();
  desc.methods[0].delegates[0].id = "toy";
  desc.named_data = {{"weights", format::Bytes::of({1, 2, 3, 4}), 16}};
  NamedBackend toy("toy");
  Backend* backends[] = {&toy};
  OnDevices on(desc);
  on.options.backends = backends;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(toy.seen.device, kCuda0);
  EXPECT_EQ(toy.seen.registry, &on.registry);
  EXPECT_TRUE(toy.seen.verify);
  ASSERT_EQ(toy.seen.payload.size(), 3u);
  EXPECT_EQ(std::memcmp(toy.seen.payload.data(), "add", 3), 0);
  ASSERT_EQ(toy.seen.specs.size(), 2u);
  EXPECT_STREQ(toy.seen.specs[0].key, "rounds");
  EXPECT_EQ(toy.seen.specs[0].value[0], 1);
  const Result<FreeableBuffer> weights = toy.seen.named_data->get("weights");
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(weights->size(), 4u);
  EXPECT_EQ(weights->data()[3], 4);
  EXPECT_EQ(toy.seen.named_data->get("bias").error(), Error::kNotFound);
  on.method.reset();

  OnDevices minimal(desc);
  minimal.options.backends = backends;
  minimal.options.verification = Verification::kMinimal;
  ASSERT_EQ(minimal.load(), Error::kOk) << minimal.said();
  EXPECT_FALSE(toy.seen.verify);
  minimal.method.reset();
}

TEST(MethodDelegates, DoNotWriteConstantsAndCallersInputs) {
  const auto load = [](size_t read_arguments, void (*bend)(ProgramDesc&)) {
    ProgramDesc desc = host_add();
    desc.methods[0].delegates[0].id = "toy";
    desc.constants = {format::Bytes::of(std::vector<uint8_t>(16))};
    bend(desc);
    NamedBackend toy("toy");
    toy.read_arguments = read_arguments;
    Backend* backends[] = {&toy};
    OnDevices on(desc);
    on.options.backends = backends;
    on.options.verification = Verification::kMinimal;
    const Error error = on.load();
    on.method.reset();
    return error;
  };
  const auto constant = [](ProgramDesc& p) {
    p.methods[0].values[2] = format::testing::constant({2, 2}, 1);
    p.methods[0].outputs = {0};
  };
  const auto reads_constant = [](ProgramDesc& p) {
    p.methods[0].values[1] = format::testing::constant({2, 2}, 1);
    p.methods[0].inputs = {0};
  };
  const auto input = [](ProgramDesc& p) {
    p.methods[0].values[1] = format::testing::tensor({2, 2});
    p.methods[0].instructions = {DelegateCallDesc{0, {0, 0, 1}}};
  };
  EXPECT_EQ(load(2, constant), Error::kInvalidProgram);
  EXPECT_EQ(load(SIZE_MAX, constant), Error::kOk);
  EXPECT_EQ(load(2, reads_constant), Error::kOk);
  EXPECT_EQ(load(1, reads_constant), Error::kInvalidProgram);
  EXPECT_EQ(load(2, input), Error::kInvalidProgram);
  EXPECT_EQ(load(3, input), Error::kOk);
  const auto nowhere = [](ProgramDesc& p) {
    p.methods[0].values[2] = format::testing::tensor({2, 2});
    p.methods[0].outputs = {0};
  };
  EXPECT_EQ(load(2, nowhere), Error::kInvalidProgram);
}

}  // namespace
}  // namespace berth
