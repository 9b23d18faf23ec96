#include "tests/device/conformance.h"

#include <random>

#include "format/write/programs_testing.h"
#include "kernels/portable/portable.h"

namespace berth::device_tests {

void DeviceTest::SetUp() {
  device_ = GetParam()();
  if (const char* reason = device_->skip_reason(); reason != nullptr) GTEST_SKIP() << reason;
  ASSERT_EQ(registry_.register_allocator(device_->type(), &device_->allocator()), Error::kOk);
}

void DeviceTest::TearDown() {
  if (device_->skip_reason() == nullptr && device_->live() >= 0) {
    EXPECT_EQ(device_->live(), 0) << "memory of the device leaked";
  }
}

std::vector<DeviceIndex> DeviceTest::indices() {
  std::vector<DeviceIndex> all;
  for (int i = 0; i < allocator().device_count() && i < 4; ++i) all.push_back(static_cast<DeviceIndex>(i));
  return all;
}

std::vector<uint8_t> DeviceTest::pattern(size_t size, uint32_t seed) {
  std::minstd_rand next(seed + 1);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(next() >> 8);
  return bytes;
}

std::vector<uint8_t> DeviceTest::read(const void* source, size_t size, DeviceIndex index) {
  std::vector<uint8_t> bytes(size);
  EXPECT_EQ(allocator().copy_device_to_host(bytes.data(), source, size, index), Error::kOk);
  return bytes;
}

Piece::Piece(DeviceAllocator& allocator, size_t bytes, DeviceIndex index, size_t alignment)
    : allocator_(allocator), index_(index) {
  const Result<void*> memory = allocator.allocate(bytes, index, alignment);
  EXPECT_TRUE(memory.ok()) << to_string(memory.error());
  if (memory.ok()) memory_ = *memory;
}

Result<HostMethod> LoadedProgram::method(const char* name, ThreadPool* pool) {
  if (program == nullptr) return report.code;
  HostOptions options;
  options.pool = pool;
  options.report = &report;
  return HostMethod::load(*program, name, options);
}

LoadedProgram load_program(const format::ProgramDesc& desc, DeviceUnderTest& device,
                           const DeviceAllocatorRegistry& registry) {
  LoadedProgram loaded;
  loaded.file = format::testing::bytes_of(desc);
  loaded.loader = std::make_unique<BufferLoader>(Span<const uint8_t>(loaded.file));
  Backend* const backends[] = {device.backend()};
  LoadOptions options;
  options.registry = &registry;
  if (backends[0] != nullptr) options.backends = backends;
  options.report = &loaded.report;
  Result<Program> program = Program::load(*loaded.loader, portable::kernels(), options);
  if (program.ok()) loaded.program = std::make_unique<Program>(std::move(*program));
  return loaded;
}

std::vector<float> run_floats(Method& method, const std::vector<float>& input, int32_t rows) {
  const int32_t count = static_cast<int32_t>(input.size());
  std::vector<int32_t> sizes = {count};
  if (rows > 0) sizes = {rows, count / rows};
  EXPECT_EQ(method.set_input(0, input.data(), sizes, DType::kF32), Error::kOk) << method.last_report().message;
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
  const EValue value = method.get_output(0);
  if (!value.is_tensor() || method.last_report().code != Error::kOk) return {};
  const float* data = value.tensor().data<float>();
  return std::vector<float>(data, data + value.tensor().numel());
}

}  // namespace berth::device_tests
