#include "runtime/memory.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

alignas(64) uint8_t memory[256];

// Holds row 44.
TEST(MemoryAllocator, PiecesAreAlignedAndDoNotOverlap) {
  MemoryAllocator allocator({memory, 256});
  uint8_t* a = static_cast<uint8_t*>(allocator.allocate(3, 1));
  uint8_t* b = static_cast<uint8_t*>(allocator.allocate(8, 64));
  ASSERT_EQ(a, memory);
  ASSERT_EQ(b, memory + 64);
  EXPECT_EQ(allocator.used_size(), 72u);
  EXPECT_EQ(allocator.free_size(), 184u);
}

// Holds row 44.
TEST(MemoryAllocator, WhatDoesNotFitIsRefusedAndTakesNothing) {
  MemoryAllocator allocator({memory, 100});
  EXPECT_EQ(allocator.allocate(101, 1), nullptr);
  EXPECT_EQ(allocator.allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(allocator.allocate_list<uint64_t>(SIZE_MAX / 4), nullptr);
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_NE(allocator.allocate(100, 1), nullptr);
  EXPECT_EQ(allocator.allocate(1, 1), nullptr);
  allocator.reset();
  EXPECT_EQ(allocator.free_size(), 100u);
}

// Holds row 44.
TEST(MemoryAllocator, AnAlignmentThatIsNotAPowerOfTwoIsRefused) {
  MemoryAllocator allocator({memory, 100});
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocate(1, 24), nullptr);
}

TEST(MemoryAllocator, EmptyMemoryGivesNothing) {
  MemoryAllocator allocator{Span<uint8_t>()};
  EXPECT_EQ(allocator.allocate(1), nullptr);
}

TEST(MemoryAllocator, PaddingThatDoesNotFitIsRefused) {
  MemoryAllocator allocator({memory + 1, 10});
  EXPECT_EQ(allocator.allocate(0, 64), nullptr);
}

// Holds row 29, row 33.
TEST(HierarchicalAllocator, AddressesStayInsideTheirArena) {
  const Span<uint8_t> arenas[] = {{memory, 100}, {memory + 128, 28}};
  const HierarchicalAllocator planned(arenas);
  EXPECT_EQ(planned.address(1, 8, 20).value(), memory + 136);
  EXPECT_EQ(planned.address(0, 0, 100).value(), memory);
  EXPECT_EQ(planned.address(0, 1, 100).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(planned.address(0, 101, 0).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(planned.address(0, UINT64_MAX - 1, 1).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(planned.address(0, UINT64_MAX, 2).error(), Error::kInvalidArgument);
  EXPECT_EQ(planned.address(0, UINT64_MAX - 50, 100).error(), Error::kInvalidArgument);
  EXPECT_EQ(planned.address(2, 0, 0).error(), Error::kInvalidArgument);
}

const Span<uint8_t> kFour[] = {{memory, 16}, {memory + 16, 16}, {memory + 32, 16}, {memory + 48, 16}};
const Device kFourDevices[] = {Device(), Device(), Device(DeviceType::kCuda, 0), Device(DeviceType::kCuda, 1)};

// Holds row 30.
TEST(HierarchicalAllocator, ArenasAreOnTheHostByDefault) {
  const HierarchicalAllocator planned{Span<const Span<uint8_t>>(kFour)};
  EXPECT_TRUE(planned.devices().empty());
  EXPECT_EQ(planned.device(3), Device());
}

// Holds row 31.
TEST(HierarchicalAllocator, EachArenaKeepsItsDevice) {
  const auto planned = HierarchicalAllocator::make(kFour, kFourDevices);
  ASSERT_TRUE(planned.ok());
  ASSERT_EQ(planned->devices().size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(planned->device(i), kFourDevices[i]);
    EXPECT_EQ(planned->devices()[i], kFourDevices[i]);
    EXPECT_EQ(planned->arena(i).data(), kFour[i].data());
  }
}

// Holds row 32.
TEST(HierarchicalAllocator, NeedsAsManyDevicesAsArenasOrNone) {
  const Span<const Span<uint8_t>> two(kFour, 2);
  EXPECT_EQ(HierarchicalAllocator::make(two, {kFourDevices, 3}).error(), Error::kInvalidArgument);
  EXPECT_EQ(HierarchicalAllocator::make(two, {kFourDevices, 1}).error(), Error::kInvalidArgument);
  EXPECT_TRUE(HierarchicalAllocator::make(two, {kFourDevices, 2}).ok());
  EXPECT_TRUE(HierarchicalAllocator::make(two, {}).ok());
}

// Holds row 34, row 36.
TEST(MemoryManager, ReturnsItsParts) {
  MemoryAllocator method({memory, 64});
  const HierarchicalAllocator none;
  const MemoryManager minimal(method, none);
  EXPECT_EQ(&minimal.method(), &method);
  EXPECT_EQ(&minimal.planned(), &none);
  EXPECT_EQ(minimal.temp().data(), nullptr);
  EXPECT_FALSE(minimal.has_device_memory());
  EXPECT_TRUE(minimal.devices().empty());
  const HierarchicalAllocator planned{Span<const Span<uint8_t>>(kFour)};
  const MemoryManager all(method, planned, {memory + 64, 32});
  EXPECT_EQ(all.planned().arenas(), 4u);
  EXPECT_EQ(all.temp().data(), memory + 64);
  EXPECT_FALSE(all.has_device_memory());
}

// Holds row 37.
TEST(MemoryManager, KnowsTheDevicesOfItsArenas) {
  MemoryAllocator method({memory, 64});
  const HierarchicalAllocator planned(kFour, kFourDevices);
  const MemoryManager manager(method, planned);
  EXPECT_TRUE(manager.has_device_memory());
  ASSERT_EQ(manager.devices().size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(manager.devices()[i], kFourDevices[i]);
  const HierarchicalAllocator host({kFour, 2}, {kFourDevices, 2});
  EXPECT_FALSE(MemoryManager(method, host).has_device_memory());
}

}  // namespace
}  // namespace berth
