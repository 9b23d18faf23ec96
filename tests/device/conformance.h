// The conformance suite of devices: the requirements of a DeviceAllocator, and of a backend that runs nested programs
// on it. Compiled once; each device defines a DeviceUnderTest and runs the whole suite.
//
// To add a device: a file tests/device/NAME_test.cc with
//
//     class Mine final : public DeviceUnderTest { … };
//     BERTH_DEVICE_CONFORMANCE(Mine, [] { return std::unique_ptr<DeviceUnderTest>(new Mine); });
//
// and a line in CMakeLists.txt: berth_test(device.mine mine_test.cc DEPENDS berth_device_conformance berth_mine). Tests
// that need a backend are skipped for a device without one; all of them, for a device that this machine does not have
// (skip_reason).
//
// No test dereferences a device's address: on `sim` that would fault.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/nested/nested_backend.h"
#include "format/write/program_desc.h"
#include "runtime/device_allocator.h"
#include "runtime/host/host_method.h"
#include "runtime/program.h"

namespace berth::device_tests {

/// A device, created for each test.
class DeviceUnderTest {
 public:
  virtual ~DeviceUnderTest() = default;

  /// Why the tests are skipped ("no GPU"), or null. Called first.
  virtual const char* skip_reason() { return nullptr; }

  /// Its name in programs.
  virtual DeviceType type() = 0;
  virtual DeviceAllocator& allocator() = 0;
  /// A backend for nested programs with at least aten::add.out and aten::relu.out on floats; may be null.
  virtual NestedBackend* backend() { return nullptr; }

  /// The largest alignment that allocate() must support.
  virtual size_t max_alignment() { return 256; }
  /// Whether copies from and to memory that is not allocated return InvalidArgument, rather than being undefined.
  virtual bool checks_bounds() { return false; }
  /// The live allocations, in bytes or in number; -1 if the device does not count them.
  virtual int64_t live() { return -1; }
};

using MakeDevice = std::unique_ptr<DeviceUnderTest> (*)();

/// Creates the device and a registry with it, and checks for leaks at the end.
class DeviceTest : public ::testing::TestWithParam<MakeDevice> {
 protected:
  void SetUp() override;
  void TearDown() override;

  DeviceAllocator& allocator() { return device_->allocator(); }
  Device device(int index = 0) { return Device(device_->type(), static_cast<DeviceIndex>(index)); }
  std::vector<DeviceIndex> indices();

  /// Bytes that depend on position and seed.
  static std::vector<uint8_t> pattern(size_t size, uint32_t seed);
  std::vector<uint8_t> read(const void* source, size_t size, DeviceIndex index = 0);

  std::unique_ptr<DeviceUnderTest> device_;
  DeviceAllocatorRegistry registry_;
};

/// Device memory that is freed at the end of a test.
class Piece {
 public:
  Piece(DeviceAllocator& allocator, size_t bytes, DeviceIndex index = 0,
        size_t alignment = DeviceAllocator::kDefaultAlignment);
  ~Piece() { allocator_.deallocate(memory_, index_); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  uint8_t* get() const { return static_cast<uint8_t*>(memory_); }
  DeviceIndex index() const { return index_; }

 private:
  DeviceAllocator& allocator_;
  void* memory_ = nullptr;
  DeviceIndex index_;
};

/// A program of a test, loaded with the device, the portable kernels and the device's backend.
struct LoadedProgram {
  std::vector<uint8_t> file;
  std::unique_ptr<BufferLoader> loader;
  std::unique_ptr<Program> program;
  Report report;

  /// Allocates all its memory. Errors are in `report`.
  Result<HostMethod> method(const char* name = "forward", ThreadPool* pool = nullptr);
};
LoadedProgram load_program(const format::ProgramDesc& desc, DeviceUnderTest& device,
                           const DeviceAllocatorRegistry& registry);

/// Sets the floats of input 0, runs, and returns those of output 0. With `rows` = 0 the input has one dimension,
/// otherwise this many rows.
std::vector<float> run_floats(Method& method, const std::vector<float>& input, int32_t rows = 0);

class DeviceAllocation : public DeviceTest {};
class DeviceCopies : public DeviceTest {};
class DeviceStreams : public DeviceTest {};
class DeviceBuffers : public DeviceTest {};
class DeviceTensors : public DeviceTest {};
class DeviceCopyOperators : public DeviceTest {};
class DeviceMethods : public DeviceTest {};
class DeviceDelegates : public DeviceTest {};
class DeviceThreads : public DeviceTest {};

}  // namespace berth::device_tests

/// `make` is a function, or a lambda without captures, that returns a std::unique_ptr<DeviceUnderTest>.
#define BERTH_DEVICE_CONFORMANCE(Name, ...) \
  namespace berth::device_tests { \
  static const MakeDevice kMake##Name = __VA_ARGS__; \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceAllocation, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceCopies, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceStreams, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceBuffers, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceTensors, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceCopyOperators, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceMethods, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceDelegates, ::testing::Values(kMake##Name)); \
  INSTANTIATE_TEST_SUITE_P(Name, DeviceThreads, ::testing::Values(kMake##Name)); \
  }
