// The fears: bytes that are not aligned, ends that cannot be written, memory that does not go back or goes back twice,
// a size that wraps.
#include "base/huge_page_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth {
namespace {

constexpr size_t kMega = size_t{1} << 20;

// Pages that the system has given of [data, data + bytes), which it mapped.
size_t resident_pages(const void* data, size_t bytes) {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  std::vector<unsigned char> pages((reinterpret_cast<uintptr_t>(data) + bytes - begin + page - 1) / page);
  if (::mincore(reinterpret_cast<void*>(begin), pages.size() * page, pages.data()) != 0) return 0;
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST(HugePageBuffer, IsAlignedAndAllWritable) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{17}, 2 * kMega - 1, 2 * kMega, 8 * kMega + 3}) {
    HugePageBuffer buffer;
    ASSERT_TRUE(buffer.allocate(count)) << count;
    EXPECT_EQ(buffer.size(), count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << count;
    std::fill_n(buffer.data(), count, uint8_t{3});
    for (size_t i = 0; i < count; i += 1000) ASSERT_EQ(buffer.data()[i], 3);
  }
}

TEST(HugePageBuffer, IsNotResidentBeforeItIsWritten) {
  const size_t bytes = 8 * kMega + 100, page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  HugePageBuffer buffer;
  ASSERT_TRUE(buffer.allocate(bytes));
  EXPECT_EQ(resident_pages(buffer.data(), bytes), 0u);
  buffer.data()[bytes - 1] = 1;
  // The end is of small pages.
  EXPECT_EQ(resident_pages(buffer.data(), bytes), 1u);
  buffer.data()[0] = 1;
  EXPECT_LE(resident_pages(buffer.data(), bytes), 1 + 2 * kMega / page);
}

TEST(HugePageBuffer, IsFreed) {
  uintptr_t where = 0;
  {
    HugePageBuffer buffer;
    ASSERT_TRUE(buffer.allocate(16 * kMega));
    std::fill_n(buffer.data(), 16 * kMega, uint8_t{1});
    where = reinterpret_cast<uintptr_t>(buffer.data());
  }
  EXPECT_EQ(resident_pages(reinterpret_cast<const void*>(where), 16 * kMega), 0u);
}

TEST(HugePageBuffer, HasOneOwnerAfterAMove) {
  for (const size_t size : {size_t{100}, 4 * kMega}) {
    HugePageBuffer first, second, third;
    ASSERT_TRUE(first.allocate(size) && second.allocate(size));
    const uint8_t* const data = first.data();
    first.data()[size - 1] = 7;
    second = std::move(first);
    third = HugePageBuffer(std::move(second));
    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(third.size(), size);
    EXPECT_EQ(third.data()[size - 1], 7);
  }
}

TEST(HugePageBuffer, BuffersOfAPoolLieSideBySideAndOutliveIt) {
  std::vector<HugePageBuffer> buffers;
  uintptr_t where = 0;
  {
    HugePagePool pool;
    uint8_t number = 0;
    for (const size_t size : {size_t{0}, size_t{1000}, kMega, 3 * kMega + 1, 40 * kMega, 30 * kMega, 65 * kMega}) {
      buffers.emplace_back();
      ASSERT_TRUE(buffers.back().allocate(size, pool)) << size;
      EXPECT_EQ(buffers.back().size(), size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back().data()) % 64, 0u) << size;
      std::fill_n(buffers.back().data(), size, ++number);
    }
    EXPECT_EQ(buffers[3].data() - buffers[2].data(), static_cast<ptrdiff_t>(kMega));
    EXPECT_EQ(buffers[4].data() - buffers[3].data(), static_cast<ptrdiff_t>(3 * kMega + 64));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const uint8_t* const begin = buffers[i].data();
    const uint8_t* const end = begin + buffers[i].size();
    EXPECT_EQ(std::find_if(begin, end, [&](uint8_t byte) { return byte != i + 1; }), end) << i;
  }
  where = reinterpret_cast<uintptr_t>(buffers[4].data());
  HugePageBuffer moved = std::move(buffers[4]);
  buffers.clear();
  EXPECT_NE(resident_pages(reinterpret_cast<const void*>(where), 40 * kMega), 0u);
  EXPECT_EQ(moved.data()[40 * kMega - 1], 5);
  moved = HugePageBuffer();
  EXPECT_EQ(resident_pages(reinterpret_cast<const void*>(where), 40 * kMega), 0u);
}

TEST(HugePageBuffer, WhatIsGivenBackToAPoolIsTheNextBuffers) {
  HugePagePool pool, other;
  HugePageBuffer first, second, third, fourth;
  ASSERT_TRUE(first.allocate(kMega, pool) && second.allocate(5 * kMega, pool));
  const uint8_t* const begin = first.data();
  const uint8_t* const end = second.data();
  other.give_back(std::move(first));  // of another pool: nothing
  pool.give_back(std::move(second));
  ASSERT_TRUE(third.allocate(kMega, pool) && fourth.allocate(kMega + 7, pool));
  EXPECT_EQ(third.data(), end);
  pool.give_back(std::move(third));  // not the last one: nothing
  HugePageBuffer fifth;
  ASSERT_TRUE(fifth.allocate(kMega, pool));
  EXPECT_EQ(fifth.data(), fourth.data() + kMega + 64);
  EXPECT_LT(begin, end);
}

TEST(HugePageBuffer, AnImpossibleSizeGivesNothing) {
  HugePageBuffer buffer;
  EXPECT_FALSE(buffer.allocate(SIZE_MAX / 2 - 100));
  HugePageBuffer more;
  EXPECT_FALSE(more.allocate(SIZE_MAX));
  EXPECT_EQ(more.size(), 0u);
}

}  // namespace
}  // namespace berth
