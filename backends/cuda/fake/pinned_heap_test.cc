// The heap of the kernels' tests on a GPU, on the fake runtime, which counts blocks and knows where each one ends.
#include "backends/cuda/kernels_test/pinned_heap.h"

#include <gtest/gtest.h>

#include "backends/cuda/fake/fake_runtime.h"

namespace berth::cuda {
namespace {

// Made before main(), as the tests' static objects are.
PinnedHeap early_heap;
void* const early_block = early_heap.take(100);

TEST(PinnedHeap, NothingAsksTheRuntimeBeforeMain) {
  EXPECT_EQ(fake::live(), 0);
  early_heap.begin(PinnedHeap::Blocks::kExact);
  early_heap.give_back(early_block);
  EXPECT_EQ(fake::live(), 0);
}

// An access beyond an array that is a part of a larger block is none that a checker of memory sees.
TEST(PinnedHeap, ExactBlocksEndWhereTheArrayEnds) {
  fake::reset(0);
  PinnedHeap heap;
  heap.begin(PinnedHeap::Blocks::kExact);
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{4096}}) {
    void* const memory = heap.take(bytes);
    EXPECT_EQ(fake::live(), 1);
    EXPECT_TRUE(fake::is_pinned_memory(memory, bytes));
    EXPECT_FALSE(fake::is_pinned_memory(memory, bytes + 1));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignof(max_align_t), 0u);
    heap.give_back(memory);
    EXPECT_EQ(fake::live(), 0);
  }
  // Without memory of the driver's, the system's.
  fake::fail_call(0);
  void* const memory = heap.take(10);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(fake::live(), 0);
  heap.give_back(memory);
}

TEST(PinnedHeap, SharedBlocksAreUsedAgain) {
  fake::reset(0);
  // Its slab stays to the end of the process.
  static PinnedHeap heap;
  heap.begin(PinnedHeap::Blocks::kShared);
  void* const first = heap.take(1000);
  void* const second = heap.take(1000);
  EXPECT_NE(first, second);
  EXPECT_TRUE(fake::is_pinned_memory(first, 1000) && fake::is_pinned_memory(second, 1000));
  heap.give_back(first);
  EXPECT_EQ(heap.take(1200), first);
  EXPECT_EQ(heap.take(size_t{1} << 40), nullptr);
  EXPECT_EQ(fake::live(), 1);
}

}  // namespace
}  // namespace berth::cuda
