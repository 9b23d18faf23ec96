#include "runtime/device_allocator.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <type_traits>

#include "runtime/log.h"
#include "runtime/recording_allocator_testing.h"

namespace berth {
namespace {

using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

// What the runtime logs while this lives.
class Logged {
 public:
  Logged() {
    set_log([](void* to, LogLevel, const char* line) { static_cast<Logged*>(to)->text_ += std::string(line) + "\n"; },
            this);
  }
  ~Logged() { set_log(nullptr, nullptr); }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

// Row 9: a fixed table, which has nothing to free.
static_assert(std::is_trivially_destructible_v<DeviceAllocatorRegistry>);
static_assert(!std::is_copy_constructible_v<DeviceAllocatorRegistry> &&
              !std::is_move_constructible_v<DeviceAllocatorRegistry> &&
              !std::is_copy_assignable_v<DeviceAllocatorRegistry> &&
              !std::is_move_assignable_v<DeviceAllocatorRegistry>);

// Holds row 1.
TEST(DeviceAllocator, LookUpGivesTheRegisteredObject) {
  DeviceAllocatorRegistry registry;
  RecordingAllocator cuda(DeviceType::kCuda);
  RecordingAllocator sim(DeviceType::kSim);
  ASSERT_EQ(registry.register_allocator(&cuda), Error::kOk);
  ASSERT_EQ(registry.register_allocator(&sim), Error::kOk);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda), &cuda);
  EXPECT_EQ(registry.get_allocator(DeviceType::kSim), &sim);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda)->device_type(), DeviceType::kCuda);
  EXPECT_EQ(registry.size(), 2u);
}

// Holds row 2.
TEST(DeviceAllocator, AllocateAndDeallocatePassTheirArguments) {
  RecordingAllocator implementation;
  DeviceAllocator& allocator = implementation;
  const Result<void*> memory = allocator.allocate(512, 0);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(*memory, nullptr);
  allocator.deallocate(*memory, 0);
  ASSERT_EQ(implementation.calls().size(), 2u);
  const auto allocate = implementation.calls(Kind::kAllocate).at(0);
  EXPECT_EQ(allocate.bytes, 512u);
  EXPECT_EQ(allocate.index, 0);
  EXPECT_EQ(allocate.alignment, DeviceAllocator::kDefaultAlignment);
  const auto deallocate = implementation.calls(Kind::kDeallocate).at(0);
  EXPECT_EQ(deallocate.target, *memory);
  EXPECT_EQ(deallocate.index, 0);
}

// Holds row 3, row 4.
TEST(DeviceAllocator, CopiesPassTheirArguments) {
  RecordingAllocator implementation;
  DeviceAllocator& allocator = implementation;
  void* const first = allocator.allocate(64, 0).value();
  void* const second = allocator.allocate(64, 1).value();
  uint8_t from[64];
  for (size_t i = 0; i < 64; ++i) from[i] = static_cast<uint8_t>(3 * i);
  uint8_t to[64] = {};
  EXPECT_EQ(allocator.copy_host_to_device(first, from, 64, 0), Error::kOk);
  EXPECT_EQ(allocator.copy_device_to_device(second, 1, first, 0, 64), Error::kOk);
  EXPECT_EQ(allocator.copy_device_to_host(to, second, 64, 1), Error::kOk);
  EXPECT_EQ(std::memcmp(from, to, 64), 0);
  const auto up = implementation.calls(Kind::kHostToDevice);
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].target, first);
  EXPECT_EQ(up[0].source, from);
  EXPECT_EQ(up[0].bytes, 64u);
  EXPECT_EQ(up[0].index, 0);
  const auto down = implementation.calls(Kind::kDeviceToHost);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].target, to);
  EXPECT_EQ(down[0].source, second);
  EXPECT_EQ(down[0].bytes, 64u);
  EXPECT_EQ(down[0].index, 1);
  allocator.deallocate(first, 0);
  allocator.deallocate(second, 1);
}

// Holds row 5.
TEST(DeviceAllocator, AnUnregisteredTypeHasNoneAndNothingAborts) {
  const DeviceAllocatorRegistry registry;
  EXPECT_EQ(registry.get_allocator(DeviceType::kCpu), nullptr);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda), nullptr);
  EXPECT_EQ(registry.get_allocator(static_cast<DeviceType>(127)), nullptr);
  EXPECT_EQ(registry.get_allocator(static_cast<DeviceType>(-128)), nullptr);
  DeviceAllocatorRegistry another;
  RecordingAllocator cuda(DeviceType::kCuda);
  ASSERT_EQ(another.register_allocator(&cuda), Error::kOk);
  EXPECT_EQ(another.get_allocator(DeviceType::kCpu), nullptr);
  EXPECT_EQ(another.get_allocator(DeviceType::kSim), nullptr);
}

// Holds row 6, row 11.
TEST(DeviceAllocator, TheTableIsGlobalAndMayBeFilledAgain) {
  EXPECT_EQ(&DeviceAllocatorRegistry::instance(), &DeviceAllocatorRegistry::instance());
  static RecordingAllocator allocator(DeviceType::kSim);
  if (get_device_allocator(DeviceType::kSim) == nullptr) {
    ASSERT_EQ(register_device_allocator(&allocator), Error::kOk);
  }
  EXPECT_EQ(get_device_allocator(DeviceType::kSim), &allocator);
  EXPECT_EQ(register_device_allocator(&allocator), Error::kRegistrationAlreadyRegistered);
}

// Holds row 7.
TEST(DeviceAllocator, ASecondAllocatorOfATypeIsRefusedAndTheFirstStays) {
  DeviceAllocatorRegistry registry;
  RecordingAllocator first;
  RecordingAllocator second;
  ASSERT_EQ(registry.register_allocator(&first), Error::kOk);
  const Logged logged;
  EXPECT_EQ(registry.register_allocator(&second), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(logged.text(), "device allocator: one is already registered for cuda\n");
  EXPECT_EQ(registry.register_allocator(&first), Error::kRegistrationAlreadyRegistered);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda), &first);
  EXPECT_EQ(registry.size(), 1u);
}

// Holds row 8.
TEST(DeviceAllocator, NullTheHostAndUnknownTypesAreRefused) {
  DeviceAllocatorRegistry registry;
  RecordingAllocator host(DeviceType::kCpu);
  RecordingAllocator unknown(static_cast<DeviceType>(98));
  const Logged logged;
  EXPECT_EQ(registry.register_allocator(nullptr), Error::kInvalidArgument);
  EXPECT_EQ(registry.register_allocator(DeviceType::kCuda, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(registry.register_allocator(&host), Error::kInvalidArgument);
  EXPECT_EQ(registry.register_allocator(&unknown), Error::kInvalidArgument);
  EXPECT_EQ(logged.text(),
            "device allocator: null for device type 0\n"
            "device allocator: null for device type 1\n"
            "device allocator: type 0 (cpu) cannot have an allocator\n"
            "device allocator: type 98 (unknown) cannot have an allocator\n");
  EXPECT_EQ(registry.size(), 0u);
  EXPECT_EQ(registry.get_allocator(static_cast<DeviceType>(98)), nullptr);
}

// Holds row 9.
TEST(DeviceAllocator, TheTableIsOfFixedSize) {
  EXPECT_LE(sizeof(DeviceAllocatorRegistry),
            DeviceAllocatorRegistry::kMaxTypes * 2 * sizeof(void*) + 2 * sizeof(size_t));
}

TEST(DeviceAllocator, ASimulatedDeviceStandsInUnderItsType) {
  DeviceAllocatorRegistry registry;
  RecordingAllocator sim(DeviceType::kSim);
  ASSERT_EQ(registry.register_allocator(DeviceType::kCuda, &sim), Error::kOk);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda), &sim);
  EXPECT_EQ(registry.get_allocator(DeviceType::kSim), nullptr);
}

// Holds row 10.
TEST(DeviceAllocator, LookUpsFromManyThreadsNeedNoLock) {
  DeviceAllocatorRegistry registry;
  RecordingAllocator allocator;
  ASSERT_EQ(registry.register_allocator(&allocator), Error::kOk);
  std::thread threads[4];
  int wrong[4] = {};
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread([&registry, &allocator, &wrong, t] {
      for (int i = 0; i < 10000; ++i) {
        if (registry.get_allocator(DeviceType::kCuda) != &allocator ||
            registry.get_allocator(DeviceType::kSim) != nullptr)
          ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

// The five functions that a device without streams has.
class Plain final : public DeviceAllocator {
 public:
  DeviceType device_type() const override { return DeviceType::kSim; }
  Result<void*> allocate(size_t, DeviceIndex, size_t) override { return Error::kMemoryAllocationFailed; }
  void deallocate(void*, DeviceIndex) override {}
  Error copy_host_to_device(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_host(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_device(void*, DeviceIndex, const void*, DeviceIndex, size_t, DeviceStream*) override {
    return Error::kOk;
  }
};

TEST(DeviceAllocator, WithoutStreamsEverythingIsDoneOnReturn) {
  Plain plain;
  EXPECT_EQ(plain.device_count(), 1);
  const Result<DeviceStream*> stream = plain.create_stream(0);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(*stream, nullptr);
  EXPECT_EQ(plain.synchronize(nullptr, 0), Error::kOk);
  EXPECT_EQ(plain.record(nullptr, 0), Error::kOk);
  EXPECT_EQ(plain.wait(nullptr, 0, nullptr, 0), Error::kOk);
  plain.destroy_stream(nullptr, 0);
}

class Gpu final : public DeviceAllocator {
 public:
  Gpu(DeviceType type, int devices, bool gpu = true) : type_(type), devices_(devices), gpu_(gpu) {}
  DeviceType device_type() const override { return type_; }
  int device_count() const override { return devices_; }
  bool is_gpu() const override { return gpu_; }
  Result<void*> allocate(size_t, DeviceIndex, size_t) override { return Error::kMemoryAllocationFailed; }
  void deallocate(void*, DeviceIndex) override {}
  Error copy_host_to_device(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_host(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_device(void*, DeviceIndex, const void*, DeviceIndex, size_t, DeviceStream*) override {
    return Error::kOk;
  }

 private:
  DeviceType type_;
  int devices_;
  bool gpu_;
};

TEST(DeviceAllocator, TheGpuIsTheOneTypeThatHasADevice) {
  ASSERT_EQ(register_device_type("mygpu", 111), Error::kOk);
  const DeviceType mine = static_cast<DeviceType>(111);
  Gpu cuda(DeviceType::kCuda, 2);
  Gpu without(DeviceType::kCuda, 0);
  Gpu own(mine, 1);
  Gpu sim(DeviceType::kSim, 4, false);
  format::Report report;
  const auto said = [&] { return std::string(report.place) + ": " + report.message; };
  {
    DeviceAllocatorRegistry registry;
    EXPECT_EQ(registry.find_gpu(0, &report).error(), Error::kNotFound);
    EXPECT_EQ(said(), "gpu: this machine has no GPU that is registered; registered is nothing");
    ASSERT_EQ(registry.register_allocator(&sim), Error::kOk);
    ASSERT_EQ(registry.register_allocator(&without), Error::kOk);
    EXPECT_EQ(registry.find_gpu(0, &report).error(), Error::kNotFound);
    EXPECT_EQ(said(), "gpu: this machine has no GPU that is registered; registered are sim, cuda");
    ASSERT_EQ(registry.register_allocator(&own), Error::kOk);
    EXPECT_EQ(registry.find_gpu().value(), Device(mine, 0));
    EXPECT_EQ(registry.find_gpu(1, &report).error(), Error::kInvalidArgument);
    EXPECT_EQ(said(), "gpu: there is no GPU 1; mygpu has 1");
    EXPECT_EQ(registry.find_gpu(-1).error(), Error::kInvalidArgument);
  }
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(&cuda), Error::kOk);
  EXPECT_EQ(registry.find_gpu(1).value(), Device(DeviceType::kCuda, 1));
  ASSERT_EQ(registry.register_allocator(&own), Error::kOk);
  EXPECT_EQ(registry.find_gpu(0, &report).error(), Error::kInvalidArgument);
  EXPECT_EQ(said(), "gpu: there are 2 types of GPU; name one: cuda, mygpu");
}

// A CUDA device is a GPU without saying so; what stands in for one is what it says.
TEST(DeviceAllocator, CudaIsAGpuAndTheSimulationIsNot) {
  EXPECT_TRUE(RecordingAllocator(DeviceType::kCuda).is_gpu());
  RecordingAllocator sim(DeviceType::kSim);
  EXPECT_FALSE(sim.is_gpu());
  DeviceAllocatorRegistry registry;
  ASSERT_EQ(registry.register_allocator(DeviceType::kCuda, &sim), Error::kOk);
  EXPECT_EQ(registry.find_gpu().error(), Error::kNotFound);
}

}  // namespace
}  // namespace berth
