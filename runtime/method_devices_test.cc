// Methods on devices: where tensors lie, what is uploaded, what ports take, what is refused before anything is taken.

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/device_programs_testing.h"

namespace berth {
namespace {

using format::KernelCallDesc;
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
using testing::on_device;
using testing::OnDevices;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

constexpr Device kCuda1 = Device(DeviceType::kCuda, 1);

TensorDesc& value(ProgramDesc& desc, size_t index) { return std::get<TensorDesc>(desc.methods[0].values[index]); }

// Holds row 42, row 56.
TEST(MethodDevices, MetaKnowsTheArenasBeforeAnythingIsAllocated) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  const MethodMeta meta = on.program->method_meta("forward").value();
  ASSERT_EQ(meta.num_memory_planned_buffers(), 2u);
  EXPECT_EQ(meta.memory_planned_buffer_device(0).value(), Device());
  EXPECT_EQ(meta.memory_planned_buffer_size(0).value(), 32u);
  EXPECT_EQ(meta.memory_planned_buffer_device(1).value(), kCuda0);
  EXPECT_EQ(meta.memory_planned_buffer_size(1).value(), 48u);
  EXPECT_EQ(meta.memory_planned_buffer_alignment(1), kArenaAlignment);
  EXPECT_EQ(meta.memory_planned_buffer_device(2).error(), Error::kInvalidArgument);
  EXPECT_EQ(meta.memory_planned_buffer_size(2).error(), Error::kInvalidArgument);
  EXPECT_TRUE(on.cuda.calls().empty());
}

// Holds row 45, row 46, row 47.
TEST(MethodDevices, TensorsLieInTheArenaOfTheirDevice) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.cuda.count(Kind::kAllocate), 1u);
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  // The copies' arguments are the three tensors there.
  const auto up = on.cuda.calls(Kind::kHostToDevice);
  const auto down = on.cuda.calls(Kind::kDeviceToHost);
  ASSERT_EQ(up.size(), 2u);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(up[0].target, on.spans[1].data());
  EXPECT_EQ(up[1].target, on.spans[1].data() + 16);
  EXPECT_EQ(down[0].source, on.spans[1].data() + 32);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(on.method->get_input(i).tensor().device(), Device());
  const Tensor& out = on.method->get_output(0).tensor();
  EXPECT_EQ(out.device(), Device());
  EXPECT_EQ(out.raw(), on.spans[0].data());
  EXPECT_EQ(std::vector<float>(out.data<float>(), out.data<float>() + 4), (std::vector<float>{11, 22, 33, 44}));
}

// Holds row 45: the tags of all six.
TEST(MethodDevices, TensorsHaveTheirDevices) {
  ProgramDesc desc = delegated_add();
  desc.methods[0].outputs = {0, 1, 2, 3, 4, 5};
  OnDevices on(desc);
  // The plan gives the first output's bytes away; here only the tags matter.
  on.options.verification = Verification::kMinimal;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  const Device expected[] = {Device(), Device(), kCuda0, kCuda0, kCuda0, Device()};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(on.method->get_output(i).tensor().device(), expected[i]) << i;
    EXPECT_EQ(on.method->meta().output_tensor_meta(i).value().device, expected[i]) << i;
  }
}

TEST(MethodDevices, ARenamedDeviceIsRenamedThroughout) {
  OnDevices on(delegated_add());
  const DeviceMapping mapping[] = {{kCuda0, kCuda1}};
  on.options.devices = mapping;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.method->meta().memory_planned_buffer_device(1).value(), kCuda1);
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  for (const auto& call : on.cuda.calls()) EXPECT_EQ(call.index, 1);
  EXPECT_EQ(on.method->get_output(0).tensor().data<float>()[3], 44);
}

TEST(MethodDevices, RenamesMustMakeSense) {
  OnDevices on(delegated_add());
  const DeviceMapping wrong[][2] = {{{Device(), kCuda0}, {kCuda1, kCuda0}},
                                    {{kCuda0, Device()}, {kCuda1, kCuda0}},
                                    {{kCuda0, kCuda1}, {kCuda0, kCuda0}},
                                    {{kCuda0, Device(DeviceType::kCuda, -1)}, {kCuda1, kCuda0}}};
  for (const auto& mapping : wrong) {
    on.options.devices = mapping;
    EXPECT_EQ(on.open(), Error::kInvalidArgument);
    EXPECT_STREQ(on.report.place, "devices");
  }
  const DeviceMapping missing[] = {{kCuda0, Device(DeviceType::kCuda, 5)}};
  on.options.devices = missing;
  ASSERT_EQ(on.open(), Error::kOk);
  EXPECT_EQ(on.load(), Error::kNotFound);
  EXPECT_EQ(on.said(), "methods[forward].arenas[1]: cuda:5 is used, but this machine has 2 devices of its type");
  const DeviceMapping swap[] = {{kCuda0, kCuda1}, {kCuda1, kCuda0}};
  on.options.devices = swap;
  ASSERT_EQ(on.open(), Error::kOk);
  EXPECT_EQ(on.program->method_meta("forward")->memory_planned_buffer_device(1).value(), kCuda1);
}

ProgramDesc with_state() {
  ProgramDesc desc = delegated_add();
  MethodDesc& m = desc.methods[0];
  m.values.emplace_back(on_device({4}, 2, 64, kCuda0));    // 6
  m.values.emplace_back(on_device({250}, 2, 80, kCuda0));  // 7
  m.values.emplace_back(format::testing::tensor({4}, 32));
  m.values.emplace_back(format::testing::tensor({250}, 48));
  for (const size_t initial : {size_t{6}, size_t{8}}) value(desc, initial).data_buffer_idx = 1;
  for (const size_t named : {size_t{7}, size_t{9}}) value(desc, named).name = "cache";
  m.outputs = {5, 6, 7, 8, 9};
  m.arenas = {{1056, Device()}, {1088, kCuda0}};
  std::vector<uint8_t> bytes(16);
  for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  desc.initial_values = {format::Bytes::of(bytes)};
  return desc;
}

// "forward" and "other".
ProgramDesc two_methods(ProgramDesc desc) {
  desc.methods.push_back(desc.methods[0]);
  desc.methods[1].name = "other";
  return desc;
}

Device arena_of(const OnDevices& on, const char* method) {
  return on.program->method_meta(method)->memory_planned_buffer_device(1).value();
}

TEST(MethodDevices, ADeviceMayBeRenamedForOneMethod) {
  OnDevices on(two_methods(delegated_add()));
  std::string name = "other";
  const DeviceMapping mapping[] = {{kCuda0, kCuda1, name.c_str()}};
  on.options.devices = mapping;
  ASSERT_EQ(on.open(), Error::kOk) << on.said();
  name = "xxxxx";  // it need not live longer
  EXPECT_EQ(arena_of(on, "forward"), kCuda0);
  EXPECT_EQ(arena_of(on, "other"), kCuda1);
  EXPECT_EQ(on.program->method_meta(1)->memory_planned_buffer_device(1).value(), kCuda1);
  on.name = "other";
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  for (const auto& call : on.cuda.calls()) EXPECT_EQ(call.index, 1);
  EXPECT_EQ(on.method->get_output(0).tensor().data<float>()[3], 44);
}

TEST(MethodDevices, AMethodsOwnRenameWinsWhateverTheOrder) {
  const DeviceMapping own = {kCuda0, kCuda0, "other"};
  const DeviceMapping all = {kCuda0, kCuda1};
  const DeviceMapping both[][2] = {{own, all}, {all, own}};
  for (const auto& mapping : both) {
    OnDevices on(two_methods(delegated_add()));
    on.options.devices = mapping;
    ASSERT_EQ(on.open(), Error::kOk) << on.said();
    EXPECT_EQ(arena_of(on, "forward"), kCuda1);
    EXPECT_EQ(arena_of(on, "other"), kCuda0);
  }
}

TEST(MethodDevices, RenamesOfOneMethodMustMakeSense) {
  OnDevices on(two_methods(delegated_add()));
  const DeviceMapping nowhere[] = {{kCuda0, kCuda1, "nowhere"}};
  on.options.devices = nowhere;
  EXPECT_EQ(on.open(), Error::kInvalidArgument);
  EXPECT_EQ(on.said(), "devices: cuda:0 is mapped for method nowhere, which does not exist");
  const DeviceMapping twice[] = {{kCuda0, kCuda1, "other"}, {kCuda0, kCuda0, "other"}};
  on.options.devices = twice;
  EXPECT_EQ(on.open(), Error::kInvalidArgument);
  std::vector<DeviceMapping> many;
  for (DeviceIndex i = 0; i < 9; ++i)
    many.push_back({Device(DeviceType::kCuda, i), kCuda1, i % 2 == 0 ? "other" : nullptr});
  on.options.devices = many;
  EXPECT_EQ(on.open(), Error::kOutOfResources);
}

TEST(MethodDevices, StateOfTwoMethodsIsNotTornApart) {
  for (const size_t state : {size_t{6}, size_t{7}}) {  // with an initial value, and without
    ProgramDesc desc = with_state();
    value(desc, 6).name = state == 6 ? "shared" : "";
    value(desc, 7).name = state == 7 ? "shared" : "";
    OnDevices on(two_methods(desc));
    const DeviceMapping torn[] = {{kCuda0, kCuda1, "other"}};
    on.options.devices = torn;
    EXPECT_EQ(on.open(), Error::kInvalidArgument);
    EXPECT_EQ(
        on.said(),
        "devices: state \"shared\" of methods forward and other would be on two devices; map the device for both");
    const DeviceMapping both[] = {{kCuda0, kCuda1, "other"}, {kCuda0, kCuda1, "forward"}};
    on.options.devices = both;
    EXPECT_EQ(on.open(), Error::kOk) << on.said();
  }
  // Each has its own.
  ProgramDesc apart = two_methods(with_state());
  for (const size_t state : {size_t{6}, size_t{7}}) {
    std::get<TensorDesc>(apart.methods[0].values[state]).name = "a" + std::to_string(state);
    std::get<TensorDesc>(apart.methods[1].values[state]).name = "b" + std::to_string(state);
  }
  OnDevices on(apart);
  const DeviceMapping one[] = {{kCuda0, kCuda1, "other"}};
  on.options.devices = one;
  EXPECT_EQ(on.open(), Error::kOk) << on.said();
}

TEST(MethodDevices, AMissingDeviceIsRefusedBeforeAnythingIsTaken) {
  const DeviceAllocatorRegistry empty;
  OnDevices on(delegated_add());
  on.options.registry = &empty;
  EXPECT_EQ(on.load(), Error::kNotFound);
  EXPECT_EQ(on.said(), "methods[forward].arenas[1]: cuda:0 is used, but no allocator is registered for its type");
  // The file can be looked at nevertheless.
  EXPECT_EQ(on.program->method_meta("forward")->memory_planned_buffer_device(1).value(), kCuda0);
  EXPECT_TRUE(on.cuda.calls().empty());

  OnDevices absent(delegated_add(Device(DeviceType::kCuda, 9)));
  EXPECT_EQ(absent.load(), Error::kNotFound);
  EXPECT_NE(absent.said().find("cuda:9 is used, but this machine has 2"), std::string::npos);
  EXPECT_TRUE(absent.cuda.calls().empty());
}

TEST(MethodDevices, TheCallersArenasMustBeOnTheFilesDevices) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  on.method.reset();
  std::vector<uint8_t> memory(65536);
  MemoryAllocator allocator(memory);
  const auto load = [&](Span<const Device> devices) {
    allocator.reset();
    const HierarchicalAllocator planned(on.spans, devices);
    const auto method =
        on.program->load_method("forward", MemoryManager(allocator, planned, on.temp), nullptr, &on.report);
    return method.ok() ? Error::kOk : method.error();
  };
  const Device right[] = {Device(), kCuda0};
  EXPECT_EQ(load(right), Error::kOk);
  const Device other[] = {Device(), kCuda1};
  EXPECT_EQ(load(other), Error::kInvalidArgument);
  EXPECT_EQ(on.said(), "methods[forward].arenas[1]: it must be on cuda:0, but is on cuda:1");
  EXPECT_EQ(load({}), Error::kInvalidArgument);
  const Device one[] = {Device()};
  EXPECT_EQ(load(one), Error::kInvalidArgument);
  EXPECT_NE(on.said().find("2 arenas were given with 1 devices"), std::string::npos);
  const Device swapped[] = {kCuda0, Device()};
  EXPECT_EQ(load(swapped), Error::kInvalidArgument);
}

// Holds row 35.
TEST(MethodDevices, MethodAndTempMemoryMayNotOverlap) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  on.method.reset();
  std::vector<uint8_t> memory(65536);
  MemoryAllocator allocator(memory);
  const HierarchicalAllocator planned(on.spans, on.devices);
  EXPECT_EQ(on.program->load_method("forward", MemoryManager(allocator, planned, memory), nullptr, &on.report).error(),
            Error::kInvalidArgument);
  EXPECT_STREQ(on.report.place, "temp memory");
  const Span<uint8_t> overlapping[] = {{memory.data() + 1024, 32}, on.spans[1]};
  const HierarchicalAllocator inside(overlapping, on.devices);
  EXPECT_EQ(on.program->load_method("forward", MemoryManager(allocator, inside, on.temp), nullptr, &on.report).error(),
            Error::kInvalidArgument);
  EXPECT_EQ(allocator.used_size(), 0u);
}

// State on the device at [0, 16) with an initial value, at [16, 1016) by name alone; on the host the same.
TEST(MethodDevices, StateIsInitialisedOnHostAndDevicesWhateverTheArenaHeld) {
  OnDevices on(with_state());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  for (const size_t output : {size_t{1}, size_t{3}}) {
    const Tensor& tensor = on.method->get_output(output).tensor();
    const uint8_t* bytes = static_cast<const uint8_t*>(tensor.raw());
    if (output == 1) bytes = RecordingAllocator::host(bytes);
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(bytes[i], i + 1);
  }
  for (const size_t output : {size_t{2}, size_t{4}}) {
    const Tensor& tensor = on.method->get_output(output).tensor();
    const uint8_t* bytes = static_cast<const uint8_t*>(tensor.raw());
    if (output == 2) bytes = RecordingAllocator::host(bytes);
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(bytes[i], 0) << output << " " << i;
  }
  // Nothing beside them was touched.
  EXPECT_EQ(RecordingAllocator::host(on.spans[1].data())[1080], 0xcd);
  EXPECT_EQ(on.host_arenas[0][1048], 0xab);
  // Initial value; 256 zeros, then doubled: 256, 488.
  EXPECT_EQ(on.cuda.count(Kind::kHostToDevice), 2u);
  EXPECT_EQ(on.cuda.count(Kind::kDeviceToDevice), 2u);
}

TEST(MethodDevices, AFailedStateUploadIsAnErrorWithItsPlace) {
  for (size_t n = 1; n <= 4; ++n) {
    OnDevices on(with_state());
    on.cuda.has_streams = true;
    on.cuda.fail_copy = n;
    EXPECT_EQ(on.load(), Error::kInternal);
    EXPECT_EQ(on.said().find(n == 1 ? "methods[forward].values[6]: " : "methods[forward].values[7]: "), 0u)
        << on.said();
    EXPECT_EQ(on.add.live, 0);
    on.device_arenas.clear();
    EXPECT_EQ(on.cuda.live(), 0u);
  }
}

TEST(MethodDevices, DeviceInputsAreTakenInPlaceWithoutACopy) {
  OnDevices on(device_io_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  auto a = DeviceMemoryBuffer::create(16, kCuda0, 16, on.registry).value();
  auto out = DeviceMemoryBuffer::create(16, kCuda0, 16, on.registry).value();
  std::memcpy(RecordingAllocator::host(a.data()), kA, 16);
  ASSERT_EQ(on.method->set_input(0, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kOk);
  ASSERT_EQ(on.method->set_output_data_ptr(0, out.data(), 16, kCuda0), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk) << on.method->last_report().message;
  EXPECT_EQ(on.cuda.copies(), 0u);
  EXPECT_EQ(on.method->get_output(0).tensor().raw(), out.data());
  EXPECT_EQ(on.method->get_output(0).tensor().device(), kCuda0);
  const float* result = static_cast<const float*>(RecordingAllocator::host(out.data()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(result[i], 2 * kA[i]);
}

// Holds row 53.
TEST(MethodDevices, InputsAndOutputsOfAnotherDeviceAreRefused) {
  OnDevices on(device_io_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  float host[4] = {};
  EXPECT_EQ(on.method->set_input(0, host, kTwoByTwo, DType::kF32), Error::kNotSupported);
  EXPECT_STREQ(on.method->last_report().place, "methods[forward].inputs[0]");
  EXPECT_STREQ(on.method->last_report().message, "the input is on cuda:0 and the tensor on cpu; copy it there first");
  EXPECT_EQ(on.method->set_input(0, host, kTwoByTwo, DType::kF32, kCuda1), Error::kNotSupported);
  EXPECT_EQ(on.method->set_output_data_ptr(0, host, 16), Error::kNotSupported);
  EXPECT_STREQ(on.method->last_report().message, "the output is on cuda:0 and the memory on cpu");
  EXPECT_EQ(on.method->execute(), Error::kInvalidState);

  OnDevices planned(delegated_add());
  ASSERT_EQ(planned.load(), Error::kOk) << planned.said();
  auto a = DeviceMemoryBuffer::create(16, kCuda0, 16, planned.registry).value();
  EXPECT_EQ(planned.method->set_input(0, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kNotSupported);
  EXPECT_STREQ(planned.method->last_report().message,
               "the input is on cpu and the tensor on cuda:0; copy it there first");
  int32_t sizes[] = {2, 2};
  const uint8_t order[] = {0, 1};
  int64_t strides[2];
  Tensor tensor(DType::kF32, 2, sizes, order, strides, a.data(), ShapeDynamism::kStatic, kCuda0);
  EXPECT_EQ(planned.method->set_input(0, EValue(&tensor)), Error::kNotSupported);
}

// Holds row 52.
TEST(MethodDevices, HostInputsArriveInThePlannedTensor) {
  OnDevices on(delegated_add());
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  const Tensor& input = on.method->get_input(0).tensor();
  EXPECT_NE(input.raw(), static_cast<const void*>(kA));
  EXPECT_EQ(std::memcmp(input.raw(), kA, sizeof kA), 0);
}

TEST(MethodDevices, PlannedDeviceInputsAreCopiedOnTheDevice) {
  ProgramDesc desc = device_io_add();
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) value(desc, i).planned = format::ArenaOffset{1, 16 * i};
  desc.methods[0].arenas = {{48, kCuda0}};
  OnDevices on(desc);
  on.cuda.has_streams = true;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  auto a = DeviceMemoryBuffer::create(16, kCuda0, 16, on.registry).value();
  std::memcpy(RecordingAllocator::host(a.data()), kB, 16);
  ASSERT_EQ(on.method->set_input(0, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kOk);
  ASSERT_EQ(on.cuda.count(Kind::kDeviceToDevice), 1u);
  // The caller may fill its memory anew at once.
  EXPECT_EQ(on.cuda.calls().back().kind, Kind::kSynchronize);
  std::memset(RecordingAllocator::host(a.data()), 0, 16);
  ASSERT_EQ(on.method->set_input(1, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  EXPECT_EQ(static_cast<const float*>(RecordingAllocator::host(on.method->get_output(0).tensor().raw()))[2], 30);
  on.cuda.fail_copy = 3;
  EXPECT_EQ(on.method->set_input(0, a.data(), kTwoByTwo, DType::kF32, kCuda0), Error::kInternal);
}

TEST(MethodDevices, StreamsAreOnePerDeviceAndAwaitedAtTheEnd) {
  OnDevices on(delegated_add());
  on.cuda.has_streams = true;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.cuda.live(), 2u);  // the arena and the stream
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  const auto calls = on.cuda.calls(Kind::kHostToDevice);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_NE(calls[0].stream, nullptr);
  EXPECT_EQ(calls[0].stream, calls[1].stream);
  EXPECT_EQ(on.cuda.calls().back().kind, Kind::kSynchronize);
  on.method.reset();
  EXPECT_EQ(on.cuda.live(), 1u);

  OnDevices failing(delegated_add());
  failing.cuda.has_streams = true;
  failing.cuda.fail_stream = 1;
  EXPECT_EQ(failing.load(), Error::kOutOfResources);
  EXPECT_EQ(failing.said(), "devices: cuda:0 did not create a stream");
  EXPECT_EQ(failing.add.loads, 0);
}

// Methods that share arenas have streams of their own: what one load began is over before the next.
TEST(MethodDevices, StreamsAreAwaitedAtTheEndOfTheLoad) {
  OnDevices on(delegated_add());
  on.cuda.has_streams = true;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  EXPECT_EQ(on.cuda.calls().back().kind, Kind::kSynchronize);
  OnDevices failing(delegated_add());
  failing.cuda.has_streams = true;
  failing.cuda.fail_synchronize = 1;
  EXPECT_EQ(failing.load(), Error::kInternal);
  EXPECT_EQ(failing.said(), "devices: work on a device failed while the method was loaded");
}

TEST(MethodDevices, AFailureOnAStreamIsTheErrorOfTheRun) {
  OnDevices on(delegated_add());
  on.cuda.has_streams = true;
  on.cuda.fail_synchronize = 2;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  EXPECT_EQ(on.method->execute(), Error::kInternal);
  EXPECT_STREQ(on.method->last_report().place, "methods[forward]");
  EXPECT_STREQ(on.method->last_report().message, "work on a device failed after the last instruction");
  on.cuda.fail_synchronize = 3;
  on.cuda.explanation = "index 9 is outside";
  EXPECT_EQ(on.method->execute(), Error::kInternal);
  EXPECT_STREQ(on.method->last_report().message, "index 9 is outside");
  EXPECT_EQ(on.method->execute(), Error::kOk);
}

TEST(MethodDevices, AFailedCopyEndsTheRunAndLosesNothing) {
  for (size_t n = 1; n <= 3; ++n) {
    OnDevices on(delegated_add());
    on.cuda.has_streams = true;
    on.cuda.fail_copy = n;
    ASSERT_EQ(on.load(), Error::kOk) << on.said();
    ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
    ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
    EXPECT_EQ(on.method->execute(), Error::kInternal);
    EXPECT_NE(std::string(on.method->last_report().place).find(n == 3 ? "instructions[3]" : "instructions["),
              std::string::npos);
    EXPECT_EQ(on.method->execute(), Error::kOk);
    on.method.reset();
    on.device_arenas.clear();
    EXPECT_EQ(on.cuda.live(), 0u);
    EXPECT_EQ(on.add.live, 0);
  }
}

// No host code follows a device's address: each of these would crash if it ran.
TEST(MethodDevices, HostCodeNeverGetsADeviceTensor) {
  ProgramDesc scalar = delegated_add();
  value(scalar, 2).sizes = {1};
  value(scalar, 2).dim_order = {0};
  value(scalar, 0).sizes = {1};
  value(scalar, 0).dim_order = {0};
  scalar.methods[0].values.emplace_back(int64_t{0});
  scalar.methods[0].operators.push_back({"aten::_local_scalar_dense", ""});
  scalar.methods[0].instructions[2] = KernelCallDesc{2, {2, 6}};
  OnDevices on(scalar);
  EXPECT_EQ(on.load(), Error::kInvalidProgram);
  EXPECT_EQ(on.said(),
            "methods[forward].instructions[2] aten::_local_scalar_dense: argument 0 is on cuda:0, which a kernel of "
            "the host cannot access");

  const auto never = [](KernelContext&, Span<EValue* const>) -> Error { std::abort(); };
  const KernelEntry table[] = {{"test::touch.out", "Tensor self -> Tensor out", never},
                               {"test::list.out", "Tensor?[] tensors -> Tensor out", never}};
  for (const std::vector<int32_t>& args : {std::vector<int32_t>{2, 5, 5}, {5, 4, 4}}) {
    ProgramDesc kernel = delegated_add();
    kernel.methods[0].operators.push_back({"test::touch", "out"});
    kernel.methods[0].instructions[2] = KernelCallDesc{2, args};
    OnDevices other(kernel);
    other.more_kernels = table;
    EXPECT_EQ(other.load(), Error::kInvalidProgram);
  }
  ProgramDesc list = delegated_add();
  list.methods[0].values.emplace_back(format::TensorListDesc{{0, 2}});
  list.methods[0].operators.push_back({"test::list", "out"});
  list.methods[0].instructions[2] = KernelCallDesc{2, {6, 5, 5}};
  OnDevices in_a_list(list);
  in_a_list.more_kernels = table;
  EXPECT_EQ(in_a_list.load(), Error::kInvalidProgram);
}

TEST(MethodDevices, HostCodeNeverGetsADeviceTensorThroughAMove) {
  const auto never = [](KernelContext&, Span<EValue* const>) -> Error { std::abort(); };
  const KernelEntry table[] = {{"test::touch.out", "Tensor self -> Tensor out", never}};
  ProgramDesc desc = delegated_add();
  MethodDesc& m = desc.methods[0];
  m.values.emplace_back(format::testing::tensor({2, 2}));  // 6
  m.operators.push_back({"test::touch", "out"});
  m.instructions = {KernelCallDesc{0, {0, 2, 2}}, format::MoveDesc{2, 6}, KernelCallDesc{2, {6, 5, 5}}};
  OnDevices on(desc);
  on.options.verification = Verification::kMinimal;
  on.more_kernels = table;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  EXPECT_EQ(on.method->execute(), Error::kInvalidProgram);
  EXPECT_NE(std::string(on.method->last_report().message).find("is on cuda:0"), std::string::npos);
}

TEST(MethodDevices, HostCodeDoesNotBranchOnADeviceCondition) {
  ProgramDesc desc = delegated_add();
  MethodDesc& m = desc.methods[0];
  TensorDesc condition = on_device({1}, 2, 0, kCuda0);
  condition.dtype = DType::kBool;
  m.values.emplace_back(condition);  // 6
  m.instructions.insert(m.instructions.begin() + 1, format::JumpFalseDesc{6, 2});
  OnDevices on(desc);
  on.options.verification = Verification::kMinimal;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kA, kTwoByTwo, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->set_input(1, kB, kTwoByTwo, DType::kF32), Error::kOk);
  EXPECT_EQ(on.method->execute(), Error::kInvalidProgram);
  EXPECT_STREQ(on.method->last_report().message,
               "the condition of a jump must be a boolean or a tensor of booleans on the host");
}

TEST(MethodDevices, DamagedProgramsAreRefusedWithoutVerificationToo) {
  for (const Verification verification : {Verification::kFull, Verification::kMinimal}) {
    const auto refused = [verification](void (*bend)(ProgramDesc&)) {
      ProgramDesc desc = delegated_add();
      bend(desc);
      OnDevices on(desc);
      on.options.verification = verification;
      const Error error = on.load();
      EXPECT_EQ(on.cuda.live(), on.device_arenas.size());
      EXPECT_EQ(on.add.loads, 0);
      return error;
    };
    EXPECT_EQ(refused([](ProgramDesc& p) { value(p, 2).device = kCuda1; }), Error::kInvalidProgram);
    EXPECT_EQ(refused([](ProgramDesc& p) { value(p, 0).device = kCuda0; }), Error::kInvalidProgram);
    EXPECT_NE(refused([](ProgramDesc& p) { value(p, 2).device = Device(DeviceType::kCuda, -1); }), Error::kOk);
    EXPECT_NE(refused([](ProgramDesc& p) { value(p, 2).device = Device(static_cast<DeviceType>(77)); }), Error::kOk);
    EXPECT_NE(refused([](ProgramDesc& p) { p.methods[0].arenas[1].device.index = -7; }), Error::kOk);
    EXPECT_EQ(refused([](ProgramDesc& p) {
                value(p, 0).planned.reset();
                value(p, 0).device = kCuda0;
                value(p, 0).data_buffer_idx = 1;
                p.constants = {format::Bytes::of(std::vector<uint8_t>(16))};
              }),
              Error::kInvalidProgram);
  }
}

}  // namespace
}  // namespace berth
