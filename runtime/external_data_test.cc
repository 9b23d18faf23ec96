// Constants and initial values that lie beside the program.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "runtime/device_programs_testing.h"
#include "runtime/kernels_testing.h"

namespace berth {
namespace {

using format::ProgramDesc;
using format::TensorDesc;
using testing::OnDevices;
using testing::RecordingAllocator;

// Blobs by key that count how many of them are out.
class Blobs final : public NamedDataMap {
 public:
  Result<FreeableBuffer> get(const char* key) const override {
    ++asked;
    const auto found = blobs.find(key);
    if (found == blobs.end()) return Error::kNotFound;
    ++out;
    return FreeableBuffer(
        found->second.data(), found->second.size(),
        [](void* self, const void*, size_t) { --static_cast<const Blobs*>(self)->out; }, const_cast<Blobs*>(this));
  }

  Error check(const char*, DType, Span<const int32_t> sizes, Span<const uint8_t>) const override {
    return rank == SIZE_MAX || sizes.size() == rank ? Error::kOk : Error::kInvalidExternalData;
  }

  std::map<std::string, std::vector<uint8_t>> blobs;
  /// What the tensors have, if it is known.
  size_t rank = SIZE_MAX;
  mutable int out = 0;
  mutable int asked = 0;

  void put(const std::string& key, const std::vector<float>& values) {
    std::vector<uint8_t>& bytes = blobs[key];
    bytes.resize(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
};

// relu(x + w), where w lies beside the program.
ProgramDesc external_add() {
  ProgramDesc desc = format::testing::add_relu();
  TensorDesc& w = std::get<TensorDesc>(desc.methods[0].values[1]);
  w.external = true;
  w.data_buffer_idx = 0;
  w.name = "layer.weight";
  desc.constants.clear();
  return desc;
}

const float kX[] = {1, 1, 1, 1};
const int32_t kSizes[] = {4};

TEST(ExternalData, ConstantsAreUsedInPlaceAndReleased) {
  Blobs blobs;
  blobs.put("layer.weight", {1, 2, -3, 4});
  {
    OnDevices on(external_add());
    on.more_kernels = testing::kernels();
    on.options.external = &blobs;
    ASSERT_EQ(on.load(), Error::kOk) << on.said();
    EXPECT_EQ(blobs.out, 1);
    // Measuring asks for nothing: bytes may be expensive to bring.
    EXPECT_EQ(blobs.asked, 1);
    ASSERT_EQ(on.method->set_input(0, kX, kSizes, DType::kF32), Error::kOk);
    ASSERT_EQ(on.method->execute(), Error::kOk) << on.method->last_report().message;
    EXPECT_EQ(testing::floats(on.method->get_output(0)), (std::vector<float>{2, 3, 0, 5}));
  }
  EXPECT_EQ(blobs.out, 0);
}

TEST(ExternalData, MissingOrShortConstantsAreNamed) {
  Blobs blobs;
  const auto said = [](const NamedDataMap* external, Error* error) {
    OnDevices on(external_add());
    on.more_kernels = testing::kernels();
    on.options.external = external;
    *error = on.load();
    return on.said();
  };
  Error error = Error::kOk;
  EXPECT_EQ(said(nullptr, &error),
            "methods[forward].values[1]: \"layer.weight\" is in a data file (.ptd), and none was given "
            "(LoadOptions::external)");
  EXPECT_EQ(error, Error::kInvalidState);
  EXPECT_EQ(said(&blobs, &error),
            "methods[forward].values[1]: \"layer.weight\" cannot be read from the given data files");
  EXPECT_EQ(error, Error::kNotFound);
  blobs.put("layer.weight", {1, 2, 3});
  EXPECT_EQ(said(&blobs, &error), "methods[forward].values[1]: \"layer.weight\" has 12 bytes, 16 are needed");
  EXPECT_EQ(error, Error::kInvalidExternalData);
  blobs.put("layer.weight", {1, 2, 3, 4});
  blobs.rank = 2;
  EXPECT_EQ(said(&blobs, &error),
            "methods[forward].values[1]: \"layer.weight\" in the data file has another type, shape or "
            "dimension order");
  EXPECT_EQ(error, Error::kInvalidExternalData);
  EXPECT_EQ(blobs.out, 0);
}

TEST(ExternalData, ConstantsAreFoundAmongTheProgramsOwnBlobs) {
  ProgramDesc desc = external_add();
  const float w[] = {5, 5, 5, -5};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), w, 16);
  desc.named_data = {{"layer.weight", format::Bytes::of(bytes), 16}};
  OnDevices on(desc);
  on.more_kernels = testing::kernels();
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kX, kSizes, DType::kF32), Error::kOk);
  ASSERT_EQ(on.method->execute(), Error::kOk);
  EXPECT_EQ(testing::floats(on.method->get_output(0)), (std::vector<float>{6, 6, 6, 0}));
}

TEST(ExternalData, ConstantsAreNotWritten) {
  Blobs blobs;
  blobs.put("layer.weight", {1, 2, 3, 4});
  blobs.put("a", {0, 0, 0, 0});
  blobs.put("z", {0, 0, 0, 0});
  ProgramDesc desc = external_add();
  for (const char* name : {"z", "a"}) {
    TensorDesc other = std::get<TensorDesc>(desc.methods[0].values[1]);
    other.name = name;
    desc.methods[0].values.emplace_back(other);
  }
  std::get<format::KernelCallDesc>(desc.methods[0].instructions[1]).args = {3, 1, 1};
  desc.methods[0].outputs = {3};
  OnDevices on(desc);
  on.options.verification = Verification::kMinimal;
  on.more_kernels = testing::kernels();
  on.options.external = &blobs;
  EXPECT_EQ(on.load(), Error::kInvalidProgram);
  EXPECT_NE(on.said().find("is written but is a constant"), std::string::npos);
  EXPECT_EQ(blobs.out, 0);
}

// A view's pointer is only known when it was made.
TEST(ExternalData, ConstantsAreNotWrittenThroughAView) {
  Blobs blobs;
  blobs.put("layer.weight", {1, 2, 3, 4});
  ProgramDesc desc = external_add();
  format::MethodDesc& m = desc.methods[0];
  m.values.emplace_back(format::testing::tensor({4}));  // 5: the view
  m.values.emplace_back(int64_t{4});                    // 6
  m.values.emplace_back(format::IntListDesc{{6}});      // 7
  m.values.emplace_back(false);                         // 8
  m.operators.push_back({"executorch_prim::et_view", "default"});
  m.operators.push_back({"aten::copy_", ""});
  m.instructions.emplace_back(format::KernelCallDesc{2, {1, 7, 5}});
  m.instructions.emplace_back(format::KernelCallDesc{3, {5, 4, 8, 5}});
  OnDevices on(desc);
  on.options.verification = Verification::kMinimal;
  on.more_kernels = testing::kernels();
  on.options.external = &blobs;
  ASSERT_EQ(on.load(), Error::kOk) << on.said();
  ASSERT_EQ(on.method->set_input(0, kX, kSizes, DType::kF32), Error::kOk);
  EXPECT_EQ(on.method->execute(), Error::kInvalidProgram);
  EXPECT_NE(std::string(on.method->last_report().message).find("is written but is a constant"), std::string::npos);
  EXPECT_EQ(blobs.blobs["layer.weight"][0], 0);
}

TEST(ExternalData, StateStartsFromItsBlobOnTheHostAndOnADevice) {
  Blobs blobs;
  blobs.put("cache", {7, 8, 9, 10});
  for (const Device device : {Device(), Device(DeviceType::kCuda, 1)}) {
    ProgramDesc desc = format::testing::add_relu();
    TensorDesc state = format::testing::tensor({4}, 0);
    state.planned->memory_id = 2;
    state.device = device;
    state.external = true;
    state.name = "cache";
    desc.methods[0].values.emplace_back(state);
    desc.methods[0].outputs = {4, 5};
    desc.methods[0].arenas.push_back({16, device});
    OnDevices on(desc);
    on.more_kernels = testing::kernels();
    on.options.external = &blobs;
    ASSERT_EQ(on.load(), Error::kOk) << on.said();
    EXPECT_EQ(blobs.out, 0);
    const float* values = on.method->get_output(1).tensor().data<float>();
    if (!device.is_cpu()) values = RecordingAllocator::host(values);
    EXPECT_EQ(values[0], 7);
    EXPECT_EQ(values[3], 10);
  }
}

}  // namespace
}  // namespace berth
