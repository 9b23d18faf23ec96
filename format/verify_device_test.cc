// What a file says about devices: each contradiction and each number that is none is refused with its place.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/write/programs_testing.h"

namespace berth::format {
namespace {

using testing::add_relu;
using testing::bytes_of;
using testing::constant;
using testing::tensor;

constexpr Device kCuda0 = Device(DeviceType::kCuda, 0);

// Two arenas on devices beside the host's, a tensor in each.
ProgramDesc three_arenas() {
  ProgramDesc program = add_relu();
  MethodDesc& m = program.methods[0];
  for (const uint32_t id : {2u, 3u}) {
    TensorDesc t = tensor({4}, 0);
    t.planned->memory_id = id;
    t.device = Device(DeviceType::kCuda, static_cast<DeviceIndex>(id - 2));
    m.values.emplace_back(t);
    m.arenas.push_back({16, t.device});
  }
  return program;
}

struct File {
  explicit File(const ProgramDesc& program) : bytes(bytes_of(program)) {
    EXPECT_EQ(ProgramView::open({bytes.data(), bytes.size()}, &view, nullptr), Error::kOk);
  }
  // The list entry `i` of the first method, to be written over.
  template <typename T>
  void set(uint32_t i, flatbuffers::voffset_t field, T value) {
    const fb::NonConstBufferDevice* entry = view.method(0).non_const_buffer_device()->Get(i);
    auto* table = reinterpret_cast<flatbuffers::Table*>(const_cast<fb::NonConstBufferDevice*>(entry));
    ASSERT_TRUE(table->SetField<T>(field, value, static_cast<T>(value + 1))) << "the field was not written";
  }
  std::string said() const {
    Report report;
    if (verify_program(view, &report) == Error::kOk) return "sound";
    EXPECT_EQ(verify_program(view, nullptr), Error::kInvalidProgram);
    return std::string(report.place) + ": " + report.message;
  }
  std::vector<uint8_t> bytes;
  ProgramView view;
};

TEST(VerifyDevice, TypesAreThoseOfTheSchema) {
  std::map<int, std::string> ours;
  for (const DeviceType type : kBuiltInDeviceTypes) {
    std::string& name = ours[static_cast<int>(type)] = to_string(type);
    for (char& c : name) c = static_cast<char>(std::toupper(c));
  }
  std::map<int, std::string> schemas;
  for (const fb::DeviceType type : fb::EnumValuesDeviceType()) {
    schemas[static_cast<int>(type)] = fb::EnumNameDeviceType(type);
  }
  EXPECT_EQ(ours, schemas) << "base/device.h and format/program.fbs differ";
}

// Holds row 227, row 228.
TEST(VerifyDevice, ArenaDevicesAreReadAsWrittenAndAbsentWithoutDevices) {
  const File file(three_arenas());
  EXPECT_EQ(file.said(), "sound");
  const fb::ExecutionPlan& plan = file.view.method(0);
  ASSERT_NE(plan.non_const_buffer_device(), nullptr);
  ASSERT_EQ(plan.non_const_buffer_device()->size(), 2u);
  EXPECT_EQ(arena_device(plan, 1), Device());
  EXPECT_EQ(arena_device(plan, 2), kCuda0);
  EXPECT_EQ(arena_device(plan, 3), Device(DeviceType::kCuda, 1));
  EXPECT_EQ(arena_device(plan, 4), Device());
  const File host(add_relu());
  EXPECT_EQ(host.view.method(0).non_const_buffer_device(), nullptr);
}

// Limits 1.12.
TEST(VerifyDevice, ArenaDevicesNameEachArenaOnceAndNothingElse) {
  using Entry = fb::NonConstBufferDevice;
  const auto said = [](uint32_t entry, int32_t buffer) {
    File file(three_arenas());
    file.set<int32_t>(entry, Entry::VT_BUFFER_IDX, buffer);
    return file.said();
  };
  EXPECT_EQ(said(0, 2), "sound");
  EXPECT_EQ(said(1, 2), "methods[0].non_const_buffer_device[1]: arena 2 has a device already");
  EXPECT_EQ(said(0, 0), "methods[0].non_const_buffer_device[0]: arena 0 does not exist; there are arenas 1 to 3");
  EXPECT_EQ(said(1, 4), "methods[0].non_const_buffer_device[1]: arena 4 does not exist; there are arenas 1 to 3");
  EXPECT_EQ(said(1, -1), "methods[0].non_const_buffer_device[1]: arena -1 does not exist; there are arenas 1 to 3");
  EXPECT_EQ(said(1, INT32_MIN),
            "methods[0].non_const_buffer_device[1]: arena -2147483648 does not exist; there are arenas 1 to 3");
}

// Limits 1.12.
// Holds row 49, row 51.
TEST(VerifyDevice, DeviceNumbersAreKnownTypesAndIndicesFromZero) {
  using Entry = fb::NonConstBufferDevice;
  File type(three_arenas());
  type.set<int8_t>(0, Entry::VT_DEVICE_TYPE, 2);
  EXPECT_EQ(type.said(),
            std::string("methods[0].non_const_buffer_device[0]: device type 2 does not exist; the types are ") +
                device_type_names());
  File negative(three_arenas());
  negative.set<int8_t>(1, Entry::VT_DEVICE_INDEX, -1);
  EXPECT_EQ(negative.said(), "methods[0].non_const_buffer_device[1]: device index -1; an index is from 0 to 127");
  File host(three_arenas());
  host.set<int8_t>(1, Entry::VT_DEVICE_TYPE, 0);
  EXPECT_EQ(host.said(), "methods[0].non_const_buffer_device[1]: device index 1; the host is one, with index 0");

  for (int type_number = -128; type_number <= 127; ++type_number) {
    ProgramDesc program = add_relu();
    TensorDesc& t = std::get<TensorDesc>(program.methods[0].values[0]);
    t.planned.reset();  // the caller's, so that no arena can contradict
    t.device.type = static_cast<DeviceType>(type_number);
    // Those from 100 on are for applications: they may be registered elsewhere.
    const bool known = type_number >= kFirstPrivateDeviceType ||
                       std::count(std::begin(kBuiltInDeviceTypes), std::end(kBuiltInDeviceTypes), t.device.type) != 0;
    const std::string said = File(program).said();
    EXPECT_EQ(said == "sound", known) << type_number << ": " << said;
    EXPECT_EQ(said.find("methods[0].values[0]: device type ") == 0, !known);
  }
  for (const int index : {-128, -1, 0, 127}) {
    ProgramDesc program = add_relu();
    TensorDesc& t = std::get<TensorDesc>(program.methods[0].values[0]);
    t.planned.reset();
    t.device = Device(DeviceType::kCuda, static_cast<DeviceIndex>(index));
    EXPECT_EQ(File(program).said() == "sound", index >= 0) << index;
  }
}

TEST(VerifyDevice, ATensorAndItsArenaAreOnOneDevice) {
  ProgramDesc program = three_arenas();
  std::get<TensorDesc>(program.methods[0].values[5]).device.index = 1;
  EXPECT_EQ(File(program).said(), "methods[0].values[5]: the tensor is on cuda:1, its arena 2 on cuda:0");
  program = three_arenas();
  std::get<TensorDesc>(program.methods[0].values[5]).device = Device();
  EXPECT_EQ(File(program).said(), "methods[0].values[5]: the tensor is on cpu, its arena 2 on cuda:0");
  program = three_arenas();
  std::get<TensorDesc>(program.methods[0].values[0]).device = kCuda0;
  EXPECT_EQ(File(program).said(), "methods[0].values[0]: the tensor is on cuda:0, its arena 1 on cpu");
}

TEST(VerifyDevice, AConstantIsOnTheHost) {
  ProgramDesc program = add_relu();
  std::get<TensorDesc>(program.methods[0].values[1]).device = kCuda0;
  EXPECT_EQ(File(program).said(), "methods[0].values[1]: a constant must be on the host, and this one is on cuda:0");
  TensorDesc& w = std::get<TensorDesc>(program.methods[0].values[1]);
  w.external = true;
  w.name = "w";
  EXPECT_EQ(File(program).said(), "methods[0].values[1]: a constant must be on the host, and this one is on cuda:0");
}

}  // namespace
}  // namespace berth::format
