// The fears: a simulated device that the host can touch after all, that counts wrongly, or that hides a leak. What
// every device does is held by tests/device.

#include "backends/sim/sim_allocator.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace berth {
namespace {

// "---s": the protection of the mapping that `address` lies in, from the kernel itself.
std::string protection_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    uint64_t begin = 0;
    uint64_t end = 0;
    char protection[8] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s", &begin, &end, protection) != 3) continue;
    const uintptr_t a = reinterpret_cast<uintptr_t>(address);
    if (a >= begin && a < end) return protection;
  }
  return "unmapped";
}

TEST(SimAllocator, MemoryIsAlwaysInaccessibleToTheHost) {
  SimAllocator sim;
  const Result<void*> memory = sim.allocate(100, 0);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(protection_of(*memory), "---s");
  const uint8_t bytes[100] = {1};
  ASSERT_EQ(sim.copy_host_to_device(*memory, bytes, 100, 0, nullptr), Error::kOk);
  EXPECT_EQ(protection_of(*memory), "---s");
  EXPECT_EQ(protection_of(sim.alias(*memory, 100, 0)), "rw-s");
  sim.deallocate(*memory, 0);
  EXPECT_EQ(protection_of(*memory), "---s");
}

TEST(SimAllocatorDeathTest, AHostThatFollowsAnAddressFaults) {
  SimAllocator sim;
  volatile uint8_t* const memory = static_cast<volatile uint8_t*>(sim.allocate(100, 0).value());
  EXPECT_DEATH(memory[0] = 1, "");
  EXPECT_DEATH(static_cast<void>(memory[99]), "");
  sim.deallocate(const_cast<uint8_t*>(memory), 0);
  EXPECT_DEATH(static_cast<void>(memory[0]), "") << "also after it was given back";
}

// What is not written yet is not a zero: a program that counts on zeros is seen.
TEST(SimAllocator, MemoryStartsAsNaN) {
  SimAllocator sim;
  void* memory = sim.allocate(64, 0).value();
  float values[16];
  ASSERT_EQ(sim.copy_device_to_host(values, memory, sizeof(values), 0, nullptr), Error::kOk);
  for (const float value : values) EXPECT_NE(value, value);
  sim.deallocate(memory, 0);
}

TEST(SimAllocator, AlignsToAnyPowerOfTwo) {
  SimAllocator sim;
  std::vector<void*> all;
  for (size_t alignment = 1; alignment <= size_t{1} << 30; alignment *= 2) {
    all.push_back(sim.allocate(3, 1, alignment).value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back()) % alignment, 0u);
    const size_t in_kernels = alignment < size_t{1} << 21 ? alignment : size_t{1} << 21;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(sim.alias(all.back(), 3, 1)) % in_kernels, 0u);
  }
  for (void* memory : all) sim.deallocate(memory, 1);
  EXPECT_EQ(sim.live_blocks(), 0u);
}

TEST(SimAllocator, HasAsMuchMemoryAsConfigured) {
  SimAllocator sim({1, 4096, true});
  void* a = sim.allocate(2000, 0).value();
  void* b = sim.allocate(1000, 0).value();
  EXPECT_EQ(sim.allocate(2000, 0).error(), Error::kMemoryAllocationFailed);
  sim.deallocate(a, 0);
  void* c = sim.allocate(2000, 0).value();
  EXPECT_EQ(sim.live_bytes(), 3000u);
  sim.deallocate(b, 0);
  sim.deallocate(c, 0);
  EXPECT_EQ(sim.live_bytes(), 0u);
  EXPECT_EQ(sim.bad_deallocations(), 0u);
}

TEST(SimAllocator, AliasesExistOnlyWithinABlock) {
  SimAllocator sim;
  uint8_t* memory = static_cast<uint8_t*>(sim.allocate(100, 0).value());
  EXPECT_NE(sim.alias(memory, 100, 0), nullptr);
  EXPECT_EQ(sim.alias(memory + 40, 60, 0), static_cast<uint8_t*>(sim.alias(memory, 100, 0)) + 40);
  EXPECT_EQ(sim.alias(memory, 101, 0), nullptr);
  EXPECT_EQ(sim.alias(memory + 40, 61, 0), nullptr);
  EXPECT_EQ(sim.alias(memory - 1, 2, 0), nullptr);
  EXPECT_EQ(sim.alias(memory + 1, SIZE_MAX, 0), nullptr);
  EXPECT_EQ(sim.alias(memory, 1, 1), nullptr) << "another device's";
  EXPECT_EQ(sim.alias(memory, 1, -1), nullptr);
  EXPECT_TRUE(sim.is_device_address(memory));
  EXPECT_FALSE(sim.is_device_address(&sim));
  sim.deallocate(memory, 0);
  EXPECT_EQ(sim.alias(memory, 100, 0), nullptr);
}

TEST(SimAllocator, DoubleAndForeignFreesAreCounted) {
  SimAllocator sim;
  uint8_t* memory = static_cast<uint8_t*>(sim.allocate(100, 0).value());
  sim.deallocate(memory + 1, 0);
  sim.deallocate(memory, 1);
  sim.deallocate(memory, 5);
  sim.deallocate(&sim, 0);
  EXPECT_EQ(sim.bad_deallocations(), 4u);
  EXPECT_EQ(sim.live_bytes(), 100u);
  sim.deallocate(memory, 0);
  sim.deallocate(memory, 0);
  EXPECT_EQ(sim.bad_deallocations(), 5u);
  EXPECT_EQ(sim.live_bytes(), 0u);
}

// Sizes that wrap around when something is added to them.
TEST(SimAllocator, ImpossibleSizesAreRefused) {
  SimAllocator sim;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 127, SIZE_MAX / 2}) {
    EXPECT_EQ(sim.allocate(bytes, 0).error(), Error::kMemoryAllocationFailed) << bytes;
  }
}

// A kernel that runs over the end of its block meets no other allocation's bytes.
TEST(SimAllocator, BlocksDoNotTouch) {
  SimAllocator sim;
  void* a = sim.allocate(64, 0, 1).value();
  void* b = sim.allocate(64, 0, 1).value();
  void* c = sim.allocate(64, 0, 1).value();
  sim.deallocate(b, 0);
  // As long as the gap, which has no room for what must lie between.
  void* d = sim.allocate(128, 0, 1).value();
  const auto distance = [](void* from, void* to) { return static_cast<uint8_t*>(to) - static_cast<uint8_t*>(from); };
  EXPECT_GE(distance(a, b), 128);
  EXPECT_GE(distance(c, d), 128);
  for (void* block : {a, c, d}) sim.deallocate(block, 0);
}

TEST(SimAllocator, ReturnsItsMemoryToTheMachine) {
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = files();
  for (int i = 0; i < 3; ++i) {
    SimAllocator sim;
    sim.deallocate(sim.allocate(64, 1).value(), 1);
  }
  EXPECT_EQ(files(), before);
}

// An address that a copy takes for the host's must be one that the host can follow.
TEST(SimAllocator, CopiesBetweenTwoDeviceAddressesAsHostAreRefused) {
  SimAllocator sim;
  void* a = sim.allocate(64, 0).value();
  void* b = sim.allocate(64, 1).value();
  EXPECT_EQ(sim.copy_host_to_device(a, b, 8, 0, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(sim.copy_device_to_host(b, a, 8, 0, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(sim.copy_host_to_device(a, nullptr, 8, 0, nullptr), Error::kInvalidArgument);
  sim.deallocate(a, 0);
  sim.deallocate(b, 1);
}

TEST(SimAllocator, CopiesOntoThemselvesAreRefused) {
  SimAllocator sim;
  auto* a = static_cast<uint8_t*>(sim.allocate(64, 0).value());
  EXPECT_EQ(sim.copy_device_to_device(a + 8, 0, a, 0, 16, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(sim.copy_device_to_device(a, 0, a + 8, 0, 16, nullptr), Error::kInvalidArgument);
  EXPECT_EQ(sim.copy_device_to_device(a + 16, 0, a, 0, 16, nullptr), Error::kOk);
  EXPECT_EQ(sim.copy_device_to_device(a, 0, a, 100, 0, nullptr), Error::kInvalidArgument)
      << "a device that is not there, though nothing is to be copied";
  sim.deallocate(a, 0);
}

TEST(SimAllocator, CountsByDeviceAndDirection) {
  SimAllocator sim;
  void* a = sim.allocate(100, 0).value();
  void* b = sim.allocate(100, 2).value();
  uint8_t host[100] = {};
  ASSERT_EQ(sim.copy_host_to_device(a, host, 100, 0, nullptr), Error::kOk);
  ASSERT_EQ(sim.copy_host_to_device(a, host, 7, 0, nullptr), Error::kOk);
  ASSERT_EQ(sim.copy_device_to_device(b, 2, a, 0, 30, nullptr), Error::kOk);
  ASSERT_EQ(sim.copy_device_to_host(host, b, 5, 2, nullptr), Error::kOk);
  ASSERT_EQ(sim.copy_host_to_device(a, host, 0, 0, nullptr), Error::kOk);
  ASSERT_NE(sim.copy_host_to_device(a, host, 101, 0, nullptr), Error::kOk);
  EXPECT_EQ(sim.counts(0).host_to_device.count, 2u);
  EXPECT_EQ(sim.counts(0).host_to_device.bytes, 107u);
  EXPECT_EQ(sim.counts(0).device_to_device.count, 0u);
  EXPECT_EQ(sim.counts(2).device_to_device.count, 1u);
  EXPECT_EQ(sim.counts(2).device_to_device.bytes, 30u);
  EXPECT_EQ(sim.counts(2).device_to_host.bytes, 5u);
  EXPECT_EQ(sim.counts().allocations, 2u);
  EXPECT_EQ(sim.counts().host_to_device.count, 2u);
  EXPECT_EQ(sim.counts(100).allocations, 0u);
  sim.reset_counts();
  EXPECT_EQ(sim.counts().allocations, 0u);
  sim.deallocate(a, 0);
  sim.deallocate(b, 2);
  EXPECT_EQ(sim.counts().deallocations, 2u);
}

TEST(SimAllocator, AnInjectedFailureHitsTheNthCallOnly) {
  SimAllocator sim;
  sim.fail(SimCall::kAllocate, 2, Error::kMemoryAllocationFailed);
  void* a = sim.allocate(8, 0).value();
  EXPECT_EQ(sim.allocate(8, 0).error(), Error::kMemoryAllocationFailed);
  void* b = sim.allocate(8, 0).value();
  EXPECT_EQ(sim.calls(SimCall::kAllocate), 3u);
  uint8_t host[8] = {};
  sim.fail(SimCall::kCopy, 1, Error::kAccessFailed);
  EXPECT_EQ(sim.copy_device_to_host(host, a, 8, 0, nullptr), Error::kAccessFailed);
  EXPECT_EQ(sim.copy_device_to_host(host, a, 8, 0, nullptr), Error::kOk);
  sim.fail(SimCall::kCopy, 1, Error::kAccessFailed);
  sim.fail(SimCall::kCopy, 0, Error::kAccessFailed);  // never mind
  EXPECT_EQ(sim.copy_device_to_host(host, a, 8, 0, nullptr), Error::kOk);
  sim.fail(SimCall::kCreateStream, 1, Error::kOutOfResources);
  EXPECT_EQ(sim.create_stream(0).error(), Error::kOutOfResources);
  DeviceStream* stream = sim.create_stream(0).value();
  sim.fail(SimCall::kRecord, 1, Error::kInternal);
  EXPECT_EQ(sim.record(stream, 0), Error::kInternal);
  sim.fail(SimCall::kWait, 1, Error::kInternal);
  EXPECT_EQ(sim.wait(stream, 0, stream, 0), Error::kInternal);
  sim.fail(SimCall::kSynchronize, 1, Error::kInternal);
  EXPECT_EQ(sim.synchronize(stream, 0), Error::kInternal);
  EXPECT_EQ(sim.synchronize(stream, 0), Error::kOk);
  sim.destroy_stream(stream, 0);
  sim.deallocate(a, 0);
  sim.deallocate(b, 0);
}

TEST(SimAllocator, ForeignAndDestroyedStreamsAreRefused) {
  SimAllocator sim;
  void* memory = sim.allocate(8, 0).value();
  DeviceStream* stream = sim.create_stream(0).value();
  DeviceStream* other = sim.create_stream(1).value();
  ASSERT_NE(stream, nullptr);
  uint8_t host[8] = {};
  EXPECT_EQ(sim.copy_host_to_device(memory, host, 8, 0, stream), Error::kOk);
  EXPECT_EQ(sim.copy_host_to_device(memory, host, 8, 0, other), Error::kInvalidArgument);
  EXPECT_EQ(sim.synchronize(other, 0), Error::kInvalidArgument);
  EXPECT_EQ(sim.record(stream, 1), Error::kInvalidArgument);
  EXPECT_EQ(sim.wait(stream, 0, other, 0), Error::kInvalidArgument);
  EXPECT_EQ(sim.wait(stream, 0, other, 1), Error::kOk);
  sim.destroy_stream(stream, 0);
  EXPECT_EQ(sim.synchronize(stream, 0), Error::kInvalidArgument);
  sim.destroy_stream(other, 0);
  EXPECT_EQ(sim.bad_deallocations(), 1u);
  EXPECT_EQ(sim.live_streams(), 1u);
  sim.destroy_stream(other, 1);
  sim.deallocate(memory, 0);
}

// On a real device these two copies would run at the same time.
TEST(SimAllocator, UnawaitedWorkIsARace) {
  SimAllocator sim;
  void* a = sim.allocate(8, 0).value();
  void* b = sim.allocate(8, 1).value();
  DeviceStream* first = sim.create_stream(0).value();
  DeviceStream* second = sim.create_stream(1).value();
  uint8_t host[8] = {};
  ASSERT_EQ(sim.copy_host_to_device(a, host, 8, 0, first), Error::kOk);
  EXPECT_EQ(sim.copy_device_to_device(b, 1, a, 0, 8, second), Error::kInvalidState);
  EXPECT_EQ(sim.copy_device_to_host(host, a, 8, 0, nullptr), Error::kInvalidState) << "not even without a stream";
  void* alias = nullptr;
  EXPECT_EQ(sim.use(a, 8, 0, nullptr, &alias), Error::kInvalidState);
  EXPECT_EQ(sim.use(a, 8, 0, first, &alias), Error::kOk);
  ASSERT_EQ(sim.record(first, 0), Error::kOk);
  ASSERT_EQ(sim.wait(second, 1, first, 0), Error::kOk);
  EXPECT_EQ(sim.copy_device_to_device(b, 1, a, 0, 8, second), Error::kOk);
  EXPECT_EQ(sim.copy_device_to_host(host, b, 8, 1, nullptr), Error::kInvalidState);
  ASSERT_EQ(sim.synchronize(second, 1), Error::kOk);
  EXPECT_EQ(sim.copy_device_to_host(host, b, 8, 1, nullptr), Error::kOk);
  sim.destroy_stream(first, 0);
  sim.destroy_stream(second, 1);
  sim.deallocate(a, 0);
  sim.deallocate(b, 1);
}

// What nothing can be waiting for: a copy to the host has waited itself, a stream that is gone had no work left, and
// new memory has no past.
TEST(SimAllocator, FinishedWorkIsNotARace) {
  SimAllocator sim;
  void* a = sim.allocate(8, 0).value();
  DeviceStream* first = sim.create_stream(0).value();
  DeviceStream* second = sim.create_stream(0).value();
  uint8_t host[8] = {};
  ASSERT_EQ(sim.copy_host_to_device(a, host, 8, 0, first), Error::kOk);
  ASSERT_EQ(sim.copy_device_to_host(host, a, 8, 0, first), Error::kOk);
  EXPECT_EQ(sim.copy_host_to_device(a, host, 8, 0, second), Error::kOk);
  sim.destroy_stream(second, 0);
  EXPECT_EQ(sim.copy_host_to_device(a, host, 8, 0, first), Error::kOk);
  sim.deallocate(a, 0);
  DeviceStream* third = sim.create_stream(0).value();
  void* again = sim.allocate(8, 0).value();
  ASSERT_EQ(again, a);
  EXPECT_EQ(sim.copy_host_to_device(again, host, 8, 0, third), Error::kOk);
  sim.destroy_stream(first, 0);
  sim.destroy_stream(third, 0);
  sim.deallocate(again, 0);
}

TEST(SimAllocator, ADeviceWithoutStreamsGivesNone) {
  SimOptions options;
  options.streams = false;
  SimAllocator sim(options);
  EXPECT_EQ(sim.create_stream(0).value(), nullptr);
  EXPECT_EQ(sim.live_streams(), 0u);
  EXPECT_EQ(sim.synchronize(nullptr, 0), Error::kOk);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(SimAllocatorDeathTest, AKernelThatLeavesItsBlockFaults) {
  SimAllocator sim;
  void* memory = sim.allocate(100, 0).value();
  volatile uint8_t* alias = static_cast<volatile uint8_t*>(sim.alias(memory, 100, 0));
  alias[99] = 1;
  EXPECT_DEATH(alias[104] = 1, "AddressSanitizer");
  sim.deallocate(memory, 0);
  EXPECT_DEATH(alias[0] = 1, "AddressSanitizer");
}
#endif

}  // namespace
}  // namespace berth
