// Programs with arenas on a device: HostMethod allocates them, the copy operators write and read them.

#include "format/write/programs_testing.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

using format::KernelCallDesc;
using format::MethodDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::tensor;

constexpr const char* kToDevice = "et_copy::_h2d_copy";
constexpr const char* kToHost = "et_copy::_d2h_copy";
constexpr const char* kBetween = "berth::_d2d_copy";

TensorDesc on(Device device, uint32_t arena, std::vector<int32_t> sizes, int64_t offset = 0, bool bounded = false) {
  TensorDesc t = tensor(std::move(sizes), offset);
  t.planned->memory_id = arena;
  t.device = device;
  t.bounded = bounded;
  return t;
}

// x on the host → `device` → `next`, of the same type → y on the host. Arena 1 is the host's.
ProgramDesc round_trip(Device device, Device next, const std::vector<int32_t>& sizes, bool bounded) {
  int64_t bytes = 4;
  for (const int32_t size : sizes) bytes *= size;
  const int64_t slot = (bytes + 63) / 64 * 64;
  const uint32_t other = device == next ? 2 : 3;
  MethodDesc method;
  method.name = "forward";
  method.values = {on(Device(), 1, sizes, 0, bounded), on(device, 2, sizes, 0, bounded),
                   on(next, other, sizes, other == 2 ? slot : 0, bounded), on(Device(), 1, sizes, slot, bounded)};
  method.inputs = {0};
  method.outputs = {3};
  method.operators = {{kToDevice, "out"}, {kBetween, "out"}, {kToHost, "out"}};
  method.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{1, {1, 2, 2}}, KernelCallDesc{2, {2, 3, 3}}};
  const uint64_t arena = 2 * static_cast<uint64_t>(slot);
  method.arenas = {{arena, Device()}, {arena, device}};
  if (other == 3) method.arenas.push_back({arena, next});
  ProgramDesc program;
  program.methods = {method};
  return program;
}

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) - 3;
  return values;
}

// Holds row 56, row 58.
TEST_P(DeviceMethods, ArenasAreOnTheDeviceAndAreFreed) {
  LoadedProgram loaded = load_program(round_trip(device(), device(), {12}, false), *device_, registry_);
  ASSERT_NE(loaded.program, nullptr) << loaded.report.message;
  const MethodMeta meta = loaded.program->method_meta("forward").value();
  ASSERT_EQ(meta.num_memory_planned_buffers(), 2u);
  EXPECT_EQ(meta.memory_planned_buffer_device(0).value(), Device());
  EXPECT_EQ(meta.memory_planned_buffer_device(1).value(), device());
  EXPECT_EQ(meta.memory_planned_buffer_size(1).value(), 128u);
  {
    Result<HostMethod> method = loaded.method();
    ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
    EXPECT_NE(device_->live(), 0);
  }
  EXPECT_LE(device_->live(), 0);
}

// Holds row 57. ExecuTorch does not support it.
TEST_P(DeviceMethods, MayShareTheirArenas) {
  ProgramDesc desc = round_trip(device(), device(), {12}, false);
  desc.methods.push_back(desc.methods[0]);
  desc.methods[1].name = "again";
  LoadedProgram loaded = load_program(desc, *device_, registry_);
  ASSERT_NE(loaded.program, nullptr);
  const Result<HostArenas> arenas = HostArenas::make(*loaded.program, &loaded.report);
  ASSERT_TRUE(arenas.ok()) << loaded.report.message;
  HostOptions options;
  options.arenas = &*arenas;
  options.report = &loaded.report;
  const int64_t live = device_->live();
  Result<HostMethod> first = HostMethod::load(*loaded.program, "forward", options);
  Result<HostMethod> second = HostMethod::load(*loaded.program, "again", options);
  ASSERT_TRUE(first.ok() && second.ok()) << loaded.report.place << ": " << loaded.report.message;
  EXPECT_EQ(device_->live(), live) << "a method took memory of its own";
  EXPECT_EQ(run_floats(first->method(), counting(12)), counting(12));
  EXPECT_EQ(run_floats(second->method(), std::vector<float>(12, 7.0f)), std::vector<float>(12, 7.0f));
}

TEST_P(DeviceMethods, ValuesSurviveARoundTrip) {
  for (const DeviceIndex from : indices()) {
    for (const DeviceIndex to : indices()) {
      LoadedProgram loaded = load_program(round_trip(device(from), device(to), {1000}, false), *device_, registry_);
      Result<HostMethod> method = loaded.method();
      ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
      EXPECT_EQ(run_floats(method->method(), counting(1000)), counting(1000)) << int{from} << " to " << int{to};
      EXPECT_EQ(run_floats(method->method(), std::vector<float>(1000, 2.5f)), std::vector<float>(1000, 2.5f));
    }
  }
}

TEST_P(DeviceMethods, AMissingIndexIsRefused) {
  if (allocator().device_count() > 127) GTEST_SKIP() << "every index is there";
  LoadedProgram loaded = load_program(round_trip(device(127), device(127), {12}, false), *device_, registry_);
  EXPECT_FALSE(loaded.method().ok());
  EXPECT_NE(loaded.report.message[0], '\0');
}

TEST_P(DeviceMethods, ATypeWithoutAnAllocatorIsNotFound) {
  LoadedProgram loaded = load_program(round_trip(device(), device(), {12}, false), *device_, DeviceAllocatorRegistry());
  ASSERT_NE(loaded.program, nullptr);
  const DeviceAllocatorRegistry empty;
  loaded = load_program(round_trip(device(), device(), {12}, false), *device_, empty);
  EXPECT_EQ(loaded.method().error(), Error::kNotFound);
}

TEST_P(DeviceCopyOperators, CopyTheActualSizeOfADynamicTensor) {
  LoadedProgram loaded = load_program(round_trip(device(), device(), {8, 4}, true), *device_, registry_);
  Result<HostMethod> method = loaded.method();
  ASSERT_TRUE(method.ok()) << loaded.report.place << ": " << loaded.report.message;
  for (const int32_t rows : {8, 1, 3, 0, 8}) {
    const std::vector<float> input = counting(4 * rows);
    ASSERT_EQ(method->method().set_input(0, input.data(), std::vector<int32_t>{rows, 4}, DType::kF32), Error::kOk);
    ASSERT_EQ(method->method().execute(), Error::kOk) << method->method().last_report().message;
    const EValue output = method->method().get_output(0);
    ASSERT_EQ(output.tensor().size(0), rows);
    const float* data = output.tensor().data<float>();
    EXPECT_EQ(std::vector<float>(data, data + output.tensor().numel()), input) << rows;
  }
}

// What the operators refuse: `bend` makes a program wrong that is right.
void expect_refused(DeviceUnderTest& device, const DeviceAllocatorRegistry& registry, ProgramDesc desc,
                    const char* message) {
  LoadedProgram loaded = load_program(desc, device, registry);
  Result<HostMethod> method = loaded.method();
  if (!method.ok()) return;  // refused before it runs
  const std::vector<float> input(12, 1.0f);
  ASSERT_EQ(method->method().set_input(0, input.data(), std::vector<int32_t>{12}, DType::kF32), Error::kOk);
  EXPECT_NE(method->method().execute(), Error::kOk) << message;
  EXPECT_NE(method->method().last_report().message[0], '\0') << message;
}

TEST_P(DeviceCopyOperators, RefuseTheWrongDevice) {
  const ProgramDesc right = round_trip(device(), device(), {12}, false);
  ProgramDesc wrong = right;
  std::get<KernelCallDesc>(wrong.methods[0].instructions[0]).op_index = 2;
  expect_refused(*device_, registry_, wrong, "a host tensor for d2h");
  wrong = right;
  std::get<KernelCallDesc>(wrong.methods[0].instructions[1]).op_index = 0;
  expect_refused(*device_, registry_, wrong, "a device tensor for h2d");
  wrong = right;
  std::get<KernelCallDesc>(wrong.methods[0].instructions[0]).op_index = 1;
  expect_refused(*device_, registry_, wrong, "a host tensor for d2d");
  wrong = right;
  wrong.methods[0].operators[1] = {"aten::relu", "out"};
  expect_refused(*device_, registry_, wrong, "a kernel of the host on device memory");
}

TEST_P(DeviceCopyOperators, RefuseAnotherTypeOrTooLittleMemory) {
  ProgramDesc wrong = round_trip(device(), device(), {12}, false);
  std::get<TensorDesc>(wrong.methods[0].values[1]).dtype = DType::kI32;
  expect_refused(*device_, registry_, wrong, "another element type");
  wrong = round_trip(device(), device(), {12}, false);
  std::get<TensorDesc>(wrong.methods[0].values[1]).sizes = {11};
  expect_refused(*device_, registry_, wrong, "too little room");
}

}  // namespace
}  // namespace berth::device_tests
