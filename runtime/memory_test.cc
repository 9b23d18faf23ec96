#include "runtime/memory.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

alignas(64) uint8_t memory[256];

TEST(MemoryAllocator, PiecesDoNotOverlapAndAreAligned) {
  MemoryAllocator allocator({memory, 256});
  uint8_t* a = static_cast<uint8_t*>(allocator.allocate(3, 1));
  uint8_t* b = static_cast<uint8_t*>(allocator.allocate(8, 64));
  ASSERT_EQ(a, memory);
  ASSERT_EQ(b, memory + 64);
  EXPECT_EQ(allocator.used_size(), 72u);
  EXPECT_EQ(allocator.free_size(), 184u);
}

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

TEST(MemoryAllocator, AnAlignmentThatIsNoPowerOfTwoIsRefused) {
  MemoryAllocator allocator({memory, 100});
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocate(1, 24), nullptr);
}

TEST(MemoryAllocator, NothingIsGivenFromNoMemory) {
  MemoryAllocator allocator{Span<uint8_t>()};
  EXPECT_EQ(allocator.allocate(1), nullptr);
}

TEST(MemoryAllocator, PaddingThatDoesNotFitIsRefused) {
  MemoryAllocator allocator({memory + 1, 10});
  EXPECT_EQ(allocator.allocate(0, 64), nullptr);
}

TEST(HierarchicalAllocator, AddressesStayInsideTheirArena) {
  const Span<uint8_t> arenas[] = {{memory, 100}, {memory + 128, 28}};
  const HierarchicalAllocator planned(arenas);
  EXPECT_EQ(planned.address(1, 8, 20).value(), memory + 136);
  EXPECT_EQ(planned.address(0, 0, 100).value(), memory);
  EXPECT_EQ(planned.address(0, 1, 100).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(planned.address(0, UINT64_MAX, 2).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(planned.address(2, 0, 0).error(), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth
